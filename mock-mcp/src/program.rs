//! The server as a program, for tests of any crate: the test binary starts itself once more, with one test that serves
//! instead of testing. So there is nothing to build first, and nothing that could be out of date.

use std::{
    collections::BTreeMap,
    env,
    io::{self, Write as _},
    path::PathBuf,
    process,
};

use clap::ValueEnum;

use crate::{Fault, stdio};

/// The variable that asks the test to serve. It holds the names of faults, with commas.
const SERVE: &str = "MOCK_MCP_SERVE";

/// How to start a server.
#[derive(Clone, Debug)]
pub struct Program {
    /// The test binary.
    pub command: PathBuf,
    /// What makes it run that one test.
    pub args: Vec<String>,
    /// What makes that test serve.
    pub env: BTreeMap<String, String>,
}

impl Program {
    /// A server with these faults. `test` is the full name of a test that calls [`serve_if_asked`] and nothing else.
    ///
    /// # Panics
    /// When the test binary is nowhere to be found.
    pub fn of_test(test: &str, faults: &[&str]) -> Self {
        let Ok(command) = env::current_exe() else { panic!("the test binary is nowhere to be found") };
        let args = [test, "--exact", "--nocapture", "--test-threads=1"].map(str::to_owned).to_vec();
        Self { command, args, env: BTreeMap::from([(SERVE.to_owned(), faults.join(","))]) }
    }
}

/// Serves over standard input and output, and then ends the process, where that is what the process is for. Beside its
/// messages such a server writes a few lines of the test harness, which a client has to pass over.
///
/// # Panics
/// When it is asked for a fault that there is not.
pub fn serve_if_asked() {
    let Ok(faults) = env::var(SERVE) else { return };
    let faults = faults.split(',').filter(|name| !name.is_empty());
    let faults = faults.map(|name| Fault::from_str(name, false).unwrap_or_else(|error| panic!("{name}: {error}")));
    let faults: Vec<Fault> = faults.collect();
    // The harness has begun a line, which the first message would be a part of. A client that is gone shows soon enough.
    let _ = io::stdout().write_all(b"\n");
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { process::exit(1) };
    let served = runtime.block_on(stdio(faults));
    process::exit(i32::from(served.is_err()))
}
