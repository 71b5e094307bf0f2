//! `cargo xtask cluster`: runs database nodes, servers, and a proxy on this machine, as operators run them on several
//! machines. Many turns run while nodes and a server are killed and the servers are replaced. Afterwards it checks that
//! nothing was lost, duplicated, or run twice. All processes end with this program.
//!
//! - `nodes`: the database; `replicas`: the servers and the proxy; `supervised`: a supervised process.

mod nodes;
mod replicas;
mod supervised;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use serde_json::json;

use self::{
    nodes::{Nodes, Programs},
    replicas::{Proxy, Recipe, Replica},
    supervised::Supervised,
};
use crate::{
    build,
    progress::{Step, say},
    shell,
    test::mysql::free_port,
};

/// Options of `cargo xtask cluster`.
#[derive(Args)]
pub(crate) struct Options {
    /// Turns in each round
    #[arg(long, default_value_t = 200)]
    turns: usize,
    /// Turns that run at the same time
    #[arg(long, default_value_t = 100)]
    at_once: usize,
    /// Duration of the rounds, in minutes
    #[arg(long, default_value_t = 2)]
    minutes: u64,
    /// Number of servers
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=3))]
    replicas: u8,
    /// Use release builds
    #[arg(long)]
    release: bool,
    /// Use `tallybook` and `tallybook-bench` from this folder instead of building them
    #[arg(long, value_name = "FOLDER", conflicts_with = "release")]
    programs: Option<PathBuf>,
    /// Keep the cluster running afterwards, until Ctrl-C
    #[arg(long)]
    keep: bool,
}

/// Pause between disturbances of the cluster.
const BREATH: Duration = Duration::from_secs(4);

/// A running cluster.
struct Cluster {
    nodes: Nodes,
    proxy: Proxy,
    recipe: Recipe,
    replicas: Vec<Replica>,
    _model: Supervised,
}

/// Starts the cluster, runs turns during the disturbances, and checks the stored data.
pub(crate) fn run(options: &Options) -> Result<()> {
    let (program, bench) = match &options.programs {
        Some(folder) => {
            let folder =
                folder.canonicalize().with_context(|| format!("cannot find the folder {}", folder.display()))?;
            (folder.join("tallybook"), folder.join("tallybook-bench"))
        }
        None if options.release || options.keep => (build::program(options.release)?, build::bench(options.release)?),
        None => (build::without_page()?, build::bench(false)?),
    };
    let folder = tempfile::Builder::new().prefix("tallybook-cluster-").tempdir()?;
    let witness = free_port()?.to_string();
    let mut cluster = Cluster::start(folder.path(), &program, &bench, &witness, options.replicas.into())?;
    let url = cluster.proxy.url();
    say(&format!("the cluster is at {url}, its database at {}", cluster.proxy.database_url()));
    let mut load = Command::new(&bench);
    load.args(["load", "--disturbed", "--url", &url, "--turns", &options.turns.to_string()]);
    load.args(["--witness-port", &witness]);
    load.args(["--at-once", &options.at_once.to_string(), "--minutes", &options.minutes.to_string()]);
    let mut load = Load(load.spawn()?);
    cluster.disturb()?;
    if let Some(status) = load.0.try_wait()? {
        ensure!(status.success(), "the load failed");
        bail!("the load ended too early; use more --minutes");
    }
    cluster.mend()?;
    let status = load.0.wait()?;
    ensure!(status.success(), "the load failed");
    for replica in &mut cluster.replicas {
        replica.stop()?;
    }
    shell::run(
        Command::new(&program)
            .args(["admin", "check"])
            .env("DATABASE_URL", cluster.proxy.database_url())
            .current_dir(folder.path()),
    )?;
    say(&format!("the nodes have the same rows in each of {} tables", cluster.nodes.compare()?));
    if options.keep {
        for replica in &mut cluster.replicas {
            replica.start(&cluster.recipe)?;
        }
        say(&format!("the cluster runs at {url} until Ctrl-C; logs are in {}", folder.path().display()));
        loop {
            // `park` may return without a reason.
            thread::park();
        }
    }
    Ok(())
}

/// The load. Dropping this ends it.
struct Load(Child);

impl Drop for Load {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Cluster {
    fn start(folder: &Path, program: &Path, bench: &Path, witness: &str, replicas: usize) -> Result<Self> {
        let nodes = Nodes::start(Programs::find_or_install()?, folder)?;
        let ports = (0..replicas).map(|_| free_port()).collect::<Result<Vec<_>>>()?;
        let proxy = Proxy::start(folder, &nodes, &ports)?;
        let model_port = free_port()?.to_string();
        let model = Supervised::start(
            "the model",
            Command::new(bench).args(["model", "--port", &model_port]),
            &folder.join("model.log"),
        )?;
        let tools = folder.join("servers.json");
        let server = json!({ "url": format!("http://127.0.0.1:{witness}/mcp"), "risk": "low" });
        fs::write(&tools, json!({ "mcpServers": { "witness": server } }).to_string())?;
        let recipe = Recipe {
            program: program.to_owned(),
            folder: folder.to_owned(),
            database_url: proxy.database_url(),
            model: format!("127.0.0.1:{model_port}"),
            tools,
        };
        let step = Step::begin("starting the servers", "all at once; one of them creates the tables");
        let mut replicas: Vec<Replica> = ports.into_iter().map(Replica::new).collect();
        thread::scope(|scope| {
            let starting: Vec<_> = replicas.iter_mut().map(|replica| scope.spawn(|| replica.start(&recipe))).collect();
            starting.into_iter().try_for_each(|one| match one.join() {
                Ok(started) => started,
                Err(_) => bail!("starting a server panicked"),
            })
        })?;
        step.done("");
        Ok(Self { nodes, proxy, recipe, replicas, _model: model })
    }

    /// Disturbs the cluster while the load runs.
    fn disturb(&mut self) -> Result<()> {
        thread::sleep(BREATH);
        say("a node of the database is killed");
        self.nodes.kill(1)?;
        thread::sleep(BREATH);
        say("a server is killed");
        self.replicas[0].kill()?;
        thread::sleep(BREATH);
        self.replicas[0].start(&self.recipe)?;
        say("the server runs again");
        self.nodes.start_one(1, false)?;
        self.nodes.wait_until_synced(1)?;
        say("the node runs again and has caught up");
        // The node through which the others joined has no special role.
        self.nodes.kill(0)?;
        say("the first node of the database is killed");
        for (number, replica) in (1..).zip(&mut self.replicas) {
            thread::sleep(BREATH);
            say(&format!("server {number} is replaced by a new version"));
            replica.replace(&self.recipe)?;
        }
        Ok(())
    }

    /// Starts the node that is still stopped.
    fn mend(&mut self) -> Result<()> {
        self.nodes.start_one(0, false)?;
        self.nodes.wait_until_synced(0)?;
        say("all disturbances are done");
        Ok(())
    }
}
