//! Finds the target of a reference within a schema: by a JSON pointer, by an anchor, or by the `$id` of the schema or
//! of a part.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::super::text;

/// Returns the target of `reference` in `root`. The error says why there is none.
pub(crate) fn find<'a>(root: &'a Value, reference: &str) -> Result<&'a Value, String> {
    let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let base = if document.is_empty() { Some(root) } else { part(root, &|members| is_called(members, document)) };
    let Some(base) = base else {
        return Err(format!("its schema refers to another document: {}", text::message(reference)));
    };
    let fragment = percent_decode_str(fragment).decode_utf8_lossy();
    let target = if fragment.is_empty() || fragment.starts_with('/') {
        base.pointer(&fragment)
    } else {
        let with_mark = format!("#{fragment}");
        let anchors = ["$anchor", "$dynamicAnchor"];
        part(base, &|members| {
            anchors.iter().any(|anchor| is_text(members, anchor, &fragment)) || is_called(members, &with_mark)
        })
    };
    target.ok_or_else(|| format!("its schema has a reference to a missing part: {}", text::message(reference)))
}

/// Returns `true` if a schema has this identifier, with or without an empty fragment. Before draft 6, the keyword was
/// `id`.
fn is_called(members: &Map<String, Value>, identifier: &str) -> bool {
    let has = |name: &str| is_text(members, "$id", name) || is_text(members, "id", name);
    has(identifier) || has(&format!("{identifier}#"))
}

fn is_text(members: &Map<String, Value>, name: &str, text: &str) -> bool {
    members.get(name).and_then(Value::as_str) == Some(text)
}

/// Returns the first object within a value for which `holds` returns `true`. The depth of a schema is bounded, so the
/// recursion is bounded.
fn part<'a>(value: &'a Value, holds: &dyn Fn(&Map<String, Value>) -> bool) -> Option<&'a Value> {
    match value {
        Value::Object(members) if holds(members) => Some(value),
        Value::Object(members) => members.values().find_map(|value| part(value, holds)),
        Value::Array(items) => items.iter().find_map(|item| part(item, holds)),
        _ => None,
    }
}
