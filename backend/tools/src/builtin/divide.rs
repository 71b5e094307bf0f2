//! The tool `divide`.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Tool, ToolError, ToolOutput,
    decimal::{Decimal, DecimalError},
};

/// Division to 34 significant digits.
pub(crate) struct Divide;

/// Arguments of `divide`. A third operand is refused, since ignoring it would give a wrong result.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The number to be divided.
    a: Decimal,
    /// The number to divide by; not 0.
    b: Decimal,
}

impl Tool for Divide {
    type Args = Args;

    const NAME: &'static str = "divide";
    const DESCRIPTION: &'static str = "Divides a by b in decimal and gives up to 34 significant digits. \
        Use it for every quotient instead of computing in your head.";
    const ALIASES: &'static [&'static str] = &["div", "division", "quotient"];
    const IDEMPOTENT: bool = true;

    async fn call(&self, Args { a, b }: Args) -> Result<ToolOutput, ToolError> {
        if b.is_zero() {
            return Err(ToolError::invalid("b", DecimalError::DivisionByZero));
        }
        let quotient = a.checked_div(&b).map_err(DecimalError::of_result)?;
        Ok(ToolOutput::text(quotient.to_string()))
    }
}
