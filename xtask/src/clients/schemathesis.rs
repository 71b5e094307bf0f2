//! Runs schemathesis, which sends requests to every operation in `/openapi.json` and compares the responses with it. It
//! runs once with an API key, and once without accounts, where more operations are allowed.

use std::time::Duration;

use anyhow::Result;

use super::{
    run::python,
    stage::{Accounts, Stage},
};

/// Timeout of each of the two runs; they take minutes.
const LIMIT: Duration = Duration::from_mins(15);

pub(super) fn with_key_and_without(stage: &Stage) -> Result<()> {
    python(stage, LIMIT)?;
    python(&Stage::set(stage.name(), Accounts::Off)?, LIMIT)
}
