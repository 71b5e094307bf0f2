//! The tool `multiply`.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Tool, ToolError, ToolOutput,
    decimal::{Decimal, DecimalError},
};

/// Exact multiplication.
pub(crate) struct Multiply;

/// Arguments of `multiply`. A third operand is refused, since ignoring it would give a wrong result.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The first factor.
    a: Decimal,
    /// The second factor.
    b: Decimal,
}

impl Tool for Multiply {
    type Args = Args;

    const NAME: &'static str = "multiply";
    const DESCRIPTION: &'static str = "Multiplies two numbers exactly, in decimal, with every digit of the product. \
        Use it for every product instead of computing in your head.";
    const ALIASES: &'static [&'static str] = &["mul", "times", "product", "multiplication"];
    const IDEMPOTENT: bool = true;

    async fn call(&self, Args { a, b }: Args) -> Result<ToolOutput, ToolError> {
        let product = a.checked_mul(&b).map_err(DecimalError::of_result)?;
        Ok(ToolOutput::text(product.to_string()))
    }
}
