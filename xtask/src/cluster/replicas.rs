//! The servers under test, and the proxy in front of them and of the database.

use std::{
    env,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

use super::{
    nodes::{self, Nodes},
    supervised::Supervised,
};
use crate::{shell, test::mysql::free_port, workspace};

/// Timeout for a server to become ready, even on a busy machine.
const START_LIMIT: Duration = Duration::from_mins(2);

/// Timeout for a server to end after SIGTERM or SIGKILL.
const END_LIMIT: Duration = Duration::from_mins(1);

/// The proxy.
pub(super) struct Proxy {
    _running: Supervised,
    pages: u16,
    databases: u16,
}

impl Proxy {
    /// Starts the proxy with the configuration for operators.
    pub(super) fn start(folder: &Path, nodes: &Nodes, replicas: &[u16]) -> Result<Self> {
        let (pages, databases) = (free_port()?, free_port()?);
        let mut command = Command::new(shell::find_program("haproxy").context("haproxy is not installed")?);
        command.arg("-db").arg("-f").arg(workspace::root().join("infra/cluster/haproxy.cfg"));
        command.env("PAGES", format!("127.0.0.1:{pages}")).env("DATABASES", format!("127.0.0.1:{databases}"));
        for number in 0..nodes::COUNT {
            command.env(format!("NODE_{}", number + 1), nodes.address(number));
        }
        for (number, port) in (1..).zip(replicas) {
            command.env(format!("REPLICA_{number}"), format!("127.0.0.1:{port}"));
        }
        let running = Supervised::start("haproxy", &command, &folder.join("haproxy.log"))?;
        Ok(Self { _running: running, pages, databases })
    }

    /// Returns the URL for browsers.
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.pages)
    }

    /// Returns the database URL for replicas.
    pub(super) fn database_url(&self) -> String {
        format!("mysql://root@127.0.0.1:{}/{}", self.databases, nodes::DATABASE)
    }
}

/// Settings with which the servers are started.
pub(super) struct Recipe {
    pub(super) program: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) database_url: String,
    /// Address of the model.
    pub(super) model: String,
    /// Settings file with the tool servers.
    pub(super) tools: PathBuf,
}

/// A server.
pub(super) struct Replica {
    port: u16,
    running: Option<Supervised>,
}

impl Replica {
    pub(super) fn new(port: u16) -> Self {
        Self { port, running: None }
    }

    /// Starts the server and waits until it is ready.
    pub(super) fn start(&mut self, recipe: &Recipe) -> Result<()> {
        let mut command = Command::new(&recipe.program);
        command.current_dir(&recipe.folder);
        let settings = [
            ("PORT", self.port.to_string()),
            ("DATABASE_URL", recipe.database_url.clone()),
            ("LLM_PROVIDER", "openai".to_owned()),
            ("LLM_MODEL", "m".to_owned()),
            ("LLM_API_KEY", "none".to_owned()),
            ("LLM_BASE_URL", format!("http://{}/v1", recipe.model)),
            ("MCP_SERVERS_FILE", recipe.tools.display().to_string()),
            ("LLM_TITLES", "false".to_owned()),
            ("LLM_TOOL_MODE", "native".to_owned()),
            // A short lease keeps the test short; longer times would show the same. If the database takes longer than a
            // quarter of the lease, no turn is closed, because its owner may be waiting for the database, too.
            ("TURN_LEASE_SECS", "12".to_owned()),
            ("SHUTDOWN_GRACE_SECS", "5".to_owned()),
            ("RUST_LOG", env::var("RUST_LOG").unwrap_or_else(|_| "warn".to_owned())),
        ];
        command.envs(settings);
        let log = recipe.folder.join(format!("replica-{}.log", self.port));
        let mut running = Supervised::start("the server", &command, &log)?;
        let began = Instant::now();
        while !is_ready(self.port) {
            if !running.runs()? || began.elapsed() > START_LIMIT {
                let log = std::fs::read_to_string(&log).unwrap_or_default();
                bail!("a server does not start: {}", log.lines().last().unwrap_or_default());
            }
            thread::sleep(Duration::from_millis(100));
        }
        self.running = Some(running);
        Ok(())
    }

    /// Kills the server, as if its machine had lost power.
    pub(super) fn kill(&mut self) -> Result<()> {
        self.end("KILL")
    }

    /// Stops the server and starts it again, as for an upgrade to a new version.
    pub(super) fn replace(&mut self, recipe: &Recipe) -> Result<()> {
        self.stop()?;
        self.start(recipe)
    }

    /// Stops the server with SIGTERM.
    pub(super) fn stop(&mut self) -> Result<()> {
        self.end("TERM")
    }

    fn end(&mut self, signal: &str) -> Result<()> {
        let running = self.running.take().context("the server does not run")?;
        running.signal(signal)?;
        running.wait(END_LIMIT)
    }
}

/// Returns `true` if a server reports that it is ready.
fn is_ready(port: u16) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        Ok(line)
    };
    ask().is_ok_and(|line| line.contains(" 200 "))
}
