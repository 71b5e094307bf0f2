//! Formats JSON for display, directly from its text: numbers keep every digit and keys their order, which a parsed
//! value would lose. Nothing here recurses, because the nesting of the input is untrusted.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::{format::beginning, invisible::escaped};

/// Maximum number of arguments that are shown as rows. An object with more is shown as JSON.
const MAX_ROWS: usize = 50;
/// Maximum number of characters of one value in the one-line summary.
const SUMMARY_VALUE_CHARS: usize = 60;
/// Maximum number of arguments that are shown without their names.
const MAX_UNNAMED: usize = 2;
/// Maximum number of characters of a result in the line of its call.
const RESULT_CHARS: usize = 120;
/// Maximum number of characters of the one-line summary. The style truncates it to the width of the line.
const SUMMARY_CHARS: usize = 160;
/// Maximum indentation level. Deeper levels are not indented further, so that hostile nesting cannot inflate a small
/// text.
const MAX_INDENT: usize = 24;

/// One argument: its name and the text to show for its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The argument's name.
    pub key: String,
    /// A string's content, any other scalar as written, nested values as indented JSON.
    pub value: String,
    /// `true` if the value is an object or an array.
    pub nested: bool,
}

/// Returns the arguments as rows, in the order written. Returns `None` if `json` is not an object, is empty, or has
/// too many keys.
pub fn rows(json: &str) -> Option<Vec<Row>> {
    let Fields(fields) = serde_json::from_str(json).ok()?;
    let rows = fields.into_iter().map(|(key, value)| {
        let nested = is_nested(value.get());
        Row { key, value: readable(value.get()), nested }
    });
    Some(rows.collect())
}

/// Formats a value for display: the content of a string, nested values indented, anything else as written.
pub fn readable(json: &str) -> String {
    if is_nested(json) {
        return indent(json);
    }
    serde_json::from_str::<String>(json).unwrap_or_else(|_| json.trim().to_owned())
}

/// Formats a tool's output for display: indented if it is a JSON object or array, otherwise unchanged.
pub fn readable_output(output: &str) -> String {
    let is_json = is_nested(output) && serde_json::from_str::<&RawValue>(output).is_ok();
    if is_json { indent(output) } else { output.to_owned() }
}

/// Summarizes the arguments on one line: `12.5, 7.25`. One or two values are shown without names; more values have
/// their names.
pub fn summary(json: &str) -> String {
    let line = match serde_json::from_str(json) {
        Ok(Fields(fields)) if fields.len() <= MAX_UNNAMED => {
            let shown: Vec<String> = fields.iter().map(|(_, value)| short(value.get())).collect();
            shown.join(", ")
        }
        Ok(Fields(fields)) => {
            let shown: Vec<String> =
                fields.iter().map(|(key, value)| format!("{}: {}", escaped(key), short(value.get()))).collect();
            shown.join(", ")
        }
        Err(_) if matches!(json.trim(), "{}" | "null") => String::new(),
        Err(_) => short(json),
    };
    ellipsis(&line, SUMMARY_CHARS)
}

/// Returns the beginning of an output on one line. If the output is an object with a single value, only that value is
/// shown. Empty for an empty output.
pub fn first_words(output: &str) -> String {
    if let Some([row]) = rows(output).as_deref()
        && !row.nested
    {
        return one_line(&row.value);
    }
    one_line(output)
}

/// Returns the beginning of a text, with each run of white space replaced by one space.
fn one_line(text: &str) -> String {
    let (start, is_more) = beginning(text, RESULT_CHARS);
    let line = single_spaced(start);
    if is_more && !line.is_empty() { format!("{line}…") } else { line }
}

fn short(json: &str) -> String {
    let text = match json.trim_start().as_bytes().first() {
        Some(b'{') => "{…}".to_owned(),
        Some(b'[') => "[…]".to_owned(),
        _ => readable(json),
    };
    ellipsis(&single_spaced(&text), SUMMARY_VALUE_CHARS)
}

/// Puts a text on one line. Unusual spaces and all other invisible characters are written as codes.
fn single_spaced(text: &str) -> String {
    escaped(text).split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

fn ellipsis(text: &str, limit: usize) -> String {
    match beginning(text, limit) {
        (start, true) => format!("{start}…"),
        (all, false) => all.to_owned(),
    }
}

fn is_nested(json: &str) -> bool {
    json.trim_start().starts_with(['{', '['])
}

/// Formats valid JSON with two spaces per level. Only white space outside of strings changes.
pub fn indent(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let mut chars = json.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                out.push('"');
                copy_string(&mut chars, &mut out);
            }
            '{' | '[' => {
                out.push(c);
                while chars.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(close) = chars.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(close);
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    out
}

fn copy_string(chars: &mut impl Iterator<Item = char>, out: &mut String) {
    let mut escaped = false;
    for c in chars {
        out.push(c);
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return,
            _ => {}
        }
    }
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth.min(MAX_INDENT)));
}

/// The entries of an object, with their values as text, in the order written.
struct Fields(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with 1 to {MAX_ROWS} entries")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = Vec::new();
        while fields.len() < MAX_ROWS {
            match map.next_entry()? {
                Some(entry) => fields.push(entry),
                None if fields.is_empty() => return Err(serde::de::Error::invalid_length(0, &self)),
                None => return Ok(Fields(fields)),
            }
        }
        match map.next_entry::<IgnoredAny, IgnoredAny>()? {
            Some(_) => Err(serde::de::Error::invalid_length(MAX_ROWS + 1, &self)),
            None => Ok(Fields(fields)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{MAX_ROWS, first_words, indent, readable, readable_output, rows, summary};

    const LONG: &str = "123456789012345678901234567890123456789012345678901234567890";

    #[test]
    fn arguments_keep_their_order_and_every_digit() {
        let rows = rows(&format!(r#"{{"b": {LONG}, "a": "x\ny", "c": {{"k": [0.10]}}}}"#)).unwrap();
        let shown: Vec<(&str, &str)> = rows.iter().map(|row| (row.key.as_str(), row.value.as_str())).collect();
        assert_eq!(shown, [("b", LONG), ("a", "x\ny"), ("c", "{\n  \"k\": [\n    0.10\n  ]\n}")]);
        assert!(rows[2].nested && !rows[0].nested);
    }

    #[test]
    fn only_a_small_object_has_rows() {
        let many: Vec<String> = (0..=MAX_ROWS).map(|n| format!("\"k{n}\":{n}")).collect();
        for json in ["[1]", "\"text\"", "{}", "null", "{\"a\":", &format!("{{{}}}", many.join(","))] {
            assert_eq!(rows(json), None, "{json}");
        }
    }

    #[test]
    fn summary_names_more_than_two_values() {
        assert_eq!(summary(r#"{"a":12.5,"b":7.25}"#), "12.5, 7.25");
        assert_eq!(summary(r#"{"expression":"(12.5 + 7.25)\n * 4"}"#), "(12.5 + 7.25) * 4");
        assert_eq!(summary(r#"{"list":[1,2],"o":{}}"#), "[…], {…}");
        assert_eq!(summary(r#"{"to":"a@b.c","subject":"Hi","urgent":true}"#), "to: a@b.c, subject: Hi, urgent: true");
        assert_eq!(summary("{}"), "");
        assert_eq!(summary(r#""{\"a\":""#), r#"{"a":"#);
        assert_eq!(summary(&format!("{{\"a\":{LONG}{LONG}}}")), format!("{LONG}…"));
    }

    #[test]
    fn readable_keeps_scalars_and_indents_nested_outputs() {
        assert_eq!(readable(r#""<b>\u00e9</b>""#), "<b>é</b>");
        assert_eq!(readable(" 1e400 "), "1e400");
        assert_eq!(readable_output("79"), "79");
        assert_eq!(readable_output("[oops"), "[oops");
        assert_eq!(readable_output(r#"{"result":0.30}"#), "{\n  \"result\": 0.30\n}");
    }

    #[test]
    fn first_words_fit_on_one_line() {
        assert_eq!(first_words("19.75"), "19.75");
        assert_eq!(first_words(r#"{"result": 0.30}"#), "0.30");
        assert_eq!(first_words(r#"{"rows": [1, 2]}"#), r#"{"rows": [1, 2]}"#);
        assert_eq!(first_words("One line\n  and\tanother"), "One line and another");
        assert_eq!(first_words(&"計算 ".repeat(1000)), format!("{}…", "計算 ".repeat(40).trim_end()));
        assert_eq!((first_words(""), first_words(&" ".repeat(500))), (String::new(), String::new()));
    }

    #[test]
    fn indenting_keeps_strings_and_empty_brackets() {
        let json = r#"{"a{,:":"x\"]\\","b":[ ],"c":{}}"#;
        assert_eq!(indent(json), "{\n  \"a{,:\": \"x\\\"]\\\\\",\n  \"b\": [],\n  \"c\": {}\n}");
    }

    #[test]
    fn deep_nesting_stays_small() {
        let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
        assert!(indent(&deep).len() < deep.len() * 60);
        assert_eq!(summary(&deep), "[…]");
    }

    proptest! {
        #[test]
        fn indenting_any_text_has_bounded_output(text in "[\\[\\]{}\",:\\\\ a1計]{0,60}") {
            prop_assert!(indent(&text).len() <= text.len() * 60 + 1);
        }
    }
}
