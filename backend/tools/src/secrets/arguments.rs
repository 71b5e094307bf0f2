//! Redacts arguments that a tool's JSON Schema marks as secret, with `writeOnly` or `format: password`. The rest of the
//! arguments' text stays unchanged.

use std::{fmt, ops::Range};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use super::REDACTED;

/// Maximum depth of a search through schemas and values. Schemas from tool servers are less deep, at most 32 levels.
const MAX_DEPTH: usize = 40;
/// Maximum number of pairs of a schema and a value in a search. Only a malicious schema exceeds it.
const MAX_PAIRS: usize = 50_000;
/// Keywords of JSON Schema whose subschemas apply to the same value.
const COMBINED: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const CONDITIONAL: [&str; 3] = ["if", "then", "else"];

/// Redacted arguments, and the secrets that were in them.
#[derive(Clone, PartialEq, Eq)]
pub struct RedactedArguments {
    /// Text of the arguments with [`REDACTED`](super::REDACTED) in place of each secret.
    pub text: String,
    /// The secret values, for redacting them in the tool's output.
    pub values: Vec<String>,
}

/// Redacts the arguments that the schema marks as secret. Returns `None` if they contain no secret. Arguments that
/// cannot be read are redacted completely, since any part of them may be secret.
pub fn redact_arguments(schema: &Value, input_text: &str) -> Option<RedactedArguments> {
    if !marks_secrets(schema) {
        return None;
    }
    let mut search = Search { root: schema, text: input_text, found: Vec::new(), pairs: MAX_PAIRS };
    let is_read = serde_json::from_str::<&RawValue>(input_text)
        .is_ok_and(|raw| raw.get().starts_with('{') && search.visit(schema, raw, 0).is_some());
    if !is_read {
        return Some(RedactedArguments { text: Value::from(REDACTED).to_string(), values: Vec::new() });
    }
    let mut found = search.found;
    if found.is_empty() {
        return None;
    }
    found.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let (mut text, mut values, mut end) = (String::new(), Vec::new(), 0);
    for range in found {
        // A range within the previous one is already redacted.
        if range.start < end {
            continue;
        }
        let secret = &input_text[range.clone()];
        text.push_str(&input_text[end..range.start]);
        text.push_str(&Value::from(REDACTED).to_string());
        add_leaves(secret, 0, &mut values);
        end = range.end;
    }
    text.push_str(&input_text[end..]);
    Some(RedactedArguments { text, values })
}

/// Adds the strings and numbers in a secret value to `leaves`, since a tool may repeat them one by one. Numbers keep
/// their notation. Booleans are left out: redacting them would redact every `true` or `false`.
fn add_leaves(value: &str, depth: usize, leaves: &mut Vec<String>) {
    let read = match value.as_bytes().first() {
        Some(b't' | b'f' | b'n') => return,
        Some(b'"') => serde_json::from_str(value).map(|text: String| leaves.push(text)),
        Some(b'[') if depth < MAX_DEPTH => serde_json::from_str(value).map(|items: Vec<&RawValue>| {
            for item in items {
                add_leaves(item.get(), depth + 1, leaves);
            }
        }),
        Some(b'{') if depth < MAX_DEPTH => serde_json::from_str(value).map(|Fields(fields)| {
            for (_, field) in fields {
                add_leaves(field.get(), depth + 1, leaves);
            }
        }),
        _ => {
            leaves.push(value.to_owned());
            return;
        }
    };
    if read.is_err() {
        leaves.push(value.to_owned());
    }
}

/// Returns `true` if a schema marks anything as secret.
pub(crate) fn marks_secrets(schema: &Value) -> bool {
    marks_any(schema, &mut { MAX_PAIRS })
}

fn is_marked(schema: &Value) -> bool {
    schema["writeOnly"] == true || schema["format"] == "password"
}

/// Returns `true` if anything in a schema is marked as secret. `left` limits the number of visited values. If it is
/// used up, returns `true`, since the rest may be marked.
fn marks_any(schema: &Value, left: &mut usize) -> bool {
    let Some(rest) = left.checked_sub(1) else { return true };
    *left = rest;
    match schema {
        Value::Object(fields) => is_marked(schema) || fields.values().any(|inner| marks_any(inner, left)),
        Value::Array(items) => items.iter().any(|inner| marks_any(inner, left)),
        _ => false,
    }
}

struct Search<'a> {
    root: &'a Value,
    text: &'a str,
    found: Vec<Range<usize>>,
    pairs: usize,
}

impl<'a> Search<'a> {
    /// Adds the ranges that `schema` marks in a value to `found`. Returns `None` if a limit is exceeded or the value
    /// cannot be read.
    fn visit(&mut self, schema: &'a Value, raw: &'a RawValue, depth: usize) -> Option<()> {
        self.pairs = self.pairs.checked_sub(1)?;
        if depth > MAX_DEPTH {
            return None;
        }
        let value = raw.get();
        if value == "null" {
            // `null` contains no secret, like an argument that is left out.
            return Some(());
        }
        if is_marked(schema) {
            // A raw value borrows from the text, so the pointers give its position.
            let start = (value.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
            self.found.push(start..start + value.len());
            return Some(());
        }
        let referred = schema["$ref"].as_str().and_then(|name| self.root.pointer(name.strip_prefix('#')?));
        let combined = COMBINED.iter().filter_map(|&word| schema[word].as_array()).flatten();
        let conditional = CONDITIONAL.iter().filter_map(|&word| schema.get(word));
        for other in referred.into_iter().chain(combined).chain(conditional) {
            self.visit(other, raw, depth + 1)?;
        }
        match value.as_bytes().first()? {
            b'{' => {
                for (name, inner) in serde_json::from_str::<Fields<'a>>(value).ok()?.0 {
                    let named = schema["properties"].get(&name);
                    let others = schema.get("additionalProperties").filter(|_| named.is_none());
                    // Patterns are not matched against the name: each one counts as a match.
                    let patterns =
                        schema["patternProperties"].as_object().into_iter().flatten().map(|(_, schema)| schema);
                    for schema in named.into_iter().chain(others).chain(patterns) {
                        self.visit(schema, inner, depth + 1)?;
                    }
                }
            }
            b'[' => {
                for (index, inner) in serde_json::from_str::<Vec<&'a RawValue>>(value).ok()?.into_iter().enumerate() {
                    let first = schema["prefixItems"].get(index).or_else(|| schema["items"].get(index));
                    if let Some(schema) = first.or_else(|| schema.get("items")) {
                        self.visit(schema, inner, depth + 1)?;
                    }
                }
            }
            _ => {}
        }
        Some(())
    }
}

/// Fields of an object in their order, including duplicates.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Fields(fields))
    }
}

impl fmt::Debug for RedactedArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedactedArguments").field("text", &self.text).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::redact_arguments;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "user": { "type": "string" },
                "password": { "type": "string", "format": "password" },
                "card": { "type": "object", "properties": { "pin": { "type": "integer", "writeOnly": true } } },
                "keys": { "type": "array", "items": { "anyOf": [{ "$ref": "#/$defs/key" }, { "type": "null" }] } },
                "login": { "type": "object", "writeOnly": true },
                "headers": { "type": "object", "additionalProperties": { "type": "string", "writeOnly": true } },
            },
            "$defs": { "key": { "type": "string", "format": "password" } },
        })
    }

    #[test]
    fn marked_arguments_are_redacted_and_the_rest_stays_unchanged() {
        let cases = [
            (
                r#" { "user": "ann", "password" : "hunter\u0032", "n": 1.10 }"#,
                r#" { "user": "ann", "password" : "[hidden]", "n": 1.10 }"#,
                vec!["hunter2"],
            ),
            (
                r#"{"password":"one","password":"two"}"#,
                r#"{"password":"[hidden]","password":"[hidden]"}"#,
                vec!["one", "two"],
            ),
            (r#"{"card":{"pin":1234,"name":"x"}}"#, r#"{"card":{"pin":"[hidden]","name":"x"}}"#, vec!["1234"]),
            (r#"{"keys":["a",null,"b"]}"#, r#"{"keys":["[hidden]",null,"[hidden]"]}"#, vec!["a", "b"]),
            (r#"{"headers":{"x":"y"}}"#, r#"{"headers":{"x":"[hidden]"}}"#, vec!["y"]),
            (r#"{"login":{"user":"u","pin":[4711,{"a":"b"}]}}"#, r#"{"login":"[hidden]"}"#, vec!["4711", "b", "u"]),
        ];
        for (input, expected, values) in cases {
            let mut redacted = redact_arguments(&schema(), input).unwrap();
            assert_eq!(redacted.text, expected);
            // The values have no defined order.
            redacted.values.sort_unstable();
            assert_eq!(redacted.values, values);
        }
        assert_eq!(redact_arguments(&schema(), r#"{"user":"ann"}"#), None);
        assert_eq!(redact_arguments(&json!({ "type": "object" }), "no JSON"), None);
    }

    /// Checks that a marked value is redacted even if it doesn't have the type that the schema requires.
    #[test]
    fn secret_values_of_any_type_but_null_are_redacted() {
        let cases = [
            (r#""""#, vec![""]),
            ("true", vec![]),
            ("0", vec!["0"]),
            ("-12.50e1", vec!["-12.50e1"]),
            ("123456789012345678901234567890", vec!["123456789012345678901234567890"]),
            ("{}", vec![]),
            (r#"{"a":{"b":"deep"},"c":null,"d":false,"e":7}"#, vec!["deep", "7"]),
            ("[]", vec![]),
            (r#"["one",[2.0,null],{"three":"\u0034"}]"#, vec!["one", "2.0", "4"]),
        ];
        for (value, values) in cases {
            let redacted = redact_arguments(&schema(), &format!(r#"{{"user":1,"password": {value} }}"#)).unwrap();
            assert_eq!(redacted.text, r#"{"user":1,"password": "[hidden]" }"#, "{value}");
            assert_eq!(redacted.values, values, "{value}");
        }
        assert_eq!(redact_arguments(&schema(), r#"{"password":null,"card":null,"keys":[null]}"#), None);
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        let redacted = redact_arguments(&schema(), &format!(r#"{{"password":{deep}}}"#)).unwrap();
        assert_eq!((redacted.text.as_str(), redacted.values.len()), (r#"{"password":"[hidden]"}"#, 1));
    }

    #[test]
    fn unreadable_arguments_are_redacted_completely() {
        for input in [r#"{"password":"hun"#, r#"["hunter2"]"#, "hunter2", ""] {
            assert_eq!(redact_arguments(&schema(), input).unwrap().text, r#""[hidden]""#, "{input}");
        }
        let deep = json!({ "$ref": "#", "properties": { "p": { "writeOnly": true } } });
        assert_eq!(
            redact_arguments(&deep, r#"{"p":1}"#).unwrap().text,
            r#""[hidden]""#,
            "a schema that refers to itself"
        );
        let wide = json!({ "anyOf": vec![json!({ "anyOf": vec![json!({ "writeOnly": true }); 300] }); 300] });
        assert_eq!(redact_arguments(&wide, r#"{"p":1}"#).unwrap().text, r#""[hidden]""#);
    }
}
