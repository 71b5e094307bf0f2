//! Recognizes the JSON of tool calls, in the forms that models write. The parser finds where JSON begins and ends.

use serde_json::value::RawValue;
use tallybook_tools::ToolSpec;

use crate::{limits::MAX_CALL_DEPTH, names, object::Object};

/// A call that a model wrote: the tool's name if it could be resolved, otherwise the name as written; and the exact
/// text of the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) input_text: String,
}

/// The position of JSON in a text, which shows how likely it is a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// In a block that is marked as a call.
    ToolBlock,
    /// In a block of JSON, or outside of blocks. It may be a call or data.
    Anywhere,
}

/// Keys that hold the tool's name, or an object with the complete call.
const NAME_KEYS: [&str; 6] = ["tool", "tool_name", "name", "function", "tool_call", "function_call"];
/// Keys that hold the arguments.
const INPUT_KEYS: [&str; 5] = ["args", "arguments", "parameters", "input", "params"];
/// A key that holds a list of calls.
const LIST_KEY: &str = "tool_calls";
/// Additional keys that do not affect the call.
const OTHER_KEYS: [&str; 6] = ["id", "call_id", "type", "reasoning", "thought", "explanation"];

/// Returns `true` if a JSON object with this first key may be a call. If `whole` is `false`, `key` is only the
/// beginning of the key.
pub(crate) fn may_begin_call(key: &str, whole: bool) -> bool {
    let mut keys = NAME_KEYS.iter().chain(&INPUT_KEYS).chain([&LIST_KEY]).chain(&OTHER_KEYS);
    keys.any(|known| if whole { *known == key } else { known.starts_with(key) })
}

/// Returns the calls in an object, or in a list whose elements are all calls. Returns `None` for anything else.
pub(crate) fn find(json: &str, position: Position, tools: &[ToolSpec]) -> Option<Vec<Call>> {
    let mut calls = Vec::new();
    collect(json, position, tools, MAX_CALL_DEPTH, &mut calls)?;
    Some(calls).filter(|calls| !calls.is_empty())
}

fn collect(json: &str, position: Position, tools: &[ToolSpec], depth: u8, calls: &mut Vec<Call>) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    if json.trim_start().starts_with('[') {
        let elements: Vec<&RawValue> = serde_json::from_str(json).ok()?;
        return elements.iter().try_for_each(|element| collect(element.get(), position, tools, depth, calls));
    }
    let object: Object<'_> = serde_json::from_str(json).ok()?;
    if let Some(list) = object.find(&[LIST_KEY]) {
        return collect(list.get(), position, tools, depth, calls);
    }
    let (key, value) = NAME_KEYS.iter().find_map(|key| object.find(&[key]).map(|value| (*key, value)))?;
    if value.get().starts_with('{') {
        // OpenAI's form, in which the call is one level down.
        return collect(value.get(), position, tools, depth, calls);
    }
    let written: String = serde_json::from_str(value.get()).ok()?;
    if written.trim().is_empty() {
        return None;
    }
    let resolved = names::resolve(&written, tools);
    let input_text = match object.find(&INPUT_KEYS) {
        Some(input) => input_text(input, position)?,
        None if position == Position::ToolBlock => without(&object, key),
        None => return None,
    };
    // Data may also have a name and parameters. The definition of a tool has both, and a description.
    let has_foreign_keys = || object.fields().any(|(key, _)| !may_begin_call(key, true));
    let is_data = object.find(&["description"]).is_some() || (resolved.is_none() && has_foreign_keys());
    if position == Position::Anywhere && is_data {
        return None;
    }
    calls.push(Call { name: resolved.map_or(written, str::to_owned), input_text });
    Some(())
}

/// Returns the text of the arguments: an object unchanged, or the content of a string. If the arguments are neither,
/// the result depends on the position. In a block that is marked as a call, they are returned, and the agent answers
/// them with an error. Elsewhere, the JSON is not a call, and the result is `None`.
fn input_text(input: &RawValue, position: Position) -> Option<String> {
    let json = input.get();
    let text = match json.as_bytes().first() {
        Some(b'{') => return Some(json.to_owned()),
        Some(b'"') => serde_json::from_str::<String>(json).ok()?,
        Some(b'n') => String::new(),
        _ => json.to_owned(),
    };
    let text = text.trim();
    if text.is_empty() {
        return Some("{}".to_owned());
    }
    (position == Position::ToolBlock || text.starts_with('{')).then(|| text.to_owned())
}

/// Recovers a call from broken JSON in a block that is marked as a call. Returns the name in the JSON, and the complete
/// JSON as arguments, which no tool can read. This way the model receives an error, and the user does not see the
/// block. Returns `None` if the JSON is valid or has no name.
pub(crate) fn salvage(broken: &str, tools: &[ToolSpec]) -> Option<Call> {
    if serde_json::from_str::<&RawValue>(broken).is_ok() {
        return None;
    }
    let written = NAME_KEYS.iter().find_map(|key| {
        let (_, rest) = broken.split_once(&format!("\"{key}\""))?;
        let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
        let (name, _) = rest.split_once('"')?;
        (!name.is_empty()).then_some(name)
    })?;
    let name = names::resolve(written, tools).unwrap_or(written).to_owned();
    Some(Call { name, input_text: broken.to_owned() })
}

/// Returns the text of the object without this key, for models that write the arguments next to the name.
fn without(object: &Object<'_>, name_key: &str) -> String {
    let rest = object.fields().filter(|(key, _)| *key != name_key);
    let fields = rest.map(|(key, value)| format!("{}:{}", serde_json::Value::from(key), value.get()));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}
