//! `tallybook-bench`: measures the server and three peers that do the same turns, puts load on it, and evaluates
//! models. It also contains two of the peers, and the model that all of them call. `cargo xtask bench`, `load`, and
//! `eval` build it, find what it needs, and run it.
//!
//! - `peer/`: the measured servers, each a process of its own; this program itself contains `model`, `pump`, and
//!   `floor`.
//! - `ask`: one turn as a browser does it, and when its tokens arrived; `mark`: the time that each token carries.
//! - `rows/`: what is measured, one file each; `history_pages` lists the pages of the row about the tool history;
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
mod workload;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};

use self::{
    peer::{Kind, Programs},
    rows::Row,
};

#[derive(Parser)]
#[command(name = "tallybook-bench")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure
    Run(Options),
    /// Have many turns answered at once, and look whether anything was lost or doubled
    Load(load::Options),
    /// Ask a model tasks with answers that can be checked
    Eval(eval::Options),
    /// Answer as a model: the number of tokens and their pace stand in the question
    Model {
        /// The port on 127.0.0.1; 0 for any
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

/// What `run` can be told.
#[derive(clap::Args)]
struct Options {
    /// The program `tallybook`
    #[arg(long)]
    program: PathBuf,
    /// A Python with langgraph/requirements.txt; without one `LangGraph` is left out
    #[arg(long)]
    python: Option<PathBuf>,
    /// A database of a MySQL server, as in `DATABASE_URL`; without one that is left out
    #[arg(long)]
    mysql: Option<String>,
    /// The program that makes up tool calls; `history` needs it
    #[arg(long)]
    seed: Option<PathBuf>,
    /// What to measure; everything unless some are named
    #[arg(long = "only", value_name = "NAME")]
    only: Vec<Row>,
    /// Whom to measure; everybody unless some are named
    #[arg(long = "peer", value_name = "NAME")]
    peers: Vec<Kind>,
    /// How often each is measured, in turns; what counts is the middle one
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Less of everything, to see whether it works: such figures do not count
    #[arg(long)]
    quick: bool,
    /// Where the figures go, as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// Where the picture goes, as SVG
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
    let Options { program, python, mysql, seed, only, peers, rounds, quick, json, picture } = options;
    if seed.is_none() && only.is_empty() {
        bail!("history needs --seed; name the others with --only to do without");
    }
    let programs = Programs::new(&program, python, mysql, seed)?;
    let kinds = programs.choose(&peers)?;
    let rows = if only.is_empty() { Row::all() } else { only };
    let figures = rows::measure(&programs, &kinds, &rows, rounds.max(1), quick).await?;
    report::print(&figures, quick)?;
    if let Some(path) = json {
        report::write_json(&figures, &path)?;
    }
    if let Some(path) = picture {
        report::draw(&figures, &path)?;
    }
    Ok(())
}
