//! Tools that misbehave, or record how they are used. Tools of a single test are in its file.

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

/// A tool that counts its calls.
#[derive(Clone, Default)]
pub(crate) struct Counts(Arc<AtomicUsize>);

impl Counts {
    /// Returns the number of calls so far.
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

/// A tool that panics.
pub(crate) struct Panics;

impl Tool for Panics {
    type Args = NoArgs;
    const NAME: &'static str = "panics";
    const DESCRIPTION: &'static str = "Panics.";

    async fn call(&self, _: NoArgs) -> Result<ToolOutput, ToolError> {
        panic!("a panic that the test requested")
    }
}

/// A tool that never returns.
pub(crate) struct Hangs;

impl Tool for Hangs {
    type Args = NoArgs;
    const NAME: &'static str = "hangs";
    const DESCRIPTION: &'static str = "Never comes back.";

    async fn call(&self, _: NoArgs) -> Result<ToolOutput, ToolError> {
        pending().await
    }
}

/// Arguments of [`Writes`].
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Size {
    bytes: usize,
}

/// A tool that returns as many bytes as its argument says.
pub(crate) struct Writes;

impl Tool for Writes {
    type Args = Size;
    const NAME: &'static str = "writes";
    const DESCRIPTION: &'static str = "Gives back so many bytes.";

    async fn call(&self, Size { bytes }: Size) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("x".repeat(bytes)))
    }
}
