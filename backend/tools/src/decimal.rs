//! Exact decimal numbers as tool arguments: parses them from the text that the model wrote, computes with them and
//! formats them. Used by `add`, `subtract`, `multiply`, `divide` and `convert_units`. Nothing here uses floating point.

use std::{borrow::Cow, num::NonZeroU64, str::FromStr};

use bigdecimal::{
    BigDecimal, One, RoundingMode, Zero,
    num_bigint::{BigInt, Sign},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::value::RawValue;

use super::{
    ToolError,
    notation::{plain, shortened},
};

/// Maximum number of significant digits of an operand or a result.
const MAX_DIGITS: usize = 1_000;
/// Maximum absolute value of the exponent of an operand or a result. Absolute values other than 0 are at least 10^-1000
/// and below 10^1001.
const MAX_EXPONENT: i64 = 1_000;
/// Number of significant digits of a quotient, as in IEEE 754 decimal128.
const QUOTIENT_DIGITS: u64 = 34;

/// Maximum length of a number's text, in characters. Every number within the limits fits in plain notation.
const MAX_TEXT: usize = 2 * MAX_DIGITS + 100;

/// A finite decimal number within [`MAX_DIGITS`] and [`MAX_EXPONENT`], without trailing zeros. Every result can be the
/// operand of the next call.
///
/// As an argument, it is a JSON number or a string that contains one. It is never converted to `f64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decimal(BigDecimal);

/// Error of parsing or computing a [`Decimal`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DecimalError {
    /// The text is not a number.
    #[error("{0:?} is not a number; write digits such as -12.5 or 1e-20, without separators or units")]
    NotANumber(String),
    /// NaN or an infinity.
    #[error("{0:?} is not a finite number")]
    NotFinite(String),
    /// The text is longer than any number within the limits needs to be.
    #[error("longer than {MAX_TEXT} characters")]
    TooLong,
    /// The number has more than [`MAX_DIGITS`] significant digits.
    #[error("more than {MAX_DIGITS} significant digits")]
    TooManyDigits,
    /// The exponent is beyond [`MAX_EXPONENT`].
    #[error("too large or too small: the exponent must lie between -{MAX_EXPONENT} and {MAX_EXPONENT}")]
    ExponentOutOfRange,
    /// The divisor is 0.
    #[error("division by zero")]
    DivisionByZero,
}

impl DecimalError {
    /// Returns the error of a call whose operands are valid but whose result is not.
    pub(crate) fn of_result(self) -> ToolError {
        ToolError::other("result_out_of_range", format!("the result has no exact decimal form here: {self}"))
    }
}

impl Decimal {
    /// Returns `true` if this is zero.
    pub(crate) fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// Creates the number 1.
    pub(crate) fn one() -> Self {
        Self(BigDecimal::one())
    }

    /// Returns `true` if this is below zero.
    pub(crate) fn is_negative(&self) -> bool {
        self.0.sign() == Sign::Minus
    }

    /// Returns the number with the other sign.
    pub(crate) fn negated(&self) -> Self {
        Self(-&self.0)
    }

    /// Returns the number rounded to `digits` significant digits, ties to even.
    pub(crate) fn rounded(&self, digits: u64) -> Result<Self, DecimalError> {
        let digits = NonZeroU64::new(digits).ok_or(DecimalError::TooManyDigits)?;
        Self::bounded(&self.0.with_precision_round(digits, RoundingMode::HalfEven))
    }

    /// Returns the exact sum. Fails if it is beyond the limits.
    pub(crate) fn checked_add(&self, other: &Self) -> Result<Self, DecimalError> {
        Self::bounded(&(&self.0 + &other.0))
    }

    /// Returns the exact difference. Fails if it is beyond the limits.
    pub(crate) fn checked_sub(&self, other: &Self) -> Result<Self, DecimalError> {
        Self::bounded(&(&self.0 - &other.0))
    }

    /// Returns the exact product. Fails if it is beyond the limits.
    pub(crate) fn checked_mul(&self, other: &Self) -> Result<Self, DecimalError> {
        Self::bounded(&(&self.0 * &other.0))
    }

    /// Returns the quotient, correctly rounded to [`QUOTIENT_DIGITS`] significant digits, ties to even. Fails with
    /// [`DecimalError::DivisionByZero`], or if the quotient is beyond the limits.
    pub(crate) fn checked_div(&self, other: &Self) -> Result<Self, DecimalError> {
        if other.is_zero() {
            return Err(DecimalError::DivisionByZero);
        }
        let (numerator, numerator_scale) = self.0.as_bigint_and_exponent();
        let (denominator, denominator_scale) = other.0.as_bigint_and_exponent();
        // The shift gives the integer quotient at least two digits more than are kept. If the division leaves a
        // remainder, one more digit records that. Rounding once from there gives the same result as rounding the true
        // quotient.
        let shift = (QUOTIENT_DIGITS + 2 + other.0.digits()).saturating_sub(self.0.digits());
        let shifted = numerator * ten_to(shift);
        let remainder = &shifted % &denominator;
        let sticky = match remainder.sign() {
            Sign::NoSign => 0,
            Sign::Plus | Sign::Minus if shifted.sign() == denominator.sign() => 1,
            Sign::Plus | Sign::Minus => -1,
        };
        let quotient = shifted / denominator * 10 + sticky;
        let scale = numerator_scale - denominator_scale + i64::try_from(shift).unwrap_or(i64::MAX - 1) + 1;
        Self(BigDecimal::new(quotient, scale)).rounded(QUOTIENT_DIGITS)
    }

    fn bounded(value: &BigDecimal) -> Result<Self, DecimalError> {
        let value = value.normalized();
        if value.is_zero() {
            return Ok(Self(BigDecimal::zero()));
        }
        let digits = value.digits();
        if digits > MAX_DIGITS as u64 {
            return Err(DecimalError::TooManyDigits);
        }
        let exponent = i64::try_from(digits).unwrap_or(i64::MAX) - 1 - value.fractional_digit_count();
        if exponent.abs() > MAX_EXPONENT {
            return Err(DecimalError::ExponentOutOfRange);
        }
        Ok(Self(value))
    }
}

fn ten_to(exponent: u64) -> BigInt {
    BigInt::from(10).pow(u32::try_from(exponent).unwrap_or(u32::MAX))
}

impl FromStr for Decimal {
    type Err = DecimalError;

    /// Parses for example `-12.5`, `.5`, `1E-20`, `１２．５`. The limits are checked on the text, before any arithmetic.
    fn from_str(text: &str) -> Result<Self, DecimalError> {
        let not_a_number = || DecimalError::NotANumber(shortened(text));
        let text = text.trim();
        if text.chars().nth(MAX_TEXT).is_some() {
            return Err(DecimalError::TooLong);
        }
        let ascii = text.chars().map(plain).collect::<String>().to_ascii_lowercase();
        let (negative, unsigned) = match ascii.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, ascii.strip_prefix('+').unwrap_or(&ascii)),
        };
        if matches!(unsigned, "nan" | "inf" | "infinity" | "∞") {
            return Err(DecimalError::NotFinite(shortened(text)));
        }
        let (mantissa, exponent) = unsigned.split_once('e').unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let exponent_digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if !is_digits(&digits) || !is_digits(exponent_digits) {
            return Err(not_a_number());
        }
        let significant = digits.trim_matches('0');
        if significant.is_empty() {
            return Ok(Self(BigDecimal::zero()));
        }
        if significant.len() > MAX_DIGITS {
            return Err(DecimalError::TooManyDigits);
        }
        // Nine digits fit into an i64, with room for the shifts below. A larger exponent is out of range anyway: the
        // mantissa of a text within `MAX_TEXT` is too short to compensate for it.
        if exponent_digits.trim_start_matches('0').len() > 9 {
            return Err(DecimalError::ExponentOutOfRange);
        }
        let exponent: i64 = exponent.parse().map_err(|_| not_a_number())?;
        let leading = digits.len() - digits.trim_start_matches('0').len();
        let scientific = exponent + signed(whole.len()) - signed(leading) - 1;
        if scientific.abs() > MAX_EXPONENT {
            return Err(DecimalError::ExponentOutOfRange);
        }
        let integer = BigInt::parse_bytes(significant.as_bytes(), 10).ok_or_else(not_a_number)?;
        let value = BigDecimal::new(integer, signed(significant.len()) - 1 - scientific);
        Ok(Self(if negative { -value } else { value }))
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Converts a length. Lengths here are bounded by [`MAX_TEXT`], so the conversion never saturates.
fn signed(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

impl std::fmt::Display for Decimal {
    /// Writes plain notation. Writes scientific notation below 1e-6 and for more than 21 trailing zeros, similar to
    /// JavaScript.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (integer, scale) = self.0.as_bigint_and_exponent();
        let sign = if integer.sign() == Sign::Minus { "-" } else { "" };
        let digits = integer.magnitude().to_string();
        let scientific = signed(digits.len()) - 1 - scale;
        if !self.is_zero() && (scientific < -6 || scale < -21) {
            let (first, rest) = digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            return write!(f, "{sign}{first}{point}{rest}e{scientific}");
        }
        match usize::try_from(scale) {
            Err(_) => write!(f, "{sign}{digits}{:0<1$}", "", usize::try_from(-scale).unwrap_or(0)),
            Ok(0) => write!(f, "{sign}{digits}"),
            Ok(places) if places < digits.len() => {
                let (whole, fraction) = digits.split_at(digits.len() - places);
                write!(f, "{sign}{whole}.{fraction}")
            }
            Ok(places) => write!(f, "{sign}0.{digits:0>places$}"),
        }
    }
}

impl<'de> Deserialize<'de> for Decimal {
    /// Works only with the deserializer of `serde_json`, since only it keeps the text of a number.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let json = raw.get();
        let found = match json.as_bytes().first() {
            Some(b'"') => {
                let text: Cow<'_, str> = serde_json::from_str(json).map_err(D::Error::custom)?;
                return text.parse().map_err(D::Error::custom);
            }
            Some(b'-' | b'0'..=b'9') => return json.parse().map_err(D::Error::custom),
            Some(b't' | b'f') => "a boolean",
            Some(b'[') => "a list",
            Some(b'{') => "an object",
            _ => "null",
        };
        Err(D::Error::custom(format_args!("expected a number or a string that holds one, found {found}")))
    }
}

impl JsonSchema for Decimal {
    fn schema_name() -> Cow<'static, str> {
        "Decimal".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // Some providers support `anyOf` but not a list of types.
        json_schema!({ "anyOf": [{ "type": "number" }, { "type": "string", "description": "A number as text, to keep every digit of it" }] })
    }
}
