//! Repairs arguments of tool calls that are not one JSON object but have an unambiguous meaning. Numbers keep their
//! digits.

use std::borrow::Cow;

use serde_json::{Deserializer, Value, value::RawValue};

use super::object::Object;

/// Maximum number of times that arguments may be encoded as JSON within a string.
const MAX_QUOTINGS: usize = 2;

/// Maximum number of JSON values in the arguments of one call. If there are more, the text is not repaired.
const MAX_REPEATS: usize = 8;

/// Returns the object that the arguments mean: `{}` for an empty text or `null`, the content of a string, or one object
/// for arguments that were sent several times. Returns anything else unchanged; the agent answers it with an error.
pub(crate) fn mended(written: &str) -> Cow<'_, str> {
    if is_object(written) {
        return Cow::Borrowed(written);
    }
    let mut text = Cow::Borrowed(written);
    for _ in 0..MAX_QUOTINGS {
        let Ok(content) = serde_json::from_str::<String>(&text) else { break };
        text = Cow::Owned(content);
    }
    if text.trim().is_empty() {
        return Cow::Borrowed("{}");
    }
    repeated(&text).map_or(Cow::Borrowed(written), |object| Cow::Owned(object.to_owned()))
}

/// Returns `true` if the text is a JSON object. The check does not recurse, so any nesting depth is safe.
pub(crate) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Returns `true` if the text is a JSON object without fields.
pub(crate) fn is_empty_object(text: &str) -> bool {
    text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).is_some_and(|inner| inner.trim().is_empty())
}

/// Returns the object that the text holds once or several times, possibly next to empty values: some servers send the
/// complete arguments again after their parts. Each object may add fields to the previous one. Returns `None` for
/// anything else, because two different objects may be two calls.
fn repeated(text: &str) -> Option<&str> {
    let mut found: Option<&RawValue> = None;
    for (number, value) in Deserializer::from_str(text).into_iter::<&RawValue>().enumerate() {
        let value = value.ok().filter(|_| number < MAX_REPEATS)?;
        if matches!(value.get(), "null" | "\"\"") || is_empty_object(value.get()) {
            continue;
        }
        if !value.get().starts_with('{') {
            return None;
        }
        match found {
            Some(before) if !extends(value, before) => return None,
            _ => found = Some(value),
        }
    }
    Some(found.map_or("{}", RawValue::get))
}

/// Returns `true` if `object` has every field of `before`, with the same value.
fn extends(object: &RawValue, before: &RawValue) -> bool {
    if object.get() == before.get() {
        return true;
    }
    let (Some(object), Some(before)) = (Object::parse(object.get()), Object::parse(before.get())) else { return false };
    before.fields().all(|(key, value)| object.find(&[key]).is_some_and(|now| is_same(now, value)))
}

/// Returns `true` if two values are equal as JSON. White space and key order do not matter, and numbers are compared as
/// 64-bit integers or floats.
fn is_same(one: &RawValue, other: &RawValue) -> bool {
    let value = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).ok();
    one.get() == other.get() || value(one).is_some_and(|one| Some(one) == value(other))
}

#[cfg(test)]
mod tests {
    use super::mended;

    #[test]
    fn arguments_whose_meaning_is_clear_become_one_object() {
        for (written, expected) in [
            (r#"{"a": 0.10}"#, r#"{"a": 0.10}"#),
            ("", "{}"),
            (" \n", "{}"),
            ("null", "{}"),
            (r#""""#, "{}"),
            (r#""null""#, "{}"),
            ("{}{}", "{}"),
            (r#"{}{"a":1}"#, r#"{"a":1}"#),
            (r#"null{"a":1}"#, r#"{"a":1}"#),
            (r#"{"a":1}{ }"#, r#"{"a":1}"#),
            (r#"{"a":1.10}{"a":1.10}"#, r#"{"a":1.10}"#),
            ("{\"a\":1}\n{\"a\": 1}", r#"{"a": 1}"#),
            (r#"{"a":[1, 2]}{"a":[1,2]}"#, r#"{"a":[1,2]}"#),
            (r#"{"a":1}{"a":1,"b":1e400}"#, r#"{"a":1,"b":1e400}"#),
            (r#""{\"a\":1.50}""#, r#"{"a":1.50}"#),
            (r#""\"{\\\"a\\\":1}\"""#, r#"{"a":1}"#),
        ] {
            assert_eq!(mended(written), expected, "{written}");
        }
    }

    #[test]
    fn everything_else_stays_as_written() {
        for written in [
            "{oops",
            r#"{"a":1}{"a":"#,
            r#"{"a":1}{"a":2}"#,
            r#"{"a":1}{"b":2}"#,
            r#"{"a":1}}"#,
            "[1]",
            "[1]{}",
            "7",
            r#""words""#,
            "true",
            &"\"".repeat(100),
        ] {
            assert_eq!(mended(written), written);
        }
    }
}
