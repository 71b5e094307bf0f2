//! Creates a Python environment for the tests: with the official SDKs of MCP and OpenAI, for a real tool server and a
//! real API client, and with validators of files. It is in `target`.

use std::path::PathBuf;

use anyhow::Result;

use crate::{python, workspace};

/// Variable with the path of the Python for the tests.
pub(crate) const VARIABLE: &str = "TEST_PYTHON";

/// Requirements of the tests.
const REQUIREMENTS: [&str; 3] = [
    "mock-mcp/requirements.txt",
    "backend/server/tests/it/api_clients/requirements.txt",
    "xtask/tests/chart/requirements.txt",
];

/// Creates the environment, unless it exists with exactly these packages.
pub(crate) fn prepare() -> Result<PathBuf> {
    let requirements = REQUIREMENTS.map(|file| workspace::root().join(file));
    let files = requirements.each_ref().map(PathBuf::as_path);
    let folder = workspace::root().join("target/python");
    python::environment(&folder, &files, &[], "installing Python packages for the tests")
}
