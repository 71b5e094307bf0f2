//! A Python with the official SDKs of MCP and of OpenAI, for the tests with a real tool server and a real program: in an
//! environment of its own in `target`.

use std::path::PathBuf;

use anyhow::Result;

use crate::{python, workspace};

/// The variable that names the Python to the tests.
pub(crate) const VARIABLE: &str = "TEST_PYTHON";

/// What the tests need.
const REQUIREMENTS: [&str; 2] = ["mock-mcp/requirements.txt", "backend/server/tests/it/programs/requirements.txt"];

/// Makes the environment, unless it is there with just these packages.
pub(crate) fn prepare() -> Result<PathBuf> {
    let requirements = REQUIREMENTS.map(|file| workspace::root().join(file));
    let files = requirements.each_ref().map(PathBuf::as_path);
    let folder = workspace::root().join("target/python");
    python::environment(&folder, &files, &[], "installing the Python SDKs of MCP and OpenAI")
}
