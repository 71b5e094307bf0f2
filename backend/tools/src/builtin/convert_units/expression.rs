//! Parses the unit of a call: one name of the table, or products and quotients of such names with powers.

use std::fmt;

use unicode_normalization::UnicodeNormalization as _;

use crate::{
    ToolError,
    builtin::convert_units::{
        dimension::Dimension,
        fraction::Fraction,
        names::{Named, Unknown, find, not_found},
        table::Scale,
    },
    decimal::{Decimal, DecimalError},
    notation::{plain, shortened},
};

/// Maximum length of a unit, in characters.
const MAX_CHARS: usize = 60;
/// Maximum number of words in a unit's name, such as `inch of mercury`.
const MAX_NAME_WORDS: usize = 4;
/// Words for the country or system of a unit, such as `US gallon`, in lower case.
const KINDS: [&str; 6] = ["us", "uk", "imperial", "imp", "british", "metric"];
const INCOMPLETE: &str = "the expression lacks a unit; write one such as km, km/h or m^2";

/// A unit that a quantity can have.
pub(crate) struct Expression {
    /// Spelling in the call, with typographic characters replaced.
    pub(crate) text: String,
    /// Meaning of each ambiguous name in `text`, such as `US gallon`.
    notes: Vec<&'static str>,
    pub(crate) dimension: Dimension,
    scale: Scale,
    factor: Fraction,
}

impl Expression {
    /// Parses `text`. Errors name the argument `field`.
    pub(crate) fn parse(field: &str, text: &str) -> Result<Self, ToolError> {
        let invalid = |reason: String| ToolError::invalid(field, format_args!("{:?} {reason}", shortened(text)));
        if text.chars().nth(MAX_CHARS).is_some() {
            return Err(invalid(format!("is longer than {MAX_CHARS} characters")));
        }
        let written: String = text.trim().chars().map(plain).collect();
        if written.is_empty() || written.contains(char::is_control) {
            return Err(invalid("names no unit; write one such as km".to_owned()));
        }
        let factors = factors(&canonical(&written)).map_err(|reason| ToolError::invalid(field, reason))?;
        let mut expression = Self {
            text: written,
            notes: Vec::new(),
            dimension: Dimension::default(),
            scale: Scale::Ratio,
            factor: Fraction::one(),
        };
        for (named, exponent) in &factors {
            expression.multiply(named, *exponent).map_err(|error| invalid(format!("cannot be used: {error}")))?;
            if named.unit.scale != Scale::Ratio {
                if factors.len() > 1 || *exponent != 1 {
                    let reason = "combines a unit that takes no others, such as °C or L/100km; write K or km/L";
                    return Err(invalid(reason.to_owned()));
                }
                expression.scale = named.unit.scale;
            }
        }
        Ok(expression)
    }

    fn multiply(&mut self, named: &Named, exponent: i32) -> Result<(), DecimalError> {
        let factor = Fraction::parse(named.unit.factor)?.times(&Fraction::parse(named.prefix)?)?;
        self.factor = self.factor.times(&factor.power(exponent)?)?;
        self.dimension.times_power(named.unit.dimension, exponent);
        self.notes.extend(named.note.filter(|note| !self.notes.contains(note)));
        Ok(())
    }

    /// Returns the quantity of `value` times this unit, in base units.
    pub(crate) fn quantity(&self, value: &Decimal) -> Result<Fraction, DecimalError> {
        match self.scale {
            Scale::Ratio => Fraction::from(value.clone()).times(&self.factor),
            Scale::Offset(zero) => Fraction::from(value.checked_add(&zero.parse()?)?).times(&self.factor),
            Scale::Inverse => Fraction::from(value.clone()).times(&self.factor)?.inverse(),
        }
    }

    /// Returns the number of this unit in a quantity in base units.
    pub(crate) fn number(&self, quantity: &Fraction) -> Result<Fraction, DecimalError> {
        match self.scale {
            Scale::Ratio => quantity.times(&self.factor.inverse()?),
            Scale::Offset(zero) => quantity.times(&self.factor.inverse()?)?.minus(&zero.parse()?),
            Scale::Inverse => quantity.times(&self.factor)?.inverse(),
        }
    }
}

impl fmt::Display for Expression {
    /// Writes the spelling in the call, followed by its meaning if the name is ambiguous.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        if self.notes.is_empty() { Ok(()) } else { write!(f, " ({})", self.notes.join(", ")) }
    }
}

/// Returns `text` with one notation each for characters, powers, products, quotients and spaces.
fn canonical(text: &str) -> String {
    let text = compatible(text);
    let mut result = String::new();
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let before = result.chars().next_back();
        if let Some(letters) = abbreviation(rest).filter(|_| !before.is_some_and(char::is_alphanumeric)) {
            result.extend(rest[..letters].chars().filter(|c| *c != '.'));
            rest = &rest[letters..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        let next = rest.chars().next();
        match c {
            '\u{3bc}' => result.push('µ'),
            '*' if next == Some('*') => {
                result.push('^');
                rest = &rest[1..];
            }
            // A full stop before a letter is a separator: between symbols, as in `m.s-1`, or after an abbreviated word.
            '.' if before.is_some_and(char::is_alphanumeric) && next.is_some_and(char::is_alphabetic) => {
                result.push(' ');
            }
            '.' => {}
            '_' => result.push(' '),
            // A hyphen joins words. Before a digit, it is the sign of an exponent.
            '-' if next.is_some_and(|c| c.is_ascii_digit()) => result.push('-'),
            '-' if !result.ends_with('^') => result.push(' '),
            c => result.push(c),
        }
    }
    result.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Replaces characters that are other notations of one or several characters, such as `㎡`, `ℓ`, `²`, `⁻`, `₂` and `℃`.
fn compatible(text: &str) -> String {
    let signs = text.chars().map(|c| match c {
        // Characters that users type instead of the degree sign.
        'º' | '˚' => '°',
        '\u{2032}' | '’' => '\'',
        '\u{2033}' | '”' => '"',
        c => c,
    });
    signs.nfkc().map(plain).collect()
}

/// Returns the length of an abbreviation with a full stop after each letter, such as `m.p.h.` or `U.S.`. Returns `None`
/// if `text` does not start with one.
fn abbreviation(text: &str) -> Option<usize> {
    let is_pair = |pair: &&[u8]| matches!(pair, [letter, b'.'] if letter.is_ascii_alphabetic());
    let pairs = text.as_bytes().chunks_exact(2).take_while(is_pair).count();
    // The word must end after the abbreviation.
    let is_over = !text[2 * pairs..].starts_with(char::is_alphanumeric);
    (pairs > 1 && is_over).then_some(2 * pairs)
}

/// Returns the units of an expression with their exponents. The error is the reason for refusing it.
fn factors(text: &str) -> Result<Vec<(Named, i32)>, String> {
    let text = &without_brackets(text);
    // Names such as `pounds per square inch`, `lb*ft` and `L/100km` are looked up whole.
    let whole = text.replace('*', " ");
    match find(&whole) {
        Ok(named) => return Ok(vec![(named, 1)]),
        Err(Unknown::Refused(reason)) => return Err(reason),
        Err(Unknown::NotFound) => {}
    }
    let quotient = text.replace(" per ", "/");
    let mut factors = Vec::new();
    for (index, part) in quotient.split('/').map(str::trim).enumerate() {
        let sign = if index == 0 { 1 } else { -1 };
        let (part, is_grouped) = match part.strip_prefix('(').and_then(|part| part.strip_suffix(')')) {
            Some(inner) => (inner, true),
            None => (part, false),
        };
        if index == 0 && part == "1" && quotient != "1" {
            continue;
        }
        let found = product(part)?;
        if index > 0 && found.len() > 1 && !is_grouped {
            return Err(format!("{part:?} after a slash can be read in two ways; write ({part})"));
        }
        factors.extend(found.into_iter().map(|(named, exponent)| (named, sign * exponent)));
    }
    Ok(factors)
}

/// Removes the parentheses around countries and systems of units, as in `gallon (US)` and `miles per gallon
/// (imperial)`.
fn without_brackets(text: &str) -> String {
    let mut result = text.to_owned();
    for kind in KINDS {
        // The kinds are ASCII, so the positions are those of the text.
        while let Some(at) = result.to_ascii_lowercase().find(&format!("({kind})")) {
            let written = format!(" {} ", &result[at + 1..=at + kind.len()]);
            result.replace_range(at..at + kind.len() + 2, &written);
        }
    }
    result.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Parses multiplied units, such as `kg m^2` or `N*m`, and takes the longest name for each unit.
fn product(text: &str) -> Result<Vec<(Named, i32)>, String> {
    let mut factors = Vec::new();
    for part in text.split('*') {
        let words: Vec<&str> = part.split_whitespace().collect();
        if words.is_empty() {
            return Err(INCOMPLETE.to_owned());
        }
        let mut rest = words.as_slice();
        while let Some((first, after)) = rest.split_first() {
            let before = match first.to_lowercase().as_str() {
                "square" | "sq" => 2,
                "cubic" | "cu" => 3,
                _ => 1,
            };
            rest = if before == 1 { rest } else { after };
            let (named, exponent, words) = longest_name(rest)?;
            rest = &rest[words..];
            let after = match rest.first() {
                Some(&"squared") => 2,
                Some(&"cubed") => 3,
                _ => 1,
            };
            rest = if after == 1 { rest } else { &rest[1..] };
            factors.push((named, before * exponent * after));
        }
    }
    Ok(factors)
}

/// Returns the unit with the longest name at the beginning of `words`, its exponent, and the number of words.
fn longest_name(words: &[&str]) -> Result<(Named, i32, usize), String> {
    let longest = &words[..words.len().min(MAX_NAME_WORDS)];
    for count in (1..=longest.len()).rev() {
        let text = longest[..count].join(" ");
        let (name, exponent) = split_exponent(&text);
        match find(name) {
            Ok(named) => return Ok((named, exponent, count)),
            Err(Unknown::Refused(reason)) => return Err(reason),
            Err(Unknown::NotFound) => {}
        }
    }
    Err(if longest.is_empty() { INCOMPLETE.to_owned() } else { not_found(&longest.join(" ")) })
}

/// Splits `s^-2`, `s-2` or `s2` into name and exponent. An exponent has one digit, since more would take long to
/// compute.
fn split_exponent(text: &str) -> (&str, i32) {
    let name = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let Ok(exponent @ 1..=9) = text[name.len()..].parse::<i32>() else { return (text, 1) };
    let (name, exponent) = name.strip_suffix('-').map_or((name, exponent), |name| (name, -exponent));
    (name.strip_suffix('^').unwrap_or(name), exponent)
}
