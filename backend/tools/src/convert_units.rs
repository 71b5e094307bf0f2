//! The tool `convert_units`: a quantity in another unit. `fend-core` knows the units and computes with fractions; what
//! it would also understand (expressions, functions, other bases) is kept from it here.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Tool, ToolError, ToolOutput,
    compute::compute,
    decimal::Decimal,
    notation::{plain, shortened, shortened_to},
};

/// The longest name of a unit.
const MAX_UNIT_CHARS: usize = 60;
/// The most significant digits of a result.
const RESULT_DIGITS: usize = 15;
/// A conversion takes microseconds; one that takes longer is something else.
const MAX_TIME: Duration = Duration::from_secs(1);
/// The longest reason quoted.
const MAX_REASON_CHARS: usize = 200;

/// Units that people write otherwise than `fend-core` does.
const SPELLINGS: [(&str, &str); 12] = [
    ("℃", "°C"),
    ("℉", "°F"),
    ("degC", "°C"),
    ("degF", "°F"),
    ("²", "^2"),
    ("³", "^3"),
    ("sq ", "square "),
    ("sqft", "square feet"),
    ("sqm", "square meters"),
    ("fluid ounce", "fluid_ounce"),
    ("fl oz", "floz"),
    ("fl. oz.", "floz"),
];

/// From one unit to another.
pub(super) struct ConvertUnits;

/// What `convert_units` takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// How much, for example 26.2.
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
        digits: length, area, volume, mass, temperature, time, speed, energy, power, pressure, data and more, also \
        compound units such as km/h. Units are named in English or by their symbols; cups, gallons and the like are \
        American. It knows no exchange rates.";
    const ALIASES: &'static [&'static str] = &["convert", "unit_converter", "unit_conversion"];
    const IDEMPOTENT: bool = true;

    async fn call(&self, Args { value, from, to }: Args) -> Result<ToolOutput, ToolError> {
        let from = unit("from", &from)?;
        let to = unit("to", &to)?;
        compute(move || convert(&value, &from, &to)).await.map(ToolOutput::text)
    }
}

/// A unit as `fend-core` writes it, and nothing that is more than a unit.
fn unit(field: &str, text: &str) -> Result<String, ToolError> {
    let invalid = |reason: &str| Err(ToolError::invalid(field, format_args!("{:?} {reason}", shortened(text))));
    if text.chars().nth(MAX_UNIT_CHARS).is_some() {
        return invalid(&format!("is longer than {MAX_UNIT_CHARS} characters"));
    }
    let mut unit = text.trim().to_owned();
    for (written, meant) in SPELLINGS {
        unit = unit.replace(written, meant);
    }
    let unit: String = unit.chars().map(plain).collect();
    if unit.is_empty() {
        return invalid("names no unit");
    }
    let mut before = ' ';
    for c in unit.chars() {
        let fits = match c {
            // An exponent is one digit: what is raised to thousands takes minutes to compute.
            '0'..='9' => matches!(before, '^' | '-'),
            '-' => before == '^',
            '^' => before.is_alphabetic(),
            c => {
                c.is_alphabetic() || matches!(c, ' ' | '/' | '*' | '°' | '_' | '%' | '\'' | '"' | '$' | '€' | '£' | '¥')
            }
        };
        if !fits {
            return invalid("is not a unit; write one such as km, °F, km/h or m^2");
        }
        before = c;
    }
    Ok(unit)
}

/// `26.2 miles = 42.1648128 km`; with `≈` where digits were left out.
fn convert(value: &Decimal, from: &str, to: &str) -> Result<String, ToolError> {
    // As quantities both must be units: `to hex` would name a way to write numbers.
    let question = format!("({value} {from}) to (1 {to}) to {RESULT_DIGITS} sf");
    let answer = fend_core::evaluate_with_interrupt(&question, &mut fend_core::Context::new(), &Until::new(MAX_TIME))
        .map_err(|reason| {
        let reason = shortened_to(&reason, MAX_REASON_CHARS);
        ToolError::other("conversion_failed", format!("cannot convert {from:?} to {to:?}: {reason}"))
    })?;
    let text = answer.get_main_result();
    let (sign, text) = text.strip_prefix("approx. ").map_or(("=", text), |text| ("≈", text));
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    // `Decimal` writes very large and very small numbers in the shorter way, and refuses what is none.
    let number: Decimal = number.parse().map_err(|_| {
        ToolError::other("conversion_failed", format!("{from:?} or {to:?} is not a unit that a quantity can have"))
    })?;
    Ok(format!("{value} {from} {sign} {number} {unit}").trim_end().to_owned())
}

/// Interrupts a computation that goes on for too long.
struct Until(Instant);

impl Until {
    fn new(time: Duration) -> Self {
        Self(Instant::now() + time)
    }
}

impl fend_core::Interrupt for Until {
    fn should_interrupt(&self) -> bool {
        Instant::now() >= self.0
    }
}
