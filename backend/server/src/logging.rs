//! The log on stderr: what is noted, and how. No secret of the settings gets into it, whoever repeats one.

use std::io::{self, IsTerminal as _, Stderr, Write};

use tallybook_tools::Secrets;
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

/// Logs to stderr, in colours if somebody looks at it.
pub(crate) fn start(secrets: Secrets) {
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    tracing_subscriber::fmt()
        .with_env_filter(filter())
        .with_ansi(!is_plain && io::stderr().is_terminal())
        .with_writer(WithoutSecrets(secrets))
        .init();
}

/// What `RUST_LOG` asks for, but not what `actix_http` calls errors, unless it is asked for by name: those are clients'
/// mistakes, and `http::server` logs them as such.
fn filter() -> EnvFilter {
    let asked = std::env::var(EnvFilter::DEFAULT_ENV).ok().filter(|filter| !filter.trim().is_empty());
    let filter = asked.as_deref().unwrap_or("info,sqlx=warn,actix_server=warn");
    if filter.contains("actix_http") {
        EnvFilter::new(filter)
    } else {
        EnvFilter::new(format!("{filter},actix_http=off"))
    }
}

/// Stderr without these. Each entry of the log comes in one piece.
struct WithoutSecrets(Secrets);

impl<'a> MakeWriter<'a> for WithoutSecrets {
    type Writer = EntryWriter<'a>;

    fn make_writer(&'a self) -> EntryWriter<'a> {
        EntryWriter { secrets: &self.0, out: io::stderr() }
    }
}

struct EntryWriter<'a> {
    secrets: &'a Secrets,
    out: Stderr,
}

impl Write for EntryWriter<'_> {
    fn write(&mut self, entry: &[u8]) -> io::Result<usize> {
        self.out.write_all(self.secrets.hide(String::from_utf8_lossy(entry)).as_bytes())?;
        Ok(entry.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
