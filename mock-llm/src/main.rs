//! `mock-llm --port 4010`: the model server for manual use. `by_hand.rs` defines its answers.

use std::{io, io::Write as _};

use clap::Parser;

/// A model server for manual tests. It needs no API key.
///
/// It answers `use add 1 2` with a tool call, `fault:cut` with that fault, and anything else with an echo. README.md
/// lists the faults.
#[derive(Parser)]
struct Options {
    /// Port on 127.0.0.1; 0 for any free port.
    #[arg(long, default_value_t = 4010)]
    port: u16,
}

#[actix_web::main]
async fn main() -> io::Result<()> {
    let options = Options::parse();
    let (port, server) = tallybook_mock_llm::serve_by_hand(options.port).await?;
    let mut out = io::stdout();
    writeln!(out, "Listening. Give the program under test LLM_BASE_URL=http://127.0.0.1:{port}")?;
    writeln!(out, "Faults: {}", tallybook_mock_llm::fault_names().collect::<Vec<_>>().join(", "))?;
    tokio::signal::ctrl_c().await?;
    server.stop(false).await;
    Ok(())
}
