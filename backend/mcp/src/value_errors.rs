//! Converts serde's messages about values that do not fit into plain language. The results of this conversion never
//! repeat the value, which may be a secret.

use std::fmt;

/// Reason why a value in a settings file cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub enum ValueError<'a> {
    /// The value has another type.
    WrongType {
        /// Name that serde gives the expected type.
        expected: &'a str,
        /// Plain name of the found type.
        found: &'static str,
    },
    /// The table has a key that no setting has.
    UnknownKey {
        /// The key.
        key: &'a str,
        /// The keys that the table may have.
        known: Vec<&'a str>,
    },
    /// The value is not one of the allowed words.
    UnknownWord {
        /// The word.
        word: &'a str,
        /// The allowed words.
        known: Vec<&'a str>,
    },
    /// A key is missing.
    Missing {
        /// The key.
        key: &'a str,
    },
    /// A key occurs twice.
    Twice {
        /// The key.
        key: &'a str,
    },
    /// Anything else, in the parser's words.
    Other(&'a str),
}

impl<'a> ValueError<'a> {
    /// Parses a message of serde.
    pub fn parse(message: &'a str) -> Self {
        let message = without_place(message);
        let mut names = message.split('`').skip(1).step_by(2);
        if let Some(rest) = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: ")) {
            // The found value may contain any text, so this splits at the last `, expected `.
            if let Some((found, expected)) = rest.rsplit_once(", expected ") {
                let found =
                    if message.starts_with("invalid value: integer") { "out of range" } else { found_type(found) };
                return Self::WrongType { expected, found };
            }
        }
        let listed = |names: std::iter::StepBy<std::iter::Skip<std::str::Split<'a, char>>>| names.collect();
        if message.starts_with("wanted string or table") {
            return Self::WrongType { expected: "a string", found: "something else" };
        }
        match (message.split('`').next().unwrap_or_default(), names.next()) {
            ("unknown field ", Some(key)) => Self::UnknownKey { key, known: listed(names) },
            ("unknown variant ", Some(word)) => Self::UnknownWord { word, known: listed(names) },
            ("missing field ", Some(key)) => Self::Missing { key },
            ("duplicate field ", Some(key)) => Self::Twice { key },
            _ => Self::Other(message),
        }
    }
}

/// Returns a message without the line and column that `serde_json` adds.
pub(crate) fn without_place(message: &str) -> &str {
    message.rsplit_once(" at line ").map_or(message, |(message, _)| message)
}

/// Returns the type that serde says it found.
fn found_type(found: &str) -> &'static str {
    let kinds = [
        ("string", "text"),
        ("integer", "a whole number"),
        ("floating point", "a number with a fraction"),
        ("boolean", "true or false"),
        ("sequence", "a list"),
        ("map", "a table"),
        ("null", "null"),
    ];
    kinds.iter().find(|(kind, _)| found.starts_with(kind)).map_or("something else", |(_, text)| text)
}

/// Returns the plain-language form of serde's name of a type.
fn expected_type(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" | "str" | "string or table" => "text in quotes",
        "a boolean" | "bool" => "true or false",
        "a sequence" => "a list in brackets",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}

impl fmt::Display for ValueError<'_> {
    /// Writes the rest of a sentence that begins with the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongType { expected, found } => {
                write!(f, "must be {}, but is {found}.", expected_type(expected))
            }
            Self::UnknownKey { known, .. } if known.is_empty() => f.write_str("is not a setting."),
            Self::UnknownKey { known, .. } => write!(f, "is not a setting. Valid keys: {}.", quoted(known)),
            Self::UnknownWord { known, .. } => write!(f, "must be one of: {}.", known.join(", ")),
            Self::Missing { .. } => f.write_str("is missing."),
            Self::Twice { .. } => f.write_str("occurs twice. Keep one of the two."),
            Self::Other(message) => write!(f, "cannot be read: {message}."),
        }
    }
}

fn quoted(keys: &[&str]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::ValueError;

    #[test]
    fn messages_are_plain_and_omit_the_value() {
        for (message, text) in [
            (
                "invalid type: string \"many, expected u8\", expected u32",
                "must be a whole number that is not negative, but is text.",
            ),
            (
                "invalid value: integer `-1`, expected usize",
                "must be a whole number that is not negative, but is out of range.",
            ),
            (
                "invalid type: integer `5`, expected a string at line 1 column 3",
                "must be text in quotes, but is a whole number.",
            ),
            ("invalid type: map, expected a sequence", "must be a list in brackets, but is a table."),
            ("invalid type: boolean `true`, expected struct OAuthSettings", "must be a table, but is true or false."),
            ("unknown field `x`, expected `a` or `b`", "is not a setting. Valid keys: `a`, `b`."),
            ("unknown field `x`, there are no fields", "is not a setting."),
            ("unknown variant `hunter2`, expected one of `a`, `b`, `c`", "must be one of: a, b, c."),
            ("missing field `name`", "is missing."),
            ("duplicate field `name`", "occurs twice. Keep one of the two."),
            ("out of paper", "cannot be read: out of paper."),
        ] {
            assert_eq!(ValueError::parse(message).to_string(), text, "{message}");
        }
    }
}
