//! Evaluates models: asks tasks with answers that can be checked, through the public API and in each mode, and prints a
//! table of passed tasks and their usage.
//!
//! - `task`: the tasks of `bench/eval/tasks.toml`; `check` and `number`: conditions on answers;
//! - `ask`: asks one task; `mode`: the modes; `start`: starts a server for a mode; `outcome`: the results.

mod ask;
mod check;
mod mode;
mod number;
mod outcome;
mod start;
mod task;

use std::{env, fs, path::PathBuf, time::Duration};

use anyhow::{Context as _, Result, bail};
use tallybook_mock_mcp::MockMcp;
use tallybook_protocol::CatalogModel;

pub use self::{
    ask::{Asking, Server},
    mode::Mode,
    outcome::{Outcome, Outcomes, Verdict},
    task::{Task, all as tasks, tools},
};
use crate::{ask::client, listen::say, report};

/// Options of `eval`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Path of the program `tallybook`, which is started with the tools of the tasks
    #[arg(long, required_unless_present = "server")]
    program: Option<PathBuf>,
    /// URL of a running server; if it has accounts, set `TALLYBOOK_KEY` to an API key
    #[arg(long, value_name = "URL", conflicts_with = "program")]
    server: Option<String>,
    /// Name of a model of the settings or the server [default: the demo model, or the server's default]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Mode; can be repeated [default: every mode of the model]
    #[arg(long = "mode", value_name = "MODE", value_enum)]
    modes: Vec<Mode>,
    /// Task, category or language; can be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Timeout of an answer, in seconds
    #[arg(long, default_value_t = 180)]
    timeout: u64,
    /// File for all results, including the answers, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Asks the tasks and prints the table. Failed tasks are not an error.
pub(crate) async fn run(options: Options) -> Result<()> {
    let tasks = task::choose(task::all()?, &options.only);
    if tasks.is_empty() {
        bail!("no task, category or language has the name {}", options.only.join(" or "));
    }
    let tools = MockMcp::start_scripted(task::tools()?).await.context("cannot start the tools of the tasks")?;
    let wanted = if options.modes.is_empty() { &Mode::ALL[..] } else { &options.modes[..] };
    let mut outcomes = Outcomes::new();
    let mut asked = None;
    for &mode in wanted {
        // The server of each mode ends with this value.
        let started = match &options.program {
            Some(program) => Some(start::Started::new(program, mode, options.model.is_some(), &tools.url())?),
            None => None,
        };
        let url = started.as_ref().map_or_else(|| options.server.clone().unwrap_or_default(), start::Started::url);
        let key = env::var("TALLYBOOK_KEY").ok().filter(|key| started.is_none() && !key.is_empty());
        let server = Server { client: client()?, url: url.trim_end_matches('/').to_owned(), key };
        let model = choose(&server, options.model.as_deref()).await?;
        if !mode.fits(model.tool_mode) {
            say(&format!("{} cannot be evaluated {}: its settings have another tool mode", model.name, mode.name()));
            continue;
        }
        let timeout = Duration::from_secs(options.timeout);
        let asking = Asking { model: Some(model.name.clone()), mode: mode.answer_mode(), timeout };
        outcomes.insert(mode, ask_all(&server, &tasks, &asking, mode).await?);
        asked = Some(model);
    }
    let Some(CatalogModel { name, model, provider, .. }) = asked else { bail!("the model supports none of the modes") };
    report::print_table(&outcome::rows(&outcomes))?;
    if let Some(path) = &options.json {
        let json = serde_json::to_string_pretty(&outcome::to_json(&format!("{name} ({provider} {model})"), &outcomes))?;
        fs::write(path, json).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Asks each task whose tools are available, one after the other, and prints its result.
async fn ask_all(server: &Server, tasks: &[Task], asking: &Asking, mode: Mode) -> Result<Vec<Outcome>> {
    let tools = server.tools().await?;
    let (asked, left_out): (Vec<&Task>, Vec<&Task>) =
        tasks.iter().partition(|task| task.needs.iter().all(|tool| tools.contains(tool)));
    if !left_out.is_empty() {
        say(&format!("{} tasks are skipped: the server lacks their tools", left_out.len()));
    }
    let mut outcomes = Vec::with_capacity(asked.len());
    for task in asked {
        let outcome = server.ask(task, asking).await;
        let said = match &outcome.verdict {
            Verdict::Passed => "passed".to_owned(),
            Verdict::Failed(why) => why.clone(),
        };
        say(&format!("{} {}: {said}", mode.name(), task.id));
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// Returns the model with this name, or the server's default without a name.
async fn choose(server: &Server, name: Option<&str>) -> Result<CatalogModel> {
    let models = server.models().await?.items;
    let is_wanted = |model: &&CatalogModel| name.map_or(model.is_default, |name| model.name == name);
    if let Some(model) = models.iter().find(is_wanted) {
        return Ok(model.clone());
    }
    let names: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
    bail!("unknown model {}; the models are {}", name.unwrap_or("by default"), names.join(", "))
}
