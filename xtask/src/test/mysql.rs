//! Finds a MySQL or MariaDB server for the tests: the named one, a running one, or a temporary one.

use std::{
    env,
    ffi::OsString,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

use crate::{
    debian,
    progress::{Step, say},
    shell,
    test::login,
};

/// Variable with the servers to test on: one URL without a database, or several separated by commas.
pub(crate) const VARIABLE: &str = "MYSQL_TEST_URL";

/// Timeout for a new server to accept a login.
const START_LIMIT: Duration = Duration::from_mins(1);

/// Advice for users without a server that cannot be installed.
const ADVICE: &str = "the tests need a MySQL or MariaDB server: install one (on Debian or Ubuntu \
    `sudo apt-get install mariadb-server-core`), or set MYSQL_TEST_URL to one that tests may make databases on, \
    such as mysql://root@127.0.0.1:3306";

/// Servers to test on. A temporary one ends with this value.
pub(crate) struct TestServers {
    urls: String,
    _own: Option<ThrowAway>,
}

impl TestServers {
    /// Returns the value for `MYSQL_TEST_URL`.
    pub(crate) fn urls(&self) -> &str {
        &self.urls
    }
}

/// Finds a server, or starts one.
pub(crate) fn find() -> Result<TestServers> {
    if let Some(urls) = env::var(VARIABLE).ok().filter(|urls| !urls.trim().is_empty()) {
        say(&format!("testing on the servers that {VARIABLE} names"));
        return Ok(TestServers { urls, _own: None });
    }
    if login::root_may_enter(3306) {
        say("testing on the database server at 127.0.0.1:3306");
        return Ok(TestServers { urls: url(3306), _own: None });
    }
    let program = match installed() {
        Some(program) => program,
        None if debian::can_install() => {
            debian::install(&["mariadb-server-core"])?;
            installed().context(ADVICE)?
        }
        None => bail!(ADVICE),
    };
    let own = ThrowAway::start(&program)?;
    Ok(TestServers { urls: url(own.port), _own: Some(own) })
}

fn url(port: u16) -> String {
    format!("mysql://root@127.0.0.1:{port}")
}

fn installed() -> Option<PathBuf> {
    ["mariadbd", "mysqld"].into_iter().find_map(shell::find_program)
}

/// A temporary server. Dropping this ends it and deletes its data folder.
///
/// A shell supervises the server. It waits for the end of its input, which comes when this program closes it or ends in
/// any way. Then it stops the server and removes the folder.
struct ThrowAway {
    port: u16,
    keeper: Child,
}

/// Ctrl-C reaches the shell, too; it must survive that to clean up.
const KEEPER: &str = r#"trap '' INT HUP
folder=$1; shift
"$@" >"$folder/log" 2>&1 &
read -r _
{ kill $!; wait $!; } 2>/dev/null
rm -rf "$folder""#;

impl ThrowAway {
    fn start(program: &Path) -> Result<Self> {
        let step = Step::begin("starting a database server for the tests", "");
        let folder = tempfile::Builder::new().prefix("tallybook-mysql-").tempdir()?;
        let data = folder.path().join("data");
        // Database servers refuse to run as root unless `--user=root` is set.
        let user = shell::is_root().then_some("root");
        initialize(program, &data, user)?;
        let port = free_port()?;
        let mut keeper = Command::new("sh");
        // From here on, the shell removes the folder.
        let folder = folder.keep();
        keeper.args(["-c", KEEPER, "keeper"]).args([&folder, program]);
        keeper.args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-log-bin", "--loose-mysqlx=OFF"]);
        // The data need not survive a power failure.
        keeper.args(["--innodb-flush-log-at-trx-commit=0", "--max-connections=500"]);
        keeper.arg(format!("--port={port}")).arg(path_option("datadir", &data));
        keeper.arg(path_option("socket", &folder.join("socket")));
        keeper.args(user.map(|user| format!("--user={user}")));
        let keeper = keeper.stdin(Stdio::piped()).spawn().context("cannot start a shell")?;
        let server = Self { port, keeper };

        let began = Instant::now();
        while !login::root_may_enter(port) {
            if began.elapsed() > START_LIMIT {
                let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
                let tail: Vec<_> = log.lines().rev().take(5).collect();
                bail!("the database server for the tests does not start: {}", tail.join(" / "));
            }
            // Polls, because a port sends no notification when it opens.
            thread::sleep(Duration::from_millis(50));
        }
        step.done(&format!("on port {port}"));
        Ok(server)
    }
}

impl Drop for ThrowAway {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // The server is no longer needed, so its exit status does not matter.
        let _ = self.keeper.wait();
    }
}

/// Initializes a new data folder, for either product. If root does so, `user` is the user who will run the server.
pub(crate) fn initialize(program: &Path, data: &Path, user: Option<&str>) -> Result<()> {
    let version = shell::ask(Command::new(program).arg("--version")).unwrap_or_default();
    let mut command = if version.contains("MariaDB") {
        let mut command = Command::new(shell::find_program("mariadb-install-db").context(ADVICE)?);
        command.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
        command
    } else {
        let mut command = Command::new(program);
        command.args(["--no-defaults", "--initialize-insecure"]);
        command
    };
    command.arg(path_option("datadir", data)).args(user.map(|user| format!("--user={user}")));
    let output = command.output().with_context(|| format!("cannot start {}", program.display()))?;
    if !output.status.success() {
        bail!(
            "the database server for the tests cannot create its data folder: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(())
}

pub(crate) fn path_option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(format!("--{name}="));
    option.push(path);
    option
}

/// Returns a free port. Another program could take it before the server does; the server then reports that and does not
/// start.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_supervisor_stops_its_process_and_removes_the_folder() -> Result<()> {
        let folder = tempfile::tempdir()?.keep();
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper"])
            .arg(&folder)
            .args(["sleep", "600"])
            .stdin(Stdio::piped())
            .spawn()?;
        assert!(folder.exists());
        // Simulates the end of the program that started it.
        drop(keeper.stdin.take());
        keeper.wait()?;
        assert!(!folder.exists());
        Ok(())
    }
}
