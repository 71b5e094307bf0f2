//! Sets up logging to stderr. Configured secrets and secret arguments of calls are redacted in every entry, no matter
//! which code logs them.

use std::io::{self, IsTerminal as _, Stderr, Write};

use tallybook::config::LogFormat;
use tallybook_agent::SPAN_TARGET;
use tallybook_tools::Secrets;
use tracing_subscriber::{
    EnvFilter, Layer as _, fmt::MakeWriter, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use crate::traces::Traces;

/// Logs to stderr, with colors if that is a terminal. Also starts the collection of traces, if they are enabled.
pub(crate) fn start(format: LogFormat, secrets: Secrets, traces: Option<&Traces>) {
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let log = tracing_subscriber::fmt::layer().with_writer(WithoutSecrets(secrets));
    let log = match format {
        LogFormat::Text => log.with_ansi(!is_plain && io::stderr().is_terminal()).boxed(),
        // The spans identify the request, its user, and its turn. The innermost span comes last.
        LogFormat::Json => log.json().flatten_event(true).with_current_span(false).boxed(),
    };
    tracing_subscriber::registry().with(log.with_filter(filter())).with(traces.map(Traces::layer)).init();
}

/// Returns the filter in `RUST_LOG`. It excludes what two crates log unless `RUST_LOG` names them: clients cause the
/// errors of `actix_http`, and `http::server` logs them as such; `tallybook_mcp` logs what happens to a tool server,
/// and `rmcp` would repeat that as errors, with texts of the server. It also excludes the spans for traces.
fn filter() -> EnvFilter {
    let asked = std::env::var(EnvFilter::DEFAULT_ENV).ok().filter(|filter| !filter.trim().is_empty());
    let filter = asked.as_deref().unwrap_or("info,sqlx=warn,actix_server=warn");
    let off = |name| if filter.contains(name) { String::new() } else { format!(",{name}=off") };
    EnvFilter::new(format!("{filter},{SPAN_TARGET}=off{}{}", off("actix_http"), off("rmcp")))
}

/// A writer to stderr that redacts these secrets. It writes each log entry with a single call.
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
        self.out.write_all(self.secrets.redact_with_arguments(String::from_utf8_lossy(entry)).as_bytes())?;
        Ok(entry.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
