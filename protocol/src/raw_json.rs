//! JSON that is carried as the text somebody wrote, so that 60-digit numbers and key order survive the journey.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// How deep a value may nest on the wire: many JSON readers take little more.
const MAX_DEPTH: usize = 100;

/// One JSON value, kept as its text. Equality is equality of the text.
///
/// `serde_json::Value` would round `0.1000000000000000000001` and reorder keys; a tool history that can be trusted must
/// show exactly what the model wrote.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = Value))]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// `text` as it is when it is valid JSON of at most 100 levels, otherwise as one JSON string that holds it.
    ///
    /// The checks are iterative: a text of any depth is examined without using the stack.
    pub fn from_text(text: &str) -> Self {
        if json_depth(text) > MAX_DEPTH {
            return Self::string(text);
        }
        serde_json::from_str(text).map_or_else(|_| Self::string(text), Self)
    }

    /// A JSON string that holds `text`.
    pub fn string(text: &str) -> Self {
        // Serialising a `str` cannot fail; `null` keeps this total without a panic.
        Self(serde_json::value::to_raw_value(text).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

/// How deep the brackets of a JSON text nest. Those inside strings count too, which errs on the safe side.
pub fn json_depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0usize);
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RawJson {}

#[cfg(test)]
mod tests {
    use super::RawJson;

    #[test]
    fn numbers_and_key_order_survive() {
        let text = r#"{"b":0.1000000000000000000001,"a":123456789012345678901234567890}"#;
        let json = RawJson::from_text(text);
        assert_eq!(json.as_str(), text);
        assert_eq!(serde_json::to_string(&json).unwrap(), text);
    }

    #[test]
    fn what_is_not_json_becomes_a_string() {
        assert_eq!(RawJson::from_text("{\"a\":").as_str(), r#""{\"a\":""#);
    }

    #[test]
    fn what_nests_too_deep_becomes_a_string() {
        let nested = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(RawJson::from_text(&nested(100)).as_str(), nested(100));
        assert_eq!(RawJson::from_text(&nested(100_000)).as_str(), format!("\"{}\"", nested(100_000)));
    }
}
