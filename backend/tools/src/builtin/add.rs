//! The tool `add`.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Tool, ToolError, ToolOutput,
    decimal::{Decimal, DecimalError},
};

/// Exact addition.
pub(crate) struct Add;

/// Arguments of `add`. A third operand is refused, since ignoring it would give a wrong result.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The first number.
    a: Decimal,
    /// The number added to it.
    b: Decimal,
}

impl Tool for Add {
    type Args = Args;

    const NAME: &'static str = "add";
    const DESCRIPTION: &'static str = "Adds two numbers exactly, in decimal: 0.1 + 0.2 is 0.3. \
        Use it for every sum instead of computing in your head.";
    const ALIASES: &'static [&'static str] = &["plus", "sum", "addition"];
    const IDEMPOTENT: bool = true;

    async fn call(&self, Args { a, b }: Args) -> Result<ToolOutput, ToolError> {
        let sum = a.checked_add(&b).map_err(DecimalError::of_result)?;
        Ok(ToolOutput::text(sum.to_string()))
    }
}
