//! The binary `mock-mcp`: serves over standard input and output, as a process that a client starts.

use std::io;

use clap::Parser;
use tallybook_mock_mcp::Fault;

/// A tool server for tests, over standard input and output.
#[derive(Parser)]
struct Options {
    /// Fault of the server; can be repeated.
    #[arg(long = "fault", value_enum)]
    faults: Vec<Fault>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let options = Options::parse();
    tallybook_mock_mcp::stdio(options.faults).await?;
    // Reading the input blocks a thread, for which the runtime would wait.
    std::process::exit(0)
}
