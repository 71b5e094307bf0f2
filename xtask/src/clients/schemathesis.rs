//! schemathesis, which asks for everything that `/openapi.json` describes and compares the answers with it: once with a key, and
//! once where nobody signs in, and more may be done.

use std::time::Duration;

use anyhow::Result;

use super::{
    run::python,
    stage::{Accounts, Stage},
};

/// How long each may take, which is some minutes.
const LIMIT: Duration = Duration::from_mins(15);

pub(super) fn with_key_and_without(stage: &Stage) -> Result<()> {
    python(stage, LIMIT)?;
    python(&Stage::set(stage.name(), Accounts::Off)?, LIMIT)
}
