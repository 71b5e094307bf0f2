//! Unrounded intermediate results: a fraction of two decimals, times a power of π.

use crate::decimal::{Decimal, DecimalError};

/// Significant digits of a rounded result.
const ROUNDED_DIGITS: u64 = 15;
/// π to more digits than a quotient has.
const PI: &str = "3.1415926535897932384626433832795028841971694";

/// `numerator / denominator * π^pi`; the denominator is positive.
#[derive(Clone, Debug)]
pub(crate) struct Fraction {
    numerator: Decimal,
    denominator: Decimal,
    pi: i32,
}

impl Fraction {
    /// Creates the fraction 1.
    pub(crate) fn one() -> Self {
        Self::from(Decimal::one())
    }

    /// Reads a product and quotient such as `1852/3600` or `2*π`, from left to right.
    pub(crate) fn parse(text: &str) -> Result<Self, DecimalError> {
        let mut result = Self::one();
        for (index, divisors) in text.split('/').enumerate() {
            for (position, factor) in divisors.split('*').enumerate() {
                let factor = match factor {
                    "π" => Self { pi: 1, ..Self::one() },
                    number => Self::from(number.parse::<Decimal>()?),
                };
                let divides = index > 0 && position == 0;
                result = result.times(&if divides { factor.inverse()? } else { factor })?;
            }
        }
        Ok(result)
    }

    /// Returns `true` if the value is below 0.
    pub(crate) fn is_negative(&self) -> bool {
        self.numerator.is_negative()
    }

    /// Returns the product.
    pub(crate) fn times(&self, other: &Self) -> Result<Self, DecimalError> {
        Ok(Self {
            numerator: self.numerator.checked_mul(&other.numerator)?,
            denominator: self.denominator.checked_mul(&other.denominator)?,
            pi: self.pi + other.pi,
        })
    }

    /// Returns `self^exponent`.
    pub(crate) fn power(&self, exponent: i32) -> Result<Self, DecimalError> {
        let base = if exponent < 0 { self.inverse()? } else { self.clone() };
        (0..exponent.unsigned_abs()).try_fold(Self::one(), |product, _| product.times(&base))
    }

    /// Returns `1 / self`.
    pub(crate) fn inverse(&self) -> Result<Self, DecimalError> {
        if self.numerator.is_zero() {
            return Err(DecimalError::DivisionByZero);
        }
        let (numerator, denominator) = if self.is_negative() {
            (self.denominator.negated(), self.numerator.negated())
        } else {
            (self.denominator.clone(), self.numerator.clone())
        };
        Ok(Self { numerator, denominator, pi: -self.pi })
    }

    /// Returns `self - other`, for a fraction without π.
    pub(crate) fn minus(&self, other: &Decimal) -> Result<Self, DecimalError> {
        let subtrahend = other.checked_mul(&self.denominator)?;
        Ok(Self { numerator: self.numerator.checked_sub(&subtrahend)?, ..self.clone() })
    }

    /// Returns the value, and `true` if it is exact. Otherwise the value is rounded to [`ROUNDED_DIGITS`].
    pub(crate) fn value(&self) -> Result<(Decimal, bool), DecimalError> {
        let (mut numerator, mut denominator) = (self.numerator.clone(), self.denominator.clone());
        let pi: Decimal = PI.parse()?;
        for _ in 0..self.pi.unsigned_abs() {
            let multiplied = if self.pi > 0 { &mut numerator } else { &mut denominator };
            *multiplied = multiplied.checked_mul(&pi)?;
        }
        let has_pi = self.pi != 0 && !numerator.is_zero();
        // A denominator such as 1000 or 8 keeps every digit of a numerator that is longer than a quotient.
        let inverse = Decimal::one().checked_div(&denominator)?;
        let (value, is_exact) = if inverse.checked_mul(&denominator)? == Decimal::one() {
            (numerator.checked_mul(&inverse)?, true)
        } else {
            let quotient = numerator.checked_div(&denominator)?;
            let is_exact = quotient.checked_mul(&denominator)? == numerator;
            (quotient, is_exact)
        };
        if is_exact && !has_pi { Ok((value, true)) } else { Ok((value.rounded(ROUNDED_DIGITS)?, false)) }
    }
}

impl From<Decimal> for Fraction {
    fn from(numerator: Decimal) -> Self {
        Self { numerator, denominator: Decimal::one(), pi: 0 }
    }
}
