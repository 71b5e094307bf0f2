//! Runs the Rust tests and keeps the output of the failed ones, so that it can be repeated at the end.

use std::{
    env,
    io::{self, BufRead as _, BufReader, Write as _},
    path::Path,
    process::Stdio,
};

use anyhow::{Context as _, Result, ensure};

use super::{
    mysql::{self, TestServers},
    python,
};
use crate::{progress::Step, shell};

/// Variable with the number of concurrent tests of a program.
const THREADS: &str = "RUST_TEST_THREADS";

/// Maximum size of the failed tests' output that is kept, in bytes.
const KEPT: usize = 64 * 1024;

/// The result of the Rust tests.
pub(super) struct Outcome {
    /// An error if a test failed, or could not be compiled.
    pub(super) result: Result<()>,
    /// Output of the failed tests.
    pub(super) failures: String,
}

/// Returns two threads per core, because a test waits half of the time for a database, a lease, or a model.
fn threads() -> usize {
    2 * std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Runs the Rust tests on each of the databases.
pub(super) fn run(mysql: &TestServers, python: &Path) -> Outcome {
    let step = Step::begin("running the Rust tests", "");
    let mut failures = Failures::default();
    let result = run_tests(mysql, python, &mut failures);
    step.done(if result.is_ok() { "all passed" } else { "some failed" });
    Outcome { result, failures: failures.text }
}

fn run_tests(mysql: &TestServers, python: &Path, failures: &mut Failures) -> Result<()> {
    let mut tests = shell::cargo();
    tests.args(["test", "--workspace", "--no-fail-fast"]).stdout(Stdio::piped());
    if env::var_os(THREADS).is_none() {
        tests.env(THREADS, threads().to_string());
    }
    tests.env(mysql::VARIABLE, mysql.urls()).env(python::VARIABLE, python);
    let mut child = tests.spawn().context("cannot start `cargo test`")?;
    let printed = child.stdout.take().context("`cargo test` has no output")?;
    let mut terminal = io::stdout();
    for line in BufReader::new(printed).split(b'\n') {
        let line = line?;
        terminal.write_all(&line)?;
        terminal.write_all(b"\n")?;
        failures.take(&String::from_utf8_lossy(&line));
    }
    let status = child.wait()?;
    ensure!(status.success(), "`cargo test --workspace --no-fail-fast` failed ({status})");
    Ok(())
}

/// Output of failed tests. A test program prints it at its end, from the line `failures:` to the line `test result: …`.
#[derive(Default)]
struct Failures {
    text: String,
    is_inside: bool,
}

impl Failures {
    fn take(&mut self, line: &str) {
        self.is_inside = (self.is_inside || line == "failures:") && !line.starts_with("test result:");
        if self.is_inside && self.text.len() + line.len() < KEPT {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_failed_tests_is_kept() {
        let printed = "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\nat b.rs:1\n\n\
                       failures:\n    b\n\ntest result: FAILED. 1 passed; 1 failed\n\nrunning 1 test\ntest c ... ok\n";
        let mut failures = Failures::default();
        printed.lines().for_each(|line| failures.take(line));
        assert_eq!(failures.text, "failures:\n\n---- b stdout ----\nat b.rs:1\n\nfailures:\n    b\n\n");
    }
}
