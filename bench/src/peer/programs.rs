//! Starts peers: their programs and settings.

use std::{
    cell::OnceCell,
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use serde_json::json;
use tempfile::TempDir;

use super::{Kind, Peer};
use crate::{
    listen::say,
    load::witness,
    process::{Core, Process},
};

/// The peer in Python, next to this crate.
const LANGGRAPH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/langgraph/peer.py");

/// Programs and options for starting peers.
#[derive(Debug)]
pub(crate) struct Programs {
    tallybook: PathBuf,
    python: Option<PathBuf>,
    mysql: Option<String>,
    seed: Option<PathBuf>,
    this: PathBuf,
    /// Folder of the databases with generated rows, once it is created.
    generated: OnceCell<TempDir>,
}

impl Programs {
    /// Creates the value. Returns an error if the program `tallybook` does not exist.
    pub(crate) fn new(
        tallybook: &Path,
        python: Option<PathBuf>,
        mysql: Option<String>,
        seed: Option<PathBuf>,
    ) -> Result<Self> {
        // The program runs in a new folder, so its path must be absolute.
        let tallybook =
            tallybook.canonicalize().with_context(|| format!("cannot find the program {}", tallybook.display()))?;
        let this = env::current_exe().context("cannot find the path of this program")?;
        Ok(Self { tallybook, python, mysql, seed, this, generated: OnceCell::new() })
    }

    /// Returns the wanted peers; without any, all that can be started. Returns an error if a wanted peer cannot be
    /// started.
    pub(crate) fn choose(&self, wanted: &[Kind]) -> Result<Vec<Kind>> {
        let lack = |kind: Kind| match kind {
            Kind::LangGraph if self.python.is_none() => Some("--python"),
            Kind::Mysql if self.mysql.is_none() => Some("--mysql"),
            _ => None,
        };
        if let Some((kind, option)) = wanted.iter().find_map(|&kind| Some((kind, lack(kind)?))) {
            bail!("{} needs {option}", kind.name());
        }
        if !wanted.is_empty() {
            return Ok(wanted.to_vec());
        }
        let all = [Kind::Pump, Kind::Floor, Kind::LangGraph, Kind::Sqlite, Kind::Mysql];
        for kind in all {
            if let Some(option) = lack(kind) {
                say(&format!("{} is skipped: {option} is missing", kind.name()));
            }
        }
        Ok(all.into_iter().filter(|&kind| lack(kind).is_none()).collect())
    }

    /// Starts a peer and its model.
    pub(crate) fn start(&self, kind: Kind) -> Result<Peer> {
        let folder = tempfile::tempdir().context("cannot create a folder")?;
        let mut model = Command::new(&self.this);
        let model = Process::start(model.arg("model"), Core::Others)?;
        let process = Process::start(&self.command(kind, &model.address, folder.path())?, Core::Server)?;
        Ok(Peer { kind, process, _model: model, _folder: folder })
    }

    /// Starts Tallybook with `count` generated rows, which are generated once: `option` is the option of the program
    /// that generates them. On SQLite they are in a temporary folder. On MySQL they are in a database next to the named
    /// one, which is kept. `content` is part of their names.
    pub(crate) fn start_with(&self, content: &str, option: &str, count: u64, kind: Kind) -> Result<Peer> {
        if self.generated.get().is_none() {
            let made = tempfile::tempdir().context("cannot create a folder")?;
            self.generated.get_or_init(|| made);
        }
        let generated = self.generated.get().context("the folder for the generated rows is missing")?.path();
        let name = format!("{content}_{count}");
        let folder = generated.join(&name);
        fs::create_dir_all(&folder).context("cannot create a folder")?;
        let database = match kind {
            Kind::Mysql => database_beside(self.mysql.as_deref().context("no MySQL database is set")?, &name),
            _ => database_in(&folder),
        };
        self.generate(option, count, &database)?;
        let (process, model) = self.start_ours(&folder, &database, None)?;
        Ok(Peer { kind, process, _model: model, _folder: tempfile::tempdir().context("cannot create a folder")? })
    }

    fn generate(&self, option: &str, count: u64, database: &str) -> Result<()> {
        let mut seed = Command::new(self.seed.as_deref().context("generated rows need --seed")?);
        seed.args([option, &count.to_string(), "--fill-up", "--database-url", database]);
        say(&format!("generating the missing part of {count} rows ({option})"));
        if !seed.status().context("cannot start the program that generates rows")?.success() {
            bail!("no rows were generated");
        }
        Ok(())
    }

    /// Starts Tallybook on this database, with the load test's tool server if there is one. Also starts and returns the
    /// model of this program.
    pub(crate) fn start_ours(&self, folder: &Path, database: &str, tools: Option<&str>) -> Result<(Process, Process)> {
        let mut model = Command::new(&self.this);
        let model = Process::start(model.arg("model"), Core::Others)?;
        let mut command = self.ours(&model.address, folder, database)?;
        if let Some(url) = tools {
            let servers = folder.join("servers.json");
            let server = json!({ "mcpServers": { witness::SERVER: { "url": url, "risk": "low" } } });
            fs::write(&servers, server.to_string()).context("cannot write the settings")?;
            command.env("MCP_SERVERS_FILE", servers);
        }
        let server = Process::start(&command, Core::Server)?;
        Ok((server, model))
    }

    fn command(&self, kind: Kind, model: &str, folder: &Path) -> Result<Command> {
        Ok(match kind {
            Kind::Pump | Kind::Floor => {
                let mut command = Command::new(&self.this);
                command.arg(if kind == Kind::Pump { "pump" } else { "floor" }).args(["--model", model]);
                command
            }
            Kind::LangGraph => {
                let mut command = Command::new(self.python.as_deref().context("no Python is set")?);
                command.arg(LANGGRAPH).args(["--model", model]).arg("--database").arg(folder.join("langgraph.db"));
                command
            }
            Kind::Sqlite => self.ours(model, folder, &database_in(folder))?,
            Kind::Mysql => self.ours(model, folder, self.mysql.as_deref().context("no MySQL database is set")?)?,
        })
    }

    /// Builds the command with the default settings, except that the model writes no titles and no summaries, as the
    /// peers have neither.
    fn ours(&self, model: &str, folder: &Path, database: &str) -> Result<Command> {
        fs::write(folder.join("tallybook.toml"), "[memory]\nmax_chars = 0\n").context("cannot write the settings")?;
        let mut command = Command::new(&self.tallybook);
        let kept = ["PATH", "HOME", "LANG"].into_iter().filter_map(|name| Some((name, env::var_os(name)?)));
        command.env_clear().envs(kept).current_dir(folder);
        let base = format!("http://{model}/v1");
        let settings: [(&str, &dyn AsRef<OsStr>); 9] = [
            ("PORT", &"0"),
            ("DATABASE_URL", &database),
            ("LLM_PROVIDER", &"openai"),
            ("LLM_MODEL", &"m"),
            ("LLM_API_KEY", &"none"),
            ("LLM_BASE_URL", &base),
            ("LLM_TITLES", &"false"),
            ("LLM_TOOL_MODE", &"native"),
            ("RUST_LOG", &"error"),
        ];
        command.envs(settings.into_iter().map(|(name, value)| (name, value.as_ref().to_owned())));
        Ok(command)
    }
}

/// Returns the URL of an SQLite database in this folder.
fn database_in(folder: &Path) -> String {
    format!("sqlite://{}", folder.join("tallybook.db").display())
}

/// Returns the URL of a database whose name has this suffix.
fn database_beside(url: &str, name: &str) -> String {
    let (path, query) = url.split_at(url.find('?').unwrap_or(url.len()));
    format!("{path}_{name}{query}")
}

#[cfg(test)]
mod tests {
    use super::database_beside;

    #[test]
    fn a_database_beside_another_has_its_settings() {
        assert_eq!(database_beside("mysql://root@localhost/bench?a=b", "x"), "mysql://root@localhost/bench_x?a=b");
        assert_eq!(database_beside("mysql://root@localhost/bench", "x"), "mysql://root@localhost/bench_x");
    }
}
