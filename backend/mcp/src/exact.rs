//! Keeps every digit of the numbers in calls and results. `serde_json::Value` stores numbers as `f64`, which would
//! round them or refuse them (`1e400`). So this module passes the JSON text along with the values or instead of them.

use std::collections::BTreeMap;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, JsonObject, JsonRpcMessage,
};
use serde::de::{DeserializeOwned, Error as _, IgnoredAny};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

/// Maximum nesting depth of arguments: what `serde_json` reads by default.
const MAX_LEVELS: usize = 127;
const STRUCTURED: &str = "structuredContent";

/// Members of an object by name, as JSON text. If several members have the same name, the last one counts.
type Members = BTreeMap<String, Box<RawValue>>;

/// Arguments of a call.
pub(crate) struct Arguments {
    /// The values, for the protocol's headers. Their numbers are strings.
    values: JsonObject,
    text: Box<RawValue>,
}

/// JSON text of a call's arguments, attached to the request that contains their values.
#[derive(Clone)]
struct ArgumentsText(Box<RawValue>);

impl Arguments {
    /// Parses the arguments that a model wrote. Each member is sent once, even if the model wrote it twice: a server
    /// may read the first one, and the user approved the last one.
    pub(crate) fn read(input_text: &str) -> serde_json::Result<Self> {
        let mut text = String::with_capacity(input_text.len());
        match copy(input_text.trim_ascii_start(), MAX_LEVELS, &mut text)? {
            Value::Object(values) => Ok(Self { values, text: RawValue::from_string(text)? }),
            _ => Err(serde_json::Error::custom("expected a JSON object")),
        }
    }

    /// Returns the request that calls a tool.
    pub(crate) fn request(self, name: String) -> ClientRequest {
        let mut request = CallToolRequest::new(CallToolRequestParams::new(name).with_arguments(self.values));
        request.extensions.insert(ArgumentsText(self.text));
        ClientRequest::CallToolRequest(request)
    }
}

/// Writes JSON text to `out` without whitespace between tokens, and returns its values, with numbers as strings.
fn copy(json: &str, levels: usize, out: &mut String) -> serde_json::Result<Value> {
    let levels = levels.checked_sub(1).ok_or_else(|| serde_json::Error::custom("recursion limit exceeded"))?;
    match json.as_bytes().first() {
        Some(b'{') => {
            let mut values = JsonObject::new();
            out.push('{');
            for (number, (name, member)) in serde_json::from_str::<Members>(json)?.into_iter().enumerate() {
                out.push_str(if number == 0 { "" } else { "," });
                out.push_str(&serde_json::to_string(&name)?);
                out.push(':');
                values.insert(name, copy(member.get(), levels, out)?);
            }
            out.push('}');
            Ok(Value::Object(values))
        }
        Some(b'[') => {
            let mut values = Vec::new();
            out.push('[');
            for (number, item) in serde_json::from_str::<Vec<&RawValue>>(json)?.into_iter().enumerate() {
                out.push_str(if number == 0 { "" } else { "," });
                values.push(copy(item.get(), levels, out)?);
            }
            out.push(']');
            Ok(Value::Array(values))
        }
        Some(b'-' | b'0'..=b'9') => {
            let number: &RawValue = serde_json::from_str(json)?;
            out.push_str(number.get());
            Ok(Value::String(number.get().to_owned()))
        }
        _ => {
            let value: Value = serde_json::from_str(json)?;
            out.push_str(&value.to_string());
            Ok(value)
        }
    }
}

/// Returns the JSON text of a message if it is a call with [`Arguments`]. Returns `None` for other messages, which
/// `rmcp` may write itself.
pub(crate) fn written(message: &ClientJsonRpcMessage) -> serde_json::Result<Option<Vec<u8>>> {
    let JsonRpcMessage::Request(request) = message else { return Ok(None) };
    let ClientRequest::CallToolRequest(call) = &request.request else { return Ok(None) };
    let Some(ArgumentsText(text)) = call.extensions.get() else { return Ok(None) };
    let with_text = |params: &mut Members| {
        params.insert("arguments".to_owned(), text.clone());
        Ok(())
    };
    changed(&serde_json::to_vec(message)?, "params", with_text).map(Some)
}

/// Parses a message. The structured content of a result becomes a string that contains its JSON text.
pub(crate) fn read<T: DeserializeOwned>(message: &[u8]) -> serde_json::Result<T> {
    match with_structured_text(message) {
        Some(message) => serde_json::from_slice(&message),
        None => serde_json::from_slice(message),
    }
}

/// Returns the data of an event with its structured content as a string, as in [`read`]. Data without structured
/// content is returned unchanged.
pub(crate) fn event(data: String) -> String {
    with_structured_text(data.as_bytes()).and_then(|changed| String::from_utf8(changed).ok()).unwrap_or(data)
}

/// Returns the message with its structured content as a string, or `None` if it has no structured content.
fn with_structured_text(message: &[u8]) -> Option<Vec<u8>> {
    if !message.windows(STRUCTURED.len()).any(|part| part == STRUCTURED.as_bytes()) {
        return None;
    }
    let with_text = |result: &mut Members| {
        let structured =
            result.get_mut(STRUCTURED).ok_or_else(|| serde_json::Error::custom("no structured content"))?;
        *structured = to_raw_value(structured.get())?;
        Ok(())
    };
    changed(message, "result", with_text).ok()
}

/// Applies `change` to the object that is the message's member `member`, and returns the changed message.
fn changed(
    message: &[u8],
    member: &str,
    change: impl FnOnce(&mut Members) -> serde_json::Result<()>,
) -> serde_json::Result<Vec<u8>> {
    let mut message: Members = serde_json::from_slice(message)?;
    let outer = message.get_mut(member).ok_or_else(|| serde_json::Error::custom("a member is missing"))?;
    let mut inner: Members = serde_json::from_str(outer.get())?;
    change(&mut inner)?;
    *outer = to_raw_value(&inner)?;
    serde_json::to_vec(&message)
}

/// Returns the JSON text of a result's structured content; `None` if there is none.
pub(crate) fn structured(result: &Value) -> Option<String> {
    match result.get(STRUCTURED)? {
        Value::Null => None,
        Value::String(text) if text == "null" => None,
        Value::String(text) if serde_json::from_str::<IgnoredAny>(text).is_ok() => Some(without_spaces(text)),
        value => Some(value.to_string()),
    }
}

/// Removes the whitespace between the tokens of JSON text.
fn without_spaces(json: &str) -> String {
    let (mut is_text, mut is_escaped) = (false, false);
    let is_kept = |&c: &char| {
        if is_text {
            is_text = is_escaped || c != '"';
            is_escaped = !is_escaped && c == '\\';
            return true;
        }
        is_text = c == '"';
        !c.is_ascii_whitespace()
    };
    json.chars().filter(is_kept).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn copied(input: &str) -> serde_json::Result<String> {
        Arguments::read(input).map(|arguments| arguments.text.get().to_owned())
    }

    #[test]
    fn arguments_keep_their_digits_and_have_each_member_once() {
        let input = r#" {"b": [1e400, -0, 1.50, 12345678901234567890123], "a": {"n": 1E5}, "b": [0.10] , "c\u0022": "1.50 \"x\" "} "#;
        assert_eq!(copied(input).unwrap(), r#"{"a":{"n":1E5},"b":[0.10],"c\"":"1.50 \"x\" "}"#);
    }

    #[test]
    fn arguments_that_are_not_a_json_object_are_refused() {
        let deep = |levels| format!(r#"{{"a":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
        let refused = ["", "[]", "1", "null", "{", r#"{"a":01}"#, r#"{"a":"\ud800"}"#, "{} x", r#"{"a":1e}"#];
        for input in refused.into_iter().map(str::to_owned).chain([deep(5_000), deep(200)]) {
            assert!(copied(&input).is_err(), "{input}");
        }
        assert!(copied(&deep(100)).is_ok());
    }

    #[test]
    fn structured_content_keeps_its_digits() {
        let message =
            r#"{"id": 1, "result": {"structuredContent": {"a": [1e400, 0.10], "b": "a \" b"}, "content": []}}"#;
        let message: Value = read(message.as_bytes()).unwrap();
        assert_eq!(structured(&message["result"]).unwrap(), r#"{"a":[1e400,0.10],"b":"a \" b"}"#);
        let listed: Value = read(br#"{"result":{"tools":[{"name":"structuredContent"}]}}"#).unwrap();
        assert_eq!(listed["result"]["tools"][0]["name"], "structuredContent");
        assert_eq!(event("not JSON: structuredContent".to_owned()), "not JSON: structuredContent");
        for absent in [json!({}), json!({ "structuredContent": null }), json!({ "structuredContent": "null" })] {
            assert_eq!(structured(&absent), None);
        }
    }
}
