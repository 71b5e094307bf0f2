//! The real program in a process of its own, so that it can be paused and killed.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, ChildStdout, Command, Stdio},
    sync::Mutex,
    time::Instant,
};

use tallybook_mock_llm::MockLlm;

use super::{BETWEEN_LOOKS, Engine, PATIENCE};

/// A running program; killed when dropped.
pub(crate) struct Program {
    child: Child,
    pub(crate) address: String,
    out: Mutex<BufReader<ChildStdout>>,
}

impl Program {
    /// The program as it would be run on `engine` with `model`, on a free port, with the shortest lease there is.
    pub(crate) fn command(engine: &Engine, model: &MockLlm) -> Command {
        Self::configured(Command::new(env!("CARGO_BIN_EXE_tallybook")), engine, model)
    }

    /// The same, run by a shell after `setup`.
    #[cfg(unix)]
    pub(crate) fn command_after(setup: &str, engine: &Engine, model: &MockLlm) -> Command {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &format!("{setup}; exec \"$0\""), env!("CARGO_BIN_EXE_tallybook")]);
        Self::configured(shell, engine, model)
    }

    fn configured(mut command: Command, engine: &Engine, model: &MockLlm) -> Command {
        command
            .env_clear()
            .env("PORT", "0")
            .env("DATABASE_URL", &engine.url)
            .env("ANTHROPIC_API_KEY", "sk-test-secret")
            .env("LLM_BASE_URL", model.url())
            .env("LLM_TITLES", "false")
            .env("TURN_LEASE_SECS", "1");
        command
    }

    /// What the kernel says of the process, such as `limits` or `status`.
    #[cfg(target_os = "linux")]
    pub(crate) fn kernel_file(&self, name: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{name}", self.child.id())).expect("it runs")
    }

    /// Starts it, and waits until it says where it is.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the program starts");
        let mut out = BufReader::new(child.stdout.take().expect("its output is ours"));
        let mut line = String::new();
        out.read_line(&mut line).expect("in UTF-8");
        let address = line.trim_end().rsplit(' ').next().filter(|address| !address.is_empty());
        let address = address.expect("it says where it is").to_owned();
        Self { child, address, out: Mutex::new(out) }
    }

    /// The link that it prints, by which the first admin is made.
    pub(crate) fn setup_link(&self) -> String {
        let mut out = self.out.lock().expect("nobody panicked with it");
        let mut lines = out.by_ref().lines().map(|line| line.expect("in UTF-8"));
        lines.find_map(|line| Some(line.trim().strip_prefix("setup: ")?.to_owned())).expect("it prints a link")
    }

    /// Waits until it has ended by itself, and says whether that went well.
    pub(crate) fn wait(mut self) -> bool {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                return status.success();
            }
            assert!(Instant::now() < deadline, "the program ends within {PATIENCE:?}");
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    /// Sends it a signal, such as `STOP` or `CONT`.
    #[cfg(unix)]
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success(), "the program takes the signal {name}");
    }

    /// From now on it can make no file longer than so many bytes; `unlimited` takes that back.
    #[cfg(target_os = "linux")]
    pub(crate) fn limit_files(&self, bytes: &str) {
        // The soft limit alone, which may be raised again.
        let limit = [format!("--pid={}", self.child.id()), format!("--fsize={bytes}:unlimited")];
        let set = Command::new("prlimit").args(limit).status().expect("prlimit runs; it comes with util-linux");
        assert!(set.success(), "the limit is set");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself, which the test has noticed then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
