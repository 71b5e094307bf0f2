//! The log on stderr: what is noted, and how. No secret of the settings gets into it, and no secret argument of a call, whoever
//! repeats one.

use std::io::{self, IsTerminal as _, Stderr, Write};

use tallybook::config::LogFormat;
use tallybook_agent::SPAN_TARGET;
use tallybook_tools::Secrets;
use tracing_subscriber::{
    EnvFilter, Layer as _, fmt::MakeWriter, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use crate::traces::Traces;

/// Logs to stderr, text in colours if somebody looks at it; and has traces taken down, if they are wanted.
pub(crate) fn start(format: LogFormat, secrets: Secrets, traces: Option<&Traces>) {
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let log = tracing_subscriber::fmt::layer().with_writer(WithoutSecrets(secrets));
    let log = match format {
        LogFormat::Text => log.with_ansi(!is_plain && io::stderr().is_terminal()).boxed(),
        // The spans, of which the innermost is the last, say which request, whose and which turn it is.
        LogFormat::Json => log.json().flatten_event(true).with_current_span(false).boxed(),
    };
    tracing_subscriber::registry().with(log.with_filter(filter())).with(traces.map(Traces::layer)).init();
}

/// What `RUST_LOG` asks for, but not what `actix_http` calls errors, unless it is asked for by name: those are clients'
/// mistakes, and `http::server` logs them as such. What is taken down for traces is none of the log's.
fn filter() -> EnvFilter {
    let asked = std::env::var(EnvFilter::DEFAULT_ENV).ok().filter(|filter| !filter.trim().is_empty());
    let filter = asked.as_deref().unwrap_or("info,sqlx=warn,actix_server=warn");
    let mistakes = if filter.contains("actix_http") { "" } else { ",actix_http=off" };
    EnvFilter::new(format!("{filter},{SPAN_TARGET}=off{mistakes}"))
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
        self.out.write_all(self.secrets.hide_with_arguments(String::from_utf8_lossy(entry)).as_bytes())?;
        Ok(entry.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
