//! The nodes of the database: MariaDB with Galera, each with its own folder and ports.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};

use super::supervised::Supervised;
use crate::{
    debian,
    progress::Step,
    shell,
    test::mysql::{free_port, initialize, path_option},
    workspace,
};

/// Number of nodes. With three, the cluster keeps its majority if a node fails.
pub(super) const COUNT: usize = 3;

/// Timeout for a node to catch up with the others.
const START_LIMIT: Duration = Duration::from_mins(2);

/// Paths of Galera on Debian and other systems.
const PROVIDERS: [&str; 3] =
    ["/usr/lib/galera/libgalera_smm.so", "/usr/lib/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so"];

/// The user who runs the nodes if root runs this program; Debian's package creates the user. Nodes that run as root
/// cannot transfer their data, because rsync's daemon drops root's permissions.
const USER: &str = "mysql";

/// Name of the servers' database.
pub(super) const DATABASE: &str = "tallybook";

/// Start of a statement that writes the statement for comparing nodes: checksums over every row of every table.
const LIST_TABLES: &str = "SELECT CONCAT('CHECKSUM TABLE ', GROUP_CONCAT(CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) ORDER BY TABLE_NAME)) \
    FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA = ";

/// Programs and libraries that the nodes need.
pub(super) struct Programs {
    server: PathBuf,
    client: PathBuf,
    provider: &'static str,
}

impl Programs {
    /// Finds the programs, or installs them.
    pub(super) fn find_or_install() -> Result<Self> {
        if let Some(found) = Self::find() {
            return Ok(found);
        }
        let packages = ["mariadb-server", "mariadb-client", "galera-4", "rsync", "haproxy"];
        if debian::can_install() {
            debian::install(&packages)?;
        }
        Self::find().with_context(|| {
            format!("a cluster needs MariaDB with Galera and HAProxy: install {}", packages.join(", "))
        })
    }

    fn find() -> Option<Self> {
        shell::find_program("rsync").and(shell::find_program("haproxy"))?;
        Some(Self {
            server: shell::find_program("mariadbd")?,
            client: shell::find_program("mariadb")?,
            provider: PROVIDERS.into_iter().find(|path| Path::new(path).exists())?,
        })
    }
}

/// A node.
pub(super) struct Node {
    name: String,
    folder: PathBuf,
    /// Ports for clients, group communication, incremental state transfer (IST), and full state transfer (SST).
    ports: [u16; 4],
    running: Option<Supervised>,
}

/// All nodes.
pub(super) struct Nodes {
    programs: Programs,
    user: Option<&'static str>,
    pub(super) all: Vec<Node>,
}

impl Nodes {
    /// Starts the nodes. The first one starts a new cluster, which the others join.
    pub(super) fn start(programs: Programs, folder: &Path) -> Result<Self> {
        let step = Step::begin("starting the nodes of the database", "");
        let user = shell::is_root().then_some(USER);
        // The nodes need access to the folder, whichever user runs them.
        shell::run(Command::new("chmod").arg("711").arg(folder))?;
        let mut all = Vec::new();
        for number in 1..=COUNT {
            let name = format!("node{number}");
            let folder = folder.join(&name);
            fs::create_dir(&folder)?;
            if let Some(user) = user {
                shell::run(Command::new("chown").arg(user).arg(&folder))?;
            }
            initialize(&programs.server, &folder.join("data"), user)?;
            let ports = [free_port()?, free_port()?, free_port()?, free_port()?];
            all.push(Node { name, folder, ports, running: None });
        }
        let mut nodes = Self { programs, user, all };
        for number in 0..COUNT {
            nodes.start_one(number, number == 0)?;
            nodes.wait_until_synced(number)?;
        }
        let first = &nodes.all[0];
        nodes.ask(first, &format!("CREATE DATABASE {DATABASE}; CREATE USER haproxy@'%'"))?;
        step.done("");
        Ok(nodes)
    }

    /// Returns the address on which a node listens for clients.
    pub(super) fn address(&self, number: usize) -> String {
        format!("127.0.0.1:{}", self.all[number].ports[0])
    }

    /// Kills a node, as if its machine had lost power.
    pub(super) fn kill(&mut self, number: usize) -> Result<()> {
        let running = self.all[number].running.take().context("the node does not run")?;
        running.signal("KILL")?;
        running.wait(START_LIMIT)
    }

    /// Starts a node. It joins the others unless it `begins` a new cluster.
    pub(super) fn start_one(&mut self, number: usize, begins: bool) -> Result<()> {
        let others: Vec<String> = self.all.iter().map(|node| format!("127.0.0.1:{}", node.ports[1])).collect();
        let node = &self.all[number];
        let [port, group, missed, whole] = node.ports;
        let mut command = Command::new(&self.programs.server);
        command.arg(path_option("defaults-file", &workspace::root().join("infra/cluster/galera.cnf")));
        command.arg(path_option("datadir", &node.folder.join("data")));
        command.arg(path_option("socket", &node.folder.join("socket")));
        command.args(self.user.map(|user| format!("--user={user}")));
        command.arg(path_option("pid-file", &node.folder.join("pid")));
        command.args([
            format!("--port={port}"),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--wsrep-provider={}", self.programs.provider),
            format!("--wsrep-cluster-address=gcomm://{}", others.join(",")),
            format!("--wsrep-node-name={}", node.name),
            format!("--wsrep-node-address=127.0.0.1:{group}"),
            format!("--wsrep-sst-receive-address=127.0.0.1:{whole}"),
            format!(
                "--wsrep-provider-options=base_port={group};gmcast.listen_addr=tcp://127.0.0.1:{group};\
                 ist.recv_addr=127.0.0.1:{missed}"
            ),
        ]);
        if begins {
            command.arg("--wsrep-new-cluster");
        }
        let running = Supervised::start(&node.name, &command, &node.folder.join("log"))?;
        self.all[number].running = Some(running);
        Ok(())
    }

    /// Waits until a node has caught up with the others.
    pub(super) fn wait_until_synced(&mut self, number: usize) -> Result<()> {
        let began = Instant::now();
        while !self.is_synced(number) {
            let node = &mut self.all[number];
            let runs = node.running.as_mut().is_some_and(|running| running.runs().unwrap_or(false));
            if !runs || began.elapsed() > START_LIMIT {
                let log = fs::read_to_string(node.folder.join("log")).unwrap_or_default();
                let tail: Vec<_> = log.lines().rev().take(5).collect();
                bail!("{} does not join the others: {}", node.name, tail.join(" / "));
            }
            // Polls, because a node sends no notification when it is ready.
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    fn is_synced(&self, number: usize) -> bool {
        let state = self.ask(&self.all[number], "SHOW STATUS LIKE 'wsrep_local_state_comment'");
        state.is_ok_and(|state| state.ends_with("Synced"))
    }

    /// Returns the number of compared tables, or an error if the nodes have different rows. No client may write in the
    /// meantime.
    pub(super) fn compare(&self) -> Result<usize> {
        let list = format!("SET SESSION group_concat_max_len = 100000; {LIST_TABLES}'{DATABASE}'");
        let sums = self.ask(&self.all[0], &list)?;
        // CHECKSUM TABLE does not wait; the SELECT first applies what the other nodes have committed.
        let sums = format!("SET SESSION wsrep_sync_wait = 1; SELECT 'all is here'; {sums}");
        let sums = self.all.iter().map(|node| self.ask(node, &sums)).collect::<Result<Vec<_>>>()?;
        let first: Vec<&str> = sums[0].lines().collect();
        for (node, sums) in self.all.iter().zip(&sums) {
            let differ = first.iter().zip(sums.lines()).filter(|(one, other)| *one != other);
            let differ: Vec<_> = differ.map(|(one, other)| format!("{one} / {other}")).collect();
            ensure!(
                sums.lines().count() == first.len() && differ.is_empty(),
                "{} has different rows: {differ:?}",
                node.name
            );
        }
        Ok(first.len() - 1)
    }

    fn ask(&self, node: &Node, sql: &str) -> Result<String> {
        let mut client = Command::new(&self.programs.client);
        client.args(["--no-defaults", "--user=root", "--host=127.0.0.1", "--connect-timeout=5", "--batch"]);
        client.arg(format!("--port={}", node.ports[0])).args(["--skip-column-names", "--execute", sql]);
        let output = client.output().context("cannot start the database's client")?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{} failed to run a statement: {}", node.name, complaint.trim());
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}
