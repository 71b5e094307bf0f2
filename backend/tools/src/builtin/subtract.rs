//! The tool `subtract`.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Tool, ToolError, ToolOutput,
    decimal::{Decimal, DecimalError},
};

/// Exact subtraction.
pub(crate) struct Subtract;

/// Arguments of `subtract`. A third operand is refused, since ignoring it would give a wrong result.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The number to subtract from.
    a: Decimal,
    /// The number that is taken away from a.
    b: Decimal,
}

impl Tool for Subtract {
    type Args = Args;

    const NAME: &'static str = "subtract";
    const DESCRIPTION: &'static str = "Subtracts b from a exactly, in decimal. \
        Use it for every difference instead of computing in your head.";
    const ALIASES: &'static [&'static str] = &["sub", "minus", "subtraction", "difference"];
    const IDEMPOTENT: bool = true;

    async fn call(&self, Args { a, b }: Args) -> Result<ToolOutput, ToolError> {
        let difference = a.checked_sub(&b).map_err(DecimalError::of_result)?;
        Ok(ToolOutput::text(difference.to_string()))
    }
}
