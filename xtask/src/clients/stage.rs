//! The environment of a client: Tallybook in a new folder and on a free port, with the mock model for manual tests
//! (`mock-llm`), which does what the message says. All of it ends with the [`Stage`].

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::{node, shell, workspace};

/// Timeout for a server to print its address.
const START_LIMIT: Duration = Duration::from_mins(1);

/// The admin, who is the only user and whose API key the client has.
const ADMIN: &str = "root";
const PASSWORD: &str = "a password of some length";

/// Sign-in on the server: with or without accounts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accounts {
    On,
    Off,
}

/// A running Tallybook server with its model.
pub(crate) struct Stage {
    name: &'static str,
    logs: PathBuf,
    url: String,
    model: String,
    key: Option<String>,
    // Dropped in this order.
    _servers: [Running; 2],
    _folder: TempDir,
}

impl Stage {
    /// Starts everything for the client with this name.
    pub(crate) fn set(name: &'static str, accounts: Accounts) -> Result<Self> {
        let logs = workspace::root().join("target/clients/logs").join(name);
        fs::create_dir_all(&logs)?;
        let folder = tempfile::Builder::new().prefix("tallybook-client-").tempdir()?;
        let mut model = Command::new(workspace::built("debug", "mock-llm")?);
        let (model_server, model) = Running::start(model.args(["--port", "0"]), &logs, "LLM_BASE_URL=")?;
        let mut tallybook = server(folder.path(), &model)?;
        tallybook.env("ACCOUNTS", if accounts == Accounts::On { "on" } else { "off" });
        if accounts == Accounts::On {
            create_admin(folder.path(), &model)?;
        }
        let (server, url) = Running::start(&mut tallybook, &logs, "Tallybook is ready at ")?;
        let key = (accounts == Accounts::On).then(|| create_key(&url)).transpose()?;
        Ok(Self { name, logs, url, model, key, _servers: [server, model_server], _folder: folder })
    }

    /// Returns the name of the client.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the folder of the client's files.
    pub(crate) fn folder(&self) -> PathBuf {
        workspace::e2e().join("clients").join(self.name)
    }

    /// Returns the folder of the servers' logs.
    pub(crate) fn logs(&self) -> &Path {
        &self.logs
    }

    /// Returns the URL of Tallybook.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Runs a program with the URL of Tallybook, an API key, and the URL of the model in its environment
    /// (`TALLYBOOK_URL`, `TALLYBOOK_KEY`, `MODEL_URL`). Ends it after `limit`, which is an error.
    pub(crate) fn run(&self, command: &mut Command, limit: Duration) -> Result<()> {
        command.env("TALLYBOOK_URL", &self.url).env("MODEL_URL", &self.model);
        match &self.key {
            Some(key) => command.env("TALLYBOOK_KEY", key),
            None => command.env_remove("TALLYBOOK_KEY"),
        };
        shell::run_within(command, limit)
    }
}

/// Returns a `tallybook` command with the settings of the server.
fn server(folder: &Path, model: &str) -> Result<Command> {
    let program = workspace::built("debug", "tallybook")?;
    let mut command = Command::new(program);
    // The keys and settings of the user who runs this must not apply.
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).current_dir(folder);
    command.env("DATABASE_URL", format!("sqlite://{}", folder.join("tallybook.db").display()));
    command.env("LLM_PROVIDER", "openai").env("LLM_BASE_URL", format!("{model}/v1")).env("LLM_API_KEY", "not-a-key");
    // Failures show at once, without retries, and a client may send any number of requests.
    command.env("LLM_MODEL", "by-hand").env("LLM_MAX_RETRIES", "0").env("MAX_MESSAGES_PER_MINUTE", "0");
    command.env("PORT", "0").env("KEEP_ALIVE_SECS", "1");
    Ok(command)
}

fn create_admin(folder: &Path, model: &str) -> Result<()> {
    let mut admin = server(folder, model)?;
    admin.args(["admin", "create", ADMIN, "--password-stdin"]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = admin.spawn().context("cannot start tallybook")?;
    if let Some(mut input) = child.stdin.take() {
        writeln!(input, "{PASSWORD}")?;
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("tallybook did not create the admin ({status})");
    }
    Ok(())
}

/// Creates an API key of the admin, who signs in for it.
fn create_key(url: &str) -> Result<String> {
    node::find()?;
    let mut command = Command::new("node");
    command.arg(workspace::e2e().join("clients/key.mjs")).args([url, ADMIN, PASSWORD]);
    shell::ask(&mut command).with_context(|| format!("the server at {url} issued no API key to e2e/clients/key.mjs"))
}

/// A running server. Dropping this ends it.
struct Running(Child);

impl Running {
    /// Starts a server, and returns the text after the first `mark` in its output. Its log goes to a file.
    fn start(command: &mut Command, logs: &Path, mark: &'static str) -> Result<(Self, String)> {
        let name = Path::new(command.get_program()).file_stem().unwrap_or_else(|| OsStr::new("server")).to_owned();
        let log = logs.join(&name).with_extension("log");
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(&log)?);
        let child = command.spawn().with_context(|| format!("cannot start {}", name.display()))?;
        let mut running = Self(child);
        let output = running.0.stdout.take().context("no output to read")?;
        let (sender, receiver) = mpsc::sync_channel(1);
        // Reads until the server ends, so that the server never blocks on its output.
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Some((_, rest)) = line.split_once(mark) {
                    // Only the first match counts.
                    let _ = sender.try_send(rest.trim().to_owned());
                }
            }
        });
        match receiver.recv_timeout(START_LIMIT) {
            Ok(address) => Ok((running, address)),
            Err(_) => bail!("{} does not start; its log is {}", name.display(), log.display()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its data is deleted with its folder.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
