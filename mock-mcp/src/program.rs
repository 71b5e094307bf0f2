//! The server as a process, for tests of any crate: the test binary starts itself again and runs one test, which serves
//! instead of testing. So no other binary must be built first, and none can be out of date.

use std::{
    collections::BTreeMap,
    env,
    io::{self, Write as _},
    path::PathBuf,
    process,
};

use clap::ValueEnum;

use crate::{Fault, stdio};

/// Environment variable that makes the test serve. Contains the names of faults, separated by commas.
const SERVE: &str = "MOCK_MCP_SERVE";

/// The command that starts a server.
#[derive(Clone, Debug)]
pub struct Program {
    /// The test binary.
    pub command: PathBuf,
    /// Arguments that make the binary run that one test.
    pub args: Vec<String>,
    /// Environment variables that make that test serve.
    pub env: BTreeMap<String, String>,
}

impl Program {
    /// Returns the command of a server with these faults. `test` is the full name of a test that calls
    /// [`serve_if_asked`] and does nothing else.
    ///
    /// # Panics
    /// Panics if the test binary cannot be found.
    pub fn of_test(test: &str, faults: &[&str]) -> Self {
        let Ok(command) = env::current_exe() else { panic!("cannot find the test binary") };
        let args = [test, "--exact", "--nocapture", "--test-threads=1"].map(str::to_owned).to_vec();
        Self { command, args, env: BTreeMap::from([(SERVE.to_owned(), faults.join(","))]) }
    }
}

/// Serves over standard input and output and then ends the process, if the environment variable is set. Otherwise does
/// nothing. The test harness also writes a few lines, which a client must ignore.
///
/// # Panics
/// Panics if the variable contains an unknown fault.
pub fn serve_if_asked() {
    let Ok(faults) = env::var(SERVE) else { return };
    let faults = faults.split(',').filter(|name| !name.is_empty());
    let faults = faults.map(|name| Fault::from_str(name, false).unwrap_or_else(|error| panic!("{name}: {error}")));
    let faults: Vec<Fault> = faults.collect();
    // The harness has begun a line, and the first message must not become part of it. A write error means that the
    // client has gone, which later writes also show.
    let _ = io::stdout().write_all(b"\n");
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { process::exit(1) };
    let served = runtime.block_on(stdio(faults));
    process::exit(i32::from(served.is_err()))
}
