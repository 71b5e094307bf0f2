//! Repairs the values of single keywords, and combinations of keywords of one schema.

use serde_json::{Map, Number, Value, json};

use super::super::text;

/// Repairs the value of a keyword that contains no schema. Returns `None` if no part of it is usable.
pub(crate) fn mended(keyword: &str, value: &Value, members: &Map<String, Value>) -> Option<Value> {
    // Before draft 6 of JSON Schema, a boolean says whether the bound itself is excluded.
    let excludes = |exclusive: &str| members.get(exclusive) == Some(&Value::Bool(true));
    match keyword {
        "const" | "default" => Some(value.clone()),
        _ if value.is_null() => None,
        "type" => types(value),
        "required" => names(value),
        "dependentRequired" => {
            let dependent = value.as_object()?.iter().filter_map(|(name, needed)| Some((name.clone(), names(needed)?)));
            Some(Value::Object(dependent.collect()))
        }
        "enum" => choices(value),
        "examples" => Some(if value.is_array() { value.clone() } else { json!([value]) }),
        "exclusiveMinimum" if value.is_boolean() => {
            members.get("minimum").filter(|_| excludes(keyword)).and_then(number)
        }
        "exclusiveMaximum" if value.is_boolean() => {
            members.get("maximum").filter(|_| excludes(keyword)).and_then(number)
        }
        "minimum" if excludes("exclusiveMinimum") => None,
        "maximum" if excludes("exclusiveMaximum") => None,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => number(value),
        "multipleOf" => number(value).filter(|number| number.as_f64().is_some_and(|number| number > 0.0)),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minContains" | "maxContains" | "minProperties"
        | "maxProperties" => size(value),
        "uniqueItems" | "readOnly" | "writeOnly" | "deprecated" => truth(value),
        "title" | "description" => value.as_str().map(|content| text::description(content).into()),
        "pattern" => value.as_str().filter(|pattern| is_pattern(pattern)).map(Value::from),
        "format" | "contentEncoding" | "contentMediaType" => value.as_str().map(Value::from),
        _ => Some(value.clone()),
    }
}

/// Reads one or more types, by their names in JSON Schema or in programming languages and databases. Returns `None`,
/// which means any type, if a name is unknown or there is none.
pub(crate) fn types(value: &Value) -> Option<Value> {
    let of_element = |name: &Value| if name.is_null() { Some("null") } else { type_named(name.as_str()?) };
    let named: Vec<&str> = match value {
        Value::String(text) => text.split(['|', ',']).map(type_named).collect::<Option<_>>()?,
        Value::Array(elements) => elements.iter().map(of_element).collect::<Option<_>>()?,
        _ => return None,
    };
    let mut kinds: Vec<&str> = Vec::new();
    for kind in named {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    match kinds[..] {
        [] => None,
        [kind] => Some(kind.into()),
        _ => Some(kinds.into()),
    }
}

fn type_named(name: &str) -> Option<&'static str> {
    match name.trim().to_ascii_lowercase().as_str() {
        "string" | "str" | "text" | "char" | "varchar" | "date" | "time" | "datetime" | "date-time" | "timestamp"
        | "uri" | "url" | "uuid" | "email" | "bytes" | "binary" | "file" => Some("string"),
        "integer" | "int" | "int8" | "int16" | "int32" | "int64" | "uint" | "uint8" | "uint16" | "uint32"
        | "uint64" | "long" | "short" | "bigint" => Some("integer"),
        "number" | "num" | "numeric" | "float" | "float32" | "float64" | "double" | "decimal" | "real" => {
            Some("number")
        }
        "boolean" | "bool" => Some("boolean"),
        "object" | "obj" | "dict" | "dictionary" | "map" | "record" | "struct" | "json" => Some("object"),
        "array" | "list" | "tuple" | "set" | "sequence" => Some("array"),
        "null" | "none" | "nil" => Some("null"),
        _ => None,
    }
}

/// Reads a list of names, without duplicates. A string is read as a list of one name.
fn names(value: &Value) -> Option<Value> {
    let given = match value {
        Value::Array(names) => names.as_slice(),
        Value::String(_) => std::slice::from_ref(value),
        _ => return None,
    };
    Some(distinct(given.iter().filter(|name| name.is_string())))
}

/// Reads the values of `enum`, without duplicates. A single value is read as a list of one value. An object is dropped,
/// and so is an empty list, which would allow nothing.
fn choices(value: &Value) -> Option<Value> {
    match value {
        Value::Array(values) if values.is_empty() => None,
        Value::Array(values) => Some(distinct(values.iter())),
        Value::Object(_) => None,
        value => Some(json!([value])),
    }
}

fn distinct<'a>(values: impl Iterator<Item = &'a Value>) -> Value {
    let mut distinct: Vec<Value> = Vec::new();
    for value in values {
        if !distinct.contains(value) {
            distinct.push(value.clone());
        }
    }
    Value::Array(distinct)
}

fn number(value: &Value) -> Option<Value> {
    match value {
        Value::Number(_) => Some(value.clone()),
        Value::String(text) => text.trim().parse::<Number>().ok().map(Value::Number),
        _ => None,
    }
}

fn size(value: &Value) -> Option<Value> {
    let size = number(value)?;
    let whole = || size.as_f64().filter(|size| size.fract() == 0.0 && *size >= 0.0).map(|_| size.clone());
    if size.is_u64() { Some(size) } else { whole() }
}

fn truth(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(_) => Some(value.clone()),
        Value::String(text) => text.trim().to_ascii_lowercase().parse::<bool>().ok().map(Value::Bool),
        _ => None,
    }
}

/// Returns `true` if `regex_syntax` can parse a regular expression. It refuses features that not every dialect has,
/// such as look-around.
pub(crate) fn is_pattern(text: &str) -> bool {
    regex_syntax::Parser::new().parse(text).is_ok()
}

/// Returns `true` if a schema names this type.
pub(crate) fn allows(schema: &Map<String, Value>, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(named)) => named == kind,
        Some(Value::Array(named)) => named.iter().any(|named| named == kind),
        _ => false,
    }
}

/// Adds `items` to schemas of arrays, because some providers require it in every array.
pub(crate) fn complete(schema: &mut Map<String, Value>) {
    if allows(schema, "array") {
        schema.entry("items").or_insert_with(|| json!({}));
    }
}

/// Adds properties to `required` whose own schema has `required: true`, as before draft 4.
pub(crate) fn require_marked(members: &Map<String, Value>, mended: &mut Map<String, Value>) {
    let properties = members.get("properties").and_then(Value::as_object).into_iter().flatten();
    let marked = properties.filter(|(_, schema)| schema.get("required") == Some(&Value::Bool(true)));
    let marked: Vec<Value> = marked.map(|(name, _)| name.clone().into()).collect();
    if !marked.is_empty() {
        let known = mended.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let required = distinct(known.iter().chain(&marked));
        mended.insert("required".to_owned(), required);
    }
}

/// Removes a default value that the schema's own `type` or `enum` does not allow.
pub(crate) fn drop_wrong_default(schema: &mut Map<String, Value>) {
    let Some(default) = schema.get("default") else { return };
    let kinds: &[&str] = match default {
        Value::Null => &["null"],
        Value::Bool(_) => &["boolean"],
        Value::Number(number) if number.as_f64().is_some_and(|number| number.fract() == 0.0) => &["integer", "number"],
        Value::Number(_) => &["number"],
        Value::String(_) => &["string"],
        Value::Array(_) => &["array"],
        Value::Object(_) => &["object"],
    };
    let is_of_type = !schema.contains_key("type") || kinds.iter().any(|kind| allows(schema, kind));
    let is_choice = schema.get("enum").and_then(Value::as_array).is_none_or(|choices| choices.contains(default));
    if !(is_of_type && is_choice) {
        schema.remove("default");
    }
}
