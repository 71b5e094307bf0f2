//! Reads and writes messages as JSON text. The arguments and the result of the tool `digits` stay text, so that tests
//! see the digits of numbers.

use std::collections::BTreeMap;

use serde_json::{Value, json, value::RawValue};

use crate::tools::DIGITS;

type Members = BTreeMap<String, Box<RawValue>>;

/// Reads a message; `None` if it is not JSON. In a call of `digits`, the text of the arguments replaces the arguments.
pub(crate) fn read(text: &str) -> Option<Value> {
    digits_call(text).or_else(|| serde_json::from_str(text).ok())
}

fn digits_call(text: &str) -> Option<Value> {
    let message: Members = serde_json::from_str(text).ok()?;
    let mut params: Members = serde_json::from_str(message.get("params")?.get()).ok()?;
    let name: String = serde_json::from_str(params.get("name")?.get()).ok()?;
    if name != DIGITS {
        return None;
    }
    let arguments = params.remove("arguments")?.get().to_owned();
    let values = |members: Members| -> serde_json::Result<serde_json::Map<String, Value>> {
        members.into_iter().map(|(name, member)| Ok((name, serde_json::from_str(member.get())?))).collect()
    };
    let mut params = values(params).ok()?;
    params.insert("arguments".to_owned(), json!({ DIGITS: arguments }));
    let mut message: serde_json::Map<String, Value> =
        values(message.into_iter().filter(|(name, _)| name != "params").collect()).ok()?;
    message.insert("params".to_owned(), Value::Object(params));
    Some(Value::Object(message))
}

/// Writes a message. The structured content of `digits` is the JSON text that it contains.
pub(crate) fn write(message: &Value) -> String {
    let text = message.to_string();
    let structured = &message["result"]["structuredContent"];
    match structured[DIGITS].as_str() {
        Some(digits) => text.replacen(&structured.to_string(), digits, 1),
        None => text,
    }
}
