//! Parses calls in tags, as Qwen's coding models write them: `<function=add><parameter=a>1</parameter></function>`. The
//! values are bare text; the tool's schema determines their types. Numbers keep their digits.

use serde_json::{Value, value::RawValue};
use tallybook_tools::ToolSpec;

use super::call::Call;
use crate::{limits::MAX_TOOL_NAME_CHARS, names};

/// The beginning of a call.
pub(crate) const FUNCTION: &str = "<function=";
/// Maximum length of the text in such a tag, in bytes.
const MAX_HEAD_BYTES: usize = 4 * MAX_TOOL_NAME_CHARS;
const FUNCTION_END: &str = "</function>";
const PARAMETER: &str = "<parameter=";
const PARAMETER_END: &str = "</parameter>";

/// Returns the calls that a text consists of; `None` if it contains anything else.
pub(crate) fn find(text: &str, tools: &[ToolSpec]) -> Option<Vec<Call>> {
    let mut calls = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (call, after) = call(rest.strip_prefix(FUNCTION)?, tools)?;
        calls.push(call);
        rest = after.trim_start();
    }
    Some(calls).filter(|calls| !calls.is_empty())
}

/// Returns `true` if a text with this beginning may still become calls.
pub(crate) fn may_begin(text: &str) -> bool {
    text.strip_prefix(FUNCTION).map_or_else(|| FUNCTION.starts_with(text), may_continue)
}

/// Returns `true` if this text, which follows [`FUNCTION`], may still become a call.
pub(crate) fn may_continue(text: &str) -> bool {
    match text.split_once('>') {
        None => text.len() <= MAX_HEAD_BYTES && !text.contains(['<', '\n']),
        Some((_, rest)) => rest.trim_start().chars().next().is_none_or(|c| c == '<'),
    }
}

/// Returns the call that starts with its tool's name, and the text after the call.
fn call<'a>(text: &'a str, tools: &[ToolSpec]) -> Option<(Call, &'a str)> {
    let (name, mut rest) = name(text)?;
    let resolved = names::resolve(name, tools).unwrap_or(name);
    let properties = tools.iter().find(|tool| tool.name == resolved).map(|tool| &tool.input_schema["properties"]);
    let mut fields = Vec::new();
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(FUNCTION_END) {
            let input_text = format!("{{{}}}", fields.join(","));
            return Some((Call { name: resolved.to_owned(), input_text }, after));
        }
        let (key, after) = self::name(rest.strip_prefix(PARAMETER)?)?;
        let (written, after) = after.split_once(PARAMETER_END)?;
        let value = json(without_line_ends(written), properties.map(|properties| &properties[key]));
        fields.push(format!("{}:{value}", Value::from(key)));
        rest = after;
    }
}

/// Returns the name before the end of a tag, and the text after the tag.
fn name(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once('>')?;
    let name = name.trim().trim_matches('"');
    (!name.is_empty() && !name.contains(['<', '\n'])).then_some((name, rest))
}

/// Removes the line ends that separate a value from its tags.
fn without_line_ends(written: &str) -> &str {
    let written = written.strip_prefix("\r\n").or_else(|| written.strip_prefix('\n')).unwrap_or(written);
    written.strip_suffix("\r\n").or_else(|| written.strip_suffix('\n')).unwrap_or(written)
}

/// Converts a bare value to JSON: to the value that it spells if the schema allows that, otherwise to a string.
fn json(written: &str, schema: Option<&Value>) -> String {
    let bare = written.trim();
    // Python's keywords.
    let bare = match bare {
        "True" => "true",
        "False" => "false",
        "None" => "null",
        bare => bare,
    };
    let is_bare = serde_json::from_str::<&RawValue>(bare).is_ok() && is_allowed(bare, schema);
    if is_bare { bare.to_owned() } else { Value::from(written).to_string() }
}

/// Returns `true` if the schema allows a value of this JSON's type. If the schema names no type, it allows every type
/// except a string, because the model wrote the value without quotation marks.
fn is_allowed(json: &str, schema: Option<&Value>) -> bool {
    let kinds: &[&str] = match json.as_bytes().first() {
        Some(b'{') => &["object"],
        Some(b'[') => &["array"],
        Some(b't' | b'f') => &["boolean"],
        Some(b'n') => &["null"],
        Some(b'"') => return false,
        _ => &["number", "integer"],
    };
    match schema.and_then(|schema| schema.get("type")) {
        None => true,
        Some(Value::String(kind)) => kinds.contains(&kind.as_str()),
        Some(several) => several
            .as_array()
            .is_some_and(|several| several.iter().any(|kind| kind.as_str().is_some_and(|kind| kinds.contains(&kind)))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tallybook_tools::ToolSpec;

    use super::find;
    use crate::testing::add_spec;

    fn read(text: &str) -> Option<Vec<(String, String)>> {
        let properties = json!({
            "text": {"type": "string"}, "n": {"type": "number"}, "i": {"type": ["integer", "null"]},
            "flag": {"type": "boolean"}, "list": {"type": "array"}, "any": {},
        });
        let spec = ToolSpec { input_schema: json!({"type": "object", "properties": properties}), ..add_spec() };
        let calls = find(text, &[spec])?;
        Some(calls.into_iter().map(|call| (call.name, call.input_text)).collect())
    }

    fn input(key: &str, value: &str) -> String {
        let calls = read(&format!("<function=add><parameter={key}>\n{value}\n</parameter></function>")).unwrap();
        calls.into_iter().next().unwrap().1
    }

    #[test]
    fn values_have_the_schemas_type_and_keep_their_digits() {
        for (key, value, expected) in [
            ("n", "0.1000000000000000000001", r#"{"n":0.1000000000000000000001}"#),
            ("n", "1e400", r#"{"n":1e400}"#),
            ("n", "twelve", r#"{"n":"twelve"}"#),
            ("i", "None", r#"{"i":null}"#),
            ("flag", "True", r#"{"flag":true}"#),
            ("list", "[1, 2.50]", r#"{"list":[1, 2.50]}"#),
            ("list", "[1,", r#"{"list":"[1,"}"#),
            ("text", "007", r#"{"text":"007"}"#),
            ("text", "  two\nlines", r#"{"text":"  two\nlines"}"#),
            ("text", "\"quoted\" & <b>", r#"{"text":"\"quoted\" & <b>"}"#),
            ("any", "1.50", r#"{"any":1.50}"#),
            ("any", "words", r#"{"any":"words"}"#),
            ("unknown", "{\"a\": 1}", r#"{"unknown":{"a": 1}}"#),
        ] {
            assert_eq!(input(key, value), expected);
        }
    }

    #[test]
    fn several_calls_and_none() {
        let add = |input: &str| ("add".to_owned(), input.to_owned());
        assert_eq!(
            read("\n<function=add>\n<parameter=n>1</parameter>\n</function>\n<function=ADD>\n</function>\n"),
            Some(vec![add(r#"{"n":1}"#), add("{}")])
        );
        for text in [
            "",
            "words",
            "<function=>",
            "<function=add>",
            "<function=add><parameter=n>1</function>",
            "<function=add>words</function>",
            "<function=add></function> words",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
