//! Which JSON is a tool call, in the shapes that models write it. Where JSON begins and ends is the parser's business.

use serde_json::value::RawValue;
use tallybook_tools::ToolSpec;

use crate::{limits::MAX_CALL_DEPTH, names, object::Object};

/// A call that a model wrote: the tool's name where it could be resolved, else as written; the arguments' exact text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) input_text: String,
}

/// How much its position says that this is meant as a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// A block that says so.
    ToolBlock,
    /// A block of JSON, or bare JSON: it may as well be data.
    Anywhere,
}

/// Keys that hold the tool's name, or all of the call in an object.
const NAME_KEYS: [&str; 6] = ["tool", "tool_name", "name", "function", "tool_call", "function_call"];
/// Keys that hold the arguments.
const INPUT_KEYS: [&str; 5] = ["args", "arguments", "parameters", "input", "params"];
/// A key that holds a list of calls.
const LIST_KEY: &str = "tool_calls";
/// Keys that may stand beside them and say nothing of the tool.
const OTHER_KEYS: [&str; 6] = ["id", "call_id", "type", "reasoning", "thought", "explanation"];

/// Whether a JSON object may be a call whose first key begins so, or is this when `whole`.
pub(super) fn may_begin_call(key: &str, whole: bool) -> bool {
    let mut keys = NAME_KEYS.iter().chain(&INPUT_KEYS).chain([&LIST_KEY]).chain(&OTHER_KEYS);
    keys.any(|known| if whole { *known == key } else { known.starts_with(key) })
}

/// The calls in an object, or in a list all of whose elements are calls; `None` when it is something else.
pub(super) fn find(json: &str, position: Position, tools: &[ToolSpec]) -> Option<Vec<Call>> {
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
        // OpenAI's shape, with the call one level down.
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
    // Data may have a name and parameters too; a tool's own definition has both, and a description.
    let has_foreign_keys = || object.fields().any(|(key, _)| !may_begin_call(key, true));
    let is_data = object.find(&["description"]).is_some() || (resolved.is_none() && has_foreign_keys());
    if position == Position::Anywhere && is_data {
        return None;
    }
    calls.push(Call { name: resolved.map_or(written, str::to_owned), input_text });
    Some(())
}

/// The arguments' text: an object as it is, or the text in a string. What is neither is the agent's to answer with an
/// error where a call is certainly meant, and elsewhere a sign that none is.
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

/// A call in a block that says it is one but whose JSON is broken: the name it gives, and the whole as arguments, which
/// no tool can read. So the model is told what is wrong, and the reader is spared the block.
pub(super) fn salvage(broken: &str, tools: &[ToolSpec]) -> Option<Call> {
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

/// The text of the object without this key: for models that write the arguments beside the name.
fn without(object: &Object<'_>, name_key: &str) -> String {
    let rest = object.fields().filter(|(key, _)| *key != name_key);
    let fields = rest.map(|(key, value)| format!("{}:{}", serde_json::Value::from(key), value.get()));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}
