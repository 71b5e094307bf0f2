//! The real program in its own process, so that a test can pause and kill it.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, ChildStdout, Command, Stdio},
    sync::Mutex,
    time::Instant,
};

use tallybook_mock_llm::MockLlm;

use super::{Engine, POLL_INTERVAL, TIMEOUT};

/// A running program, which is killed when dropped.
pub(crate) struct Program {
    child: Child,
    pub(crate) address: String,
    out: Mutex<BufReader<ChildStdout>>,
}

impl Program {
    /// Returns the command that runs the program on `engine` with `model`, on a free port and with the shortest
    /// possible lease.
    pub(crate) fn command(engine: &Engine, model: &MockLlm) -> Command {
        Self::configured(Command::new(env!("CARGO_BIN_EXE_tallybook")), engine, model)
    }

    /// Returns the same command, run by a shell after `setup`.
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
            // The mock is not at the provider's own host, so it does not get the provider's own key.
            .env("LLM_API_KEY", "sk-test-secret")
            .env("LLM_BASE_URL", model.url())
            .env("LLM_TITLES", "false")
            .env("TURN_LEASE_SECS", "1");
        command
    }

    /// Returns the ID of the process.
    #[cfg(target_os = "linux")]
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the content of a file about the process in `/proc`, such as `limits` or `status`.
    #[cfg(target_os = "linux")]
    pub(crate) fn kernel_file(&self, name: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{name}", self.child.id())).expect("the program runs")
    }

    /// Returns a value of the kernel's file `status` about the process, such as `VmRSS`, the memory in use, in KiB.
    #[cfg(target_os = "linux")]
    pub(crate) fn memory_kib(&self, name: &str) -> u64 {
        let status = self.kernel_file("status");
        let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value.expect("the kernel reports it").trim().trim_end_matches(" kB").parse().expect("a number")
    }

    /// Starts the program, and waits until it prints its address.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the program starts");
        let mut out = BufReader::new(child.stdout.take().expect("the output is piped"));
        let mut line = String::new();
        out.read_line(&mut line).expect("in UTF-8");
        let address = line.trim_end().rsplit(' ').next().filter(|address| !address.is_empty());
        let address = address.expect("the program prints its address").to_owned();
        Self { child, address, out: Mutex::new(out) }
    }

    /// Returns the setup link that the program prints, with which the first admin is created.
    pub(crate) fn setup_link(&self) -> String {
        let mut out = self.out.lock().expect("no holder of the lock panics");
        let mut lines = out.by_ref().lines().map(|line| line.expect("in UTF-8"));
        lines.find_map(|line| Some(line.trim().strip_prefix("setup: ")?.to_owned())).expect("the program prints a link")
    }

    /// Waits until the program has ended by itself. Returns `true` if it succeeded.
    pub(crate) fn wait(mut self) -> bool {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().expect("the program is a child of this process") {
                return status.success();
            }
            assert!(Instant::now() < deadline, "the program ends within {TIMEOUT:?}");
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Sends a signal to the program, such as `STOP` or `CONT`.
    #[cfg(unix)]
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success(), "the program receives the signal {name}");
    }

    /// Limits the size of every file that the program writes, in bytes; `unlimited` removes the limit.
    #[cfg(target_os = "linux")]
    pub(crate) fn limit_files(&self, bytes: &str) {
        // Sets only the soft limit, which can be raised again.
        let limit = [format!("--pid={}", self.child.id()), format!("--fsize={bytes}:unlimited")];
        let set = Command::new("prlimit").args(limit).status().expect("prlimit runs; it is part of util-linux");
        assert!(set.success(), "the limit is set");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The program may have ended by itself, which the test has noticed by then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
