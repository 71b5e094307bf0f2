//! Tools that misbehave, or show what is done with them. Those of a single test are in its file.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use schemars::JsonSchema;
use serde::Deserialize;
use tallybook_tools::{Tool, ToolError, ToolOutput};

/// The arguments of a tool that takes none.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct NoArgs {}

/// Counts how often it runs.
#[derive(Clone, Default)]
pub(crate) struct Counts(Arc<AtomicUsize>);

impl Counts {
    /// How often it has run.
    pub(crate) fn runs(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Tool for Counts {
    type Args = NoArgs;
    const NAME: &'static str = "counts";
    const DESCRIPTION: &'static str = "Counts how often it runs.";

    async fn call(&self, _: NoArgs) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text((self.0.fetch_add(1, Ordering::SeqCst) + 1).to_string()))
    }
}

/// Panics.
pub(crate) struct Panics;

impl Tool for Panics {
    type Args = NoArgs;
    const NAME: &'static str = "panics";
    const DESCRIPTION: &'static str = "Panics.";

    async fn call(&self, _: NoArgs) -> Result<ToolOutput, ToolError> {
        panic!("as a test asked for")
    }
}

/// Never comes back.
pub(crate) struct Hangs;

impl Tool for Hangs {
    type Args = NoArgs;
    const NAME: &'static str = "hangs";
    const DESCRIPTION: &'static str = "Never comes back.";

    async fn call(&self, _: NoArgs) -> Result<ToolOutput, ToolError> {
        pending().await
    }
}

/// What [`Writes`] takes.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Size {
    bytes: usize,
}

/// Gives back as much as it is asked for.
pub(crate) struct Writes;

impl Tool for Writes {
    type Args = Size;
    const NAME: &'static str = "writes";
    const DESCRIPTION: &'static str = "Gives back so many bytes.";

    async fn call(&self, Size { bytes }: Size) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("x".repeat(bytes)))
    }
}
