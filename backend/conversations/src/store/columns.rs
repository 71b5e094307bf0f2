//! Fits values to their columns. A model may write names, IDs and arguments of any length and shape, and none of them
//! may keep a turn from being stored.

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use tallybook_protocol::{RawJson, first_bytes, first_chars, json_depth};

/// Maximum length of `tool_calls.tool_name`, in characters.
pub(crate) const MAX_TOOL_NAME_CHARS: usize = 100;

/// Maximum length of `tool_calls.tool_call_id`, in characters.
const MAX_PROVIDER_ID_CHARS: usize = 255;

/// Maximum length of `tool_calls.error_type`, of `stop_reason`, and of a provider's name, in characters.
pub(crate) const MAX_WORD_CHARS: usize = 64;

/// Maximum length of `model_calls.model`, in characters.
pub(crate) const MAX_MODEL_CHARS: usize = 190;

/// Maximum length of an object key in a JSON value in MySQL, in bytes (MySQL stores the length in 16 bits).
const MAX_JSON_KEY_BYTES: usize = 65_535;

/// Maximum nesting depth of a JSON value in MariaDB.
const MAX_JSON_LEVELS: usize = 31;

/// Maximum size of arguments that the `input` column holds as JSON, in bytes. Longer arguments are complete only in
/// `input_text`, so that one row fits into one statement.
const MAX_JSON_BYTES: usize = 1024 * 1024;

/// Returns the value of the `input` column. This is the text itself if every engine can read it as JSON, and otherwise
/// a JSON string with the text, or with its beginning. MariaDB accepts 31 levels. MySQL accepts no key above 65,535
/// bytes, no number beyond a double, and no unpaired surrogate; serde has the last two limits as well.
pub(crate) fn json_column(text: &str) -> RawJson {
    if text.len() > MAX_JSON_BYTES {
        return RawJson::string(first_bytes(text, MAX_JSON_BYTES));
    }
    let readable = json_depth(text) <= MAX_JSON_LEVELS && serde_json::from_str::<ShortKeys>(text).is_ok();
    if readable { RawJson::from_text(text) } else { RawJson::string(text) }
}

/// Returns a provider's call ID, truncated to its column.
pub(crate) fn stored_id(id: &str) -> &str {
    first_chars(id, MAX_PROVIDER_ID_CHARS)
}

/// Returns an error type, truncated to its column.
pub(crate) fn stored_error_type(word: &str) -> &str {
    first_chars(word, MAX_WORD_CHARS)
}

/// Validates a JSON value without keeping it: its numbers are doubles, its strings are Unicode, and its keys are short.
struct ShortKeys;

impl<'de> serde::Deserialize<'de> for ShortKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShortKeysVisitor)
    }
}

struct ShortKeysVisitor;

impl<'de> Visitor<'de> for ShortKeysVisitor {
    type Value = ShortKeys;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON that every database stores")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ShortKeys, A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key.len() > MAX_JSON_KEY_BYTES {
                return Err(serde::de::Error::custom("a key is too long"));
            }
            map.next_value::<ShortKeys>()?;
        }
        Ok(ShortKeys)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ShortKeys, A::Error> {
        while seq.next_element::<ShortKeys>()?.is_some() {}
        Ok(ShortKeys)
    }

    fn visit_unit<E>(self) -> Result<ShortKeys, E> {
        Ok(ShortKeys)
    }

    fn visit_bool<E>(self, _: bool) -> Result<ShortKeys, E> {
        Ok(ShortKeys)
    }

    fn visit_i64<E>(self, _: i64) -> Result<ShortKeys, E> {
        Ok(ShortKeys)
    }

    fn visit_u64<E>(self, _: u64) -> Result<ShortKeys, E> {
        Ok(ShortKeys)
    }

    fn visit_f64<E>(self, _: f64) -> Result<ShortKeys, E> {
        Ok(ShortKeys)
    }

    fn visit_str<E>(self, _: &str) -> Result<ShortKeys, E> {
        Ok(ShortKeys)
    }
}

#[cfg(test)]
mod tests {
    use crate::store::columns::{MAX_JSON_BYTES, MAX_JSON_KEY_BYTES, json_column};

    #[test]
    fn json_that_a_database_would_refuse_becomes_a_string() {
        let nested = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let key = |bytes| format!(r#"{{"a":[{{"{}":1}}]}}"#, "k".repeat(bytes));
        for text in [r#"{"a": [1, -2.5e3, null, true, "x"]}"#.to_owned(), nested(31), key(MAX_JSON_KEY_BYTES)] {
            assert_eq!(json_column(&text).as_str(), text);
        }
        for text in [nested(32), key(MAX_JSON_KEY_BYTES + 1), "[1e999]".to_owned(), r#"["\ud83d"]"#.to_owned()] {
            let string: String = serde_json::from_str(json_column(&text).as_str()).unwrap();
            assert_eq!(string, text);
        }
        let long = format!(r#"{{"a":"{}"}}"#, "計".repeat(MAX_JSON_BYTES));
        let string: String = serde_json::from_str(json_column(&long).as_str()).unwrap();
        assert!(long.starts_with(&string) && string.len() > MAX_JSON_BYTES - 4);
    }
}
