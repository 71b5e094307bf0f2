//! Builds, runs and tests Tallybook: `cargo xtask <command>`.
//!
//! One module per command. A command looks for what it needs on the machine (a compiler target, a database server, a
//! browser), and installs it if that needs no confirmation. Otherwise one sentence says what to install.

mod bench;
mod build;
mod clients;
mod cluster;
mod compose;
mod conformance;
mod deb;
mod debian;
mod dist;
mod eval;
mod fingerprint;
mod fuzz;
mod imports;
mod lint;
mod load;
mod node;
mod notices;
mod progress;
mod prose;
mod python;
mod run;
mod screenshots;
mod seed;
mod shell;
mod style;
mod test;
mod ui;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Builds, runs and tests Tallybook.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build the page and the server as one program, and print its path
    Build(build::Options),
    /// Build the page and the server, then run the server
    Run(run::Options),
    /// Run all tests: unit tests, integration tests on each database, and browser tests
    Test(test::Options),
    /// Check imports, styles, prose, formatting and lints
    Lint(lint::Options),
    /// Draw the imports between the files of each crate; cycles are an error
    Imports(imports::Options),
    /// Fuzz the parsers of network data, each target for a limited time
    Fuzz(fuzz::Options),
    /// Run MCP's conformance suite for clients and servers, and write the results to docs/reference/mcp-conformance.md
    Conformance,
    /// Install third-party clients, and test them against a running server
    Clients(clients::Options),
    /// Build the container images, and test the services of docker-compose.yml in a browser
    Compose,
    /// Pack a release into target/dist: the program, its licenses and bill of materials, and a checksum
    Dist(dist::Options),
    /// Pack a release as a Debian package into target/debian
    Deb,
    /// Write the licenses and the bill of materials of a release
    Notices(notices::Options),
    /// Build the page (WASM, styles, static files) into target/site
    Ui(ui::Options),
    /// Fill a database with generated tool calls, to measure the tool history
    Seed(seed::Options),
    /// Take the screenshots in docs/images with a real browser
    Screenshots,
    /// Load test: run many turns at once, and check that nothing was lost or duplicated
    Load(load::Options),
    /// Soak test: run the load test for some minutes, and report the server's memory
    Soak(load::SoakOptions),
    /// Evaluate a model: count the tasks with verifiable answers that it solves, in each mode
    Eval(eval::Options),
    /// Start a cluster of databases and servers behind a proxy, and kill some of them while many turns run
    Cluster(cluster::Options),
    /// Measure the server and its peers, and the page in a real browser
    Bench(bench::Options),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Build(options) => build::run(&options),
        Command::Run(options) => run::run(&options),
        Command::Test(options) => test::run(&options),
        Command::Lint(options) => lint::run(&options),
        Command::Imports(options) => imports::run(&options),
        Command::Fuzz(options) => fuzz::run(&options),
        Command::Conformance => conformance::run(),
        Command::Clients(options) => clients::run(&options),
        Command::Compose => compose::run(),
        Command::Dist(options) => dist::run(&options),
        Command::Deb => deb::run(),
        Command::Notices(options) => notices::run(&options),
        Command::Ui(options) => ui::build(&options).map(|_| ()),
        Command::Seed(options) => seed::run(&options),
        Command::Screenshots => screenshots::run(),
        Command::Load(options) => load::run(&options),
        Command::Soak(options) => load::soak(&options),
        Command::Eval(options) => eval::run(&options),
        Command::Cluster(options) => cluster::run(&options),
        Command::Bench(options) => bench::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            progress::say(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_commands_and_their_options_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
