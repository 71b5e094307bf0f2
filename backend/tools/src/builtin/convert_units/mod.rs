//! The tool `convert_units`. `table` lists every unit that it accepts, `names` finds units by name, `expression` reads
//! compound units, and `fraction` computes without rounding.

mod dimension;
mod expression;
mod fraction;
mod names;
mod table;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Tool, ToolError, ToolOutput,
    builtin::convert_units::{
        dimension::{ANGULAR_SPEED, Dimension, FREQUENCY, TEMPERATURE},
        expression::Expression,
        fraction::Fraction,
    },
    decimal::{Decimal, DecimalError},
};

#[cfg(test)]
pub(crate) use names::accepted_names;

/// Converts a quantity from one unit to another.
pub(crate) struct ConvertUnits;

/// Arguments of `convert_units`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The amount, for example 26.2.
    value: Decimal,
    /// The unit that the value is in, for example "miles", "°F", "km/h", "square feet", "kg m^2".
    from: String,
    /// The unit to convert to, for example "km".
    to: String,
}

impl Tool for ConvertUnits {
    type Args = Args;

    const NAME: &'static str = "convert_units";
    const DESCRIPTION: &'static str = "Converts a quantity from one unit to another, exactly or to 15 significant \
        digits: length, area, volume, mass, temperature, time, speed, force, energy, power, pressure, angle, \
        frequency, fuel economy, data, current, voltage and compounds such as km/h. Name units in English or by \
        symbol; capitals matter in symbols (mW, MW). Gallons, cups and the like are US ones unless you write \
        \"imperial\". It knows no exchange rates.";
    const ALIASES: &'static [&'static str] = &["convert", "unit_converter", "unit_conversion"];
    const IDEMPOTENT: bool = true;

    async fn call(&self, Args { value, from, to }: Args) -> Result<ToolOutput, ToolError> {
        let from = Expression::parse("from", &from)?;
        let to = Expression::parse("to", &to)?;
        convert(&value, &from, &to).map(ToolOutput::text)
    }
}

/// Returns for example `26.2 miles = 42.1648128 km`, with `≈` if the result is rounded.
fn convert(value: &Decimal, from: &Expression, to: &Expression) -> Result<String, ToolError> {
    let Some(bridge) = bridge(from.dimension, to.dimension) else {
        let message = format!(
            "cannot convert {:?} to {:?}: the units are incompatible, {} and {} in base units",
            from.text, to.text, from.dimension, to.dimension
        );
        return Err(ToolError::other("conversion_failed", message));
    };
    let failed = |error| match error {
        DecimalError::DivisionByZero => {
            ToolError::invalid("value", format_args!("0 {} has no counterpart in {}", from.text, to.text))
        }
        error => error.of_result(),
    };
    let in_base_units = from.quantity(value).map_err(failed)?;
    if from.dimension == TEMPERATURE && in_base_units.is_negative() {
        return Err(ToolError::invalid("value", format_args!("{value} {} is below absolute zero", from.text)));
    }
    let result = in_base_units.times(&bridge).and_then(|bridged| to.number(&bridged));
    let (result, is_exact) = result.and_then(|fraction| fraction.value()).map_err(failed)?;
    let sign = if is_exact { "=" } else { "≈" };
    Ok(format!("{value} {from} {sign} {result} {to}"))
}

/// Returns the factor between the base units of two dimensions. One event per second counts as one turn per second, so
/// rpm and Hz convert to rad/s.
fn bridge(from: Dimension, to: Dimension) -> Option<Fraction> {
    match (from, to) {
        (FREQUENCY, ANGULAR_SPEED) => Fraction::parse("2*π").ok(),
        (ANGULAR_SPEED, FREQUENCY) => Fraction::parse("1/2/π").ok(),
        _ => (from == to).then(Fraction::one),
    }
}
