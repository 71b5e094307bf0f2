//! JSON that keeps its original text, so that 60-digit numbers and the order of keys are preserved.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Maximum nesting depth of a value on the wire. Many JSON readers accept little more.
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
    /// Returns `text` unchanged if it is valid JSON with a [`json_depth`] of at most 100, otherwise one JSON string
    /// that contains it.
    ///
    /// The checks are iterative: they examine text of any depth without using the stack.
    pub fn from_text(text: &str) -> Self {
        if json_depth(text) > MAX_DEPTH {
            return Self::string(text);
        }
        serde_json::from_str(text).map_or_else(|_| Self::string(text), Self)
    }

    /// Returns a JSON string that contains `text`.
    pub fn string(text: &str) -> Self {
        // Serializing a `str` cannot fail. The fallback `null` avoids a panic.
        Self(serde_json::value::to_raw_value(text).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }

    /// Returns the JSON text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Returns the text that the model wrote, if this is the input of a tool call. Text that is not JSON, or that was
    /// truncated, is sent as one JSON string.
    pub fn written(&self) -> Cow<'_, str> {
        let json = self.as_str();
        let string = json.starts_with('"').then(|| serde_json::from_str::<String>(json).ok()).flatten();
        string.map_or(Cow::Borrowed(json), Cow::Owned)
    }
}

/// Returns the maximum nesting depth of arrays and objects in a JSON text. Brackets in strings do not count.
pub fn json_depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0usize);
    let (mut is_in_string, mut is_escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_in_string => is_escaped = true,
            b'"' => is_in_string = !is_in_string,
            _ if is_in_string => {}
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
    use super::{RawJson, json_depth};

    #[test]
    fn numbers_and_key_order_survive() {
        let text = r#"{"b":0.1000000000000000000001,"a":123456789012345678901234567890}"#;
        let json = RawJson::from_text(text);
        assert_eq!(json.as_str(), text);
        assert_eq!(serde_json::to_string(&json).unwrap(), text);
    }

    #[test]
    fn text_that_is_not_json_becomes_a_string() {
        assert_eq!(RawJson::from_text("{\"a\":").as_str(), r#""{\"a\":""#);
    }

    #[test]
    fn brackets_in_strings_do_not_count_as_depth() {
        for (text, depth) in [
            (r#"["]",["]",["]"]]]"#, 3),
            (r#"{"a":"[[[[","b":["\"[[",{}]}"#, 3),
            (r#"["\\",["x"]]"#, 2),
            (r#""[""#, 0),
            ("7", 0),
        ] {
            assert_eq!(json_depth(text), depth, "{text}");
        }
        let hidden = format!("{}1{}", r#"["]","#.repeat(200), "]".repeat(200));
        assert!(RawJson::from_text(&hidden).as_str().starts_with('"'), "it is nested too deeply");
    }

    #[test]
    fn json_that_is_nested_too_deeply_becomes_a_string() {
        let nested = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(RawJson::from_text(&nested(100)).as_str(), nested(100));
        assert_eq!(RawJson::from_text(&nested(100_000)).as_str(), format!("\"{}\"", nested(100_000)));
    }
}
