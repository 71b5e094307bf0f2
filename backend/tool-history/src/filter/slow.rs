//! Durations of calls in a filter: `>5s`, `<200ms`.

use std::fmt;

/// Maximum duration, in milliseconds: about eleven and a half days.
const MAX_MS: i64 = 1_000_000_000;

/// Units with their length in milliseconds, the longest first.
const UNITS: [(&str, i64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// A bound on the duration of a call, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slow {
    /// Longer than this.
    Longer(i64),
    /// Shorter than this.
    Shorter(i64),
}

impl Slow {
    /// Parses `>5s`, `<200ms`, `>1.5m`. Without a sign, `>` is assumed. Returns `None` if the text is invalid, or if
    /// the duration exceeds `MAX_MS`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (make, rest): (fn(i64) -> Self, _) = match text.strip_prefix('<') {
            Some(rest) => (Self::Shorter, rest),
            None => (Self::Longer, text.strip_prefix('>').unwrap_or(text)),
        };
        // Tries `ms` before `s`, because a text that ends in `ms` also ends in `s`.
        let (number, (_, unit_ms)) =
            UNITS.iter().rev().find_map(|unit| rest.strip_suffix(unit.0).map(|number| (number, unit)))?;
        let (whole, fraction) = number.split_once('.').map_or((number, None), |(whole, part)| (whole, Some(part)));
        let mut ms = digits(whole)?.checked_mul(*unit_ms)?;
        if let Some(fraction) = fraction {
            let (part, scale) = (digits(fraction)?, 10_i64.pow(u32::try_from(fraction.len()).ok()?));
            let scaled = part * unit_ms;
            if scaled % scale != 0 {
                return None;
            }
            ms += scaled / scale;
        }
        (ms <= MAX_MS).then(|| make(ms))
    }

    /// Returns the bound in milliseconds.
    pub const fn ms(self) -> i64 {
        match self {
            Self::Longer(ms) | Self::Shorter(ms) => ms,
        }
    }
}

/// Parses one to ten digits.
fn digits(text: &str) -> Option<i64> {
    let is_number = (1..=10).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.ms();
        let sign = if matches!(self, Self::Longer(_)) { '>' } else { '<' };
        let fits = |(_, unit_ms): &&(&str, i64)| ms % unit_ms == 0 && ms > 0;
        let (unit, unit_ms) = UNITS.iter().find(fits).unwrap_or(&("ms", 1));
        write!(f, "{sign}{}{unit}", ms / unit_ms)
    }
}
