//! Load test: runs many turns at once, as browsers do. Some readers stall, leave, reconnect, or stop their turn.
//! Afterwards it checks that nothing was lost or duplicated, neither in the events that the readers received nor in the
//! stored data.
//!
//! - `behavior`: the behaviors of readers; `turn`: one turn with its reader; `record`: the turn as its reader received
//!   it;
//! - `servers`: the servers under test, and retries while servers are killed; `absence`: how long they did not answer;
//! - `stored`: checks the stored turn; `played`: checks its events; `witness`: counts the calls of a tool that ran;
//! - `summary`: the results.

mod absence;
mod behavior;
mod played;
mod record;
mod servers;
mod stored;
mod summary;
mod turn;
pub(crate) mod witness;

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use self::{
    absence::Absence,
    servers::Servers,
    summary::{Sample, Summary},
    turn::Done,
    witness::Witness,
};
use crate::{
    ask,
    listen::say,
    peer::{Programs, open_idle},
    process::Process,
};

/// Options of `load`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Path of the program `tallybook`, which is started with the bench's model
    #[arg(long, required_unless_present = "urls")]
    program: Option<PathBuf>,
    /// URL of a running server that uses the bench's model (`tallybook-bench model --port …`); can be repeated
    #[arg(long = "url", value_name = "URL", conflicts_with = "program")]
    urls: Vec<String>,
    /// Database of the started program [default: a new one]
    #[arg(long, value_name = "URL", requires = "program")]
    database_url: Option<String>,
    /// Turns in each round
    #[arg(long, default_value_t = 500)]
    turns: usize,
    /// Turns that run at the same time
    #[arg(long, default_value_t = 500)]
    at_once: usize,
    /// Additional streams that stay idle
    #[arg(long, default_value_t = 0)]
    idle: usize,
    /// Run rounds for this number of minutes, and report the server's resources after each
    #[arg(long)]
    minutes: Option<u64>,
    /// Servers are killed during the test: readers retry requests and resume interrupted answers
    #[arg(long, requires = "urls")]
    disturbed: bool,
    /// Port of the tool server `witness`, which the settings of the servers must name; without it, the tool is not
    /// called
    #[arg(long, requires = "urls")]
    witness_port: Option<u16>,
}

/// Runs the load test. Returns an error if anything was lost or duplicated.
pub(crate) async fn run(options: Options) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot create a folder")?;
    let database = options
        .database_url
        .clone()
        .unwrap_or_else(|| format!("sqlite://{}", folder.path().join("tallybook.db").display()));
    let witness = match (&options.program, options.witness_port) {
        (Some(_), _) => Some(Witness::start(0).await?),
        (None, Some(port)) => Some(Witness::start(port).await?),
        (None, None) => None,
    };
    let started = match &options.program {
        Some(program) => {
            let programs = Programs::new(program, None, None, None)?;
            Some(programs.start_ours(folder.path(), &database, witness.as_ref().map(Witness::url).as_deref())?)
        }
        None => None,
    };
    let urls = match &started {
        Some((server, _)) => vec![format!("http://{}", server.address)],
        None => options.urls.clone(),
    };
    let servers =
        Servers { client: ask::client()?, urls, disturbed: options.disturbed, has_witness: witness.is_some() };
    if let Some(witness) = &witness {
        witness.wait_until_offered(&servers).await?;
    }
    let idle = open_all_idle(&servers, options.idle).await?;
    let own = options.database_url.is_none().then(|| folder.path());
    let server = started.as_ref().map(|(server, _)| (server, own));
    let mut absence = Absence::default();
    tokio::select! {
        done = rounds(&servers, &options, witness.as_ref(), server) => done?,
        never = absence.watch(&servers), if options.disturbed => match never {},
    }
    if options.disturbed {
        absence.say();
    }
    drop(idle);
    if let Some(program) = &options.program {
        drop(started);
        check_database(program, &database)?;
    }
    say("nothing was lost or duplicated");
    Ok(())
}

/// Runs all rounds. After each it samples `server`, the process that this program started, perhaps with the folder of
/// its database.
async fn rounds(
    servers: &Servers,
    options: &Options,
    witness: Option<&Witness>,
    server: Option<(&Process, Option<&Path>)>,
) -> Result<()> {
    let until = options.minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let mut samples = Vec::new();
    loop {
        let summary = round(servers, options, witness).await;
        summary.say();
        samples.extend(server.map(|(server, folder)| Sample::take(server, folder)).transpose()?);
        if !summary.troubles.is_empty() {
            bail!("{} of {} turns failed the checks", summary.troubles.len(), options.turns);
        }
        if until.is_none_or(|until| Instant::now() >= until) {
            break;
        }
    }
    if until.is_some() && !samples.is_empty() {
        summary::print(&samples)?;
    }
    Ok(())
}

/// Runs one round of turns.
async fn round(servers: &Servers, options: &Options, witness: Option<&Witness>) -> Summary {
    let began = Instant::now();
    let turns = (0..options.turns).map(|number| turn::run(servers, number));
    let outcomes: Vec<_> = stream::iter(turns).buffer_unordered(options.at_once.max(1)).collect().await;
    let noted = witness.map(Witness::noted).unwrap_or_default();
    let compared = outcomes.into_iter().map(|outcome| outcome.and_then(|done: Done| done.compared(&noted)));
    Summary::of(compared.collect(), began.elapsed())
}

/// Opens the idle streams.
async fn open_all_idle(servers: &Servers, count: usize) -> Result<Vec<reqwest::Response>> {
    let open = (0..count).map(|number| {
        let url = format!("{}/api/events", servers.url(number, 0));
        open_idle(servers.client.get(url))
    });
    stream::iter(open).buffer_unordered(64).try_collect().await
}

/// Checks the stored data with `tallybook admin check`.
fn check_database(program: &Path, database: &str) -> Result<()> {
    let mut check = Command::new(program);
    let status = check.args(["admin", "check"]).env("DATABASE_URL", database).status();
    if !status.context("cannot run `tallybook admin check`")?.success() {
        bail!("the database is inconsistent");
    }
    Ok(())
}

impl Sample {
    /// Samples the server's resources, and the size of its database if that has its own folder.
    fn take(server: &Process, folder: Option<&Path>) -> Result<Self> {
        let database = folder.map(summary::size_of).transpose()?;
        Ok(Self { memory: server.memory()?, files: server.open_files()?, database })
    }
}
