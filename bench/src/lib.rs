//! `tallybook-bench`: measures the server and three peers that do the same turns, puts load on it, and evaluates
//! models. It also contains two of the peers, and the model that all of them call. `cargo xtask bench`, `load`, and
//! `eval` build it, find what it needs, and run it.
//!
//! - `peer/`: the measured servers, each a process of its own; this program itself contains `model`, `pump`, and
//!   `floor`.
//! - `ask`: one turn as a browser does it, and when its tokens arrived; `mark`: the time that each token carries.
//! - `rows/`: what is measured, one file each; `history_pages` lists the pages of the row about the tool history, and
//!   `searches` those of the row about the search;
//!   `report`: the results as a table, as JSON, and as a picture.
//! - `load/`: many turns at once, with readers that stall, leave, reconnect, and stop; checks that nothing was lost or
//!   duplicated.
//! - `eval/`: tasks with answers that can be checked, given to a model in each mode; the server's tests use it, too.

mod ask;
pub mod eval;
mod floor;
mod history_pages;
mod listen;
mod load;
mod mark;
mod model;
mod peer;
mod process;
mod pump;
mod report;
mod rows;
mod searches;
mod workload;

use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};

use self::{
    peer::{Kind, Programs},
    rows::{Amount, Row},
};

#[derive(Parser)]
#[command(name = "tallybook-bench")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure the server and its peers
    Run(Options),
    /// Load test: run many turns at once, and check that nothing was lost or duplicated
    Load(load::Options),
    /// Evaluate a model with tasks whose answers can be verified
    Eval(eval::Options),
    /// Serve the model of the bench; each question sets the number of tokens and their pace
    Model {
        /// Port on 127.0.0.1; 0 for any free port
        #[arg(long, default_value_t = 0)]
        port: u16,
    },
    /// Copy bytes between a client and the model
    Pump(Upstream),
    /// Relay turns, with one tool and without a database
    Floor(Upstream),
}

#[derive(clap::Args)]
struct Upstream {
    /// The model's address, such as 127.0.0.1:4010
    #[arg(long)]
    model: String,
}

/// Options of `run`.
#[derive(clap::Args)]
struct Options {
    /// Path of the program `tallybook`
    #[arg(long)]
    program: PathBuf,
    /// Python with the packages of langgraph/requirements.txt; without it, `LangGraph` is not measured
    #[arg(long)]
    python: Option<PathBuf>,
    /// MySQL database, as in `DATABASE_URL`; without it, Tallybook with MySQL is not measured
    #[arg(long)]
    mysql: Option<String>,
    /// Program that generates tool calls and messages; required for `history`, `search` and `growth`
    #[arg(long)]
    seed: Option<PathBuf>,
    /// Measurement; can be repeated [default: all]
    #[arg(long = "only", value_name = "NAME")]
    only: Vec<Row>,
    /// Peer to measure; can be repeated [default: all]
    #[arg(long = "peer", value_name = "NAME")]
    peers: Vec<Kind>,
    /// Rounds; the peers take turns in each round, and the result is the median
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Use less data, to test the bench; such results do not count
    #[arg(long)]
    quick: bool,
    /// In `growth`, also measure a million messages, which takes minutes to generate
    #[arg(long, conflicts_with = "quick")]
    million: bool,
    /// File for the results, as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// File for a chart of the results, as SVG
    #[arg(long)]
    picture: Option<PathBuf>,
}

/// Runs the program according to its command line.
#[actix_web::main]
pub async fn program() -> ExitCode {
    match run(Cli::parse().command).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            listen::say(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> Result<()> {
    // Each of thousands of streams is an open file, so this raises the limit to the system's maximum.
    rlimit::increase_nofile_limit(u64::MAX)?;
    // reqwest needs a crypto provider, although nothing is encrypted here. It is fine if another one is installed
    // already.
    tallybook_http_client::install_crypto_provider();
    match command {
        Command::Load(options) => load::run(options).await,
        Command::Eval(options) => eval::run(options).await,
        Command::Model { port } => model::serve(port).await,
        Command::Pump(upstream) => pump::serve(&upstream.model).await,
        Command::Floor(upstream) => floor::serve(&upstream.model).await,
        Command::Run(options) => measure(options).await,
    }
}

async fn measure(options: Options) -> Result<()> {
    let Options { program, python, mysql, seed, only, peers, rounds, quick, million, json, picture } = options;
    if seed.is_none() && only.is_empty() {
        bail!("history, search and growth need --seed; to measure without it, name the other rows with --only");
    }
    let programs = Programs::new(&program, python, mysql, seed)?;
    let kinds = programs.choose(&peers)?;
    let rows = if only.is_empty() { Row::all() } else { only };
    let figures = rows::measure(&programs, &kinds, &rows, Amount { rounds, quick, million }).await?;
    report::print_measures(&figures)?;
    report::print_growth(&figures)?;
    if quick {
        writeln!(io::stdout().lock(), "\nThis run used little data, so its results do not count.")?;
    }
    if let Some(path) = json {
        report::write_json(&figures, &path)?;
    }
    if let Some(path) = picture {
        report::draw(&figures, &path)?;
    }
    Ok(())
}
