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
    /// Build the page and the server as one program, and say where it is
    Build(build::Options),
    /// Build the page and the server, then run the server
    Run(run::Options),
    /// Run every test there is: unit, HTTP on each database, a real browser
    Test,
    /// Check imports, formatting and lints, for the server and for the browser side
    Lint,
    /// Draw which files of each crate import which; circles are an error
    Imports(imports::Options),
    /// Fuzz what reads the network: each target for a bounded time
    Fuzz(fuzz::Options),
    /// Run MCP's conformance suite, for clients and for servers, and write down what came of it in docs/mcp-conformance.md
    Conformance,
    /// Set up real programs of other people's, and try them on a running server
    Clients(clients::Options),
    /// Build the container images, and have a browser try what docker-compose.yml starts
    Compose,
    /// Pack a release: the program, licences and parts of it, and a checksum, in target/dist
    Dist(dist::Options),
    /// Writes the licenses and the bill of materials that belong to a program that is passed on
    Notices(notices::Options),
    /// Build the page (WASM, styles, static files) into target/site
    Ui(ui::Options),
    /// Fill a database with made-up tool calls, to see how the book of them does
    Seed(seed::Options),
    /// Take the pictures in docs/images with a real browser
    Screenshots,
    /// Have many turns answered at once, and look whether anything was lost or doubled
    Load(load::Options),
    /// The same for some minutes, and what the server holds meanwhile
    Soak(load::SoakOptions),
    /// Ask a model tasks with answers that can be checked, in each mode, and say how many it solves
    Eval(eval::Options),
    /// Start a cluster of databases and servers behind a proxy, and kill some of them while many turns are answered
    Cluster(cluster::Options),
    /// Measure the server beside its peers, and the page in a real browser
    Bench(bench::Options),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Build(options) => build::run(&options),
        Command::Run(options) => run::run(&options),
        Command::Test => test::run(),
        Command::Lint => lint::run(),
        Command::Imports(options) => imports::run(&options),
        Command::Fuzz(options) => fuzz::run(&options),
        Command::Conformance => conformance::run(),
        Command::Clients(options) => clients::run(&options),
        Command::Compose => compose::run(),
        Command::Dist(options) => dist::run(&options),
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
    fn the_commands_and_their_options_fit_together() {
        super::Cli::command().debug_assert();
    }
}
