//! `mock-mcp --fault older-era`: the server over standard input and output, as a program that a client starts.

use std::io;

use clap::Parser;
use tallybook_mock_mcp::Fault;

/// A tool server for tests, over standard input and output.
#[derive(Parser)]
struct Options {
    /// What it does wrong; may be given several times.
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
