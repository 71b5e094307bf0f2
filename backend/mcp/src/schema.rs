//! Schemas of arguments as servers write them, made into such as every provider takes: an object, without references,
//! without alternatives at the top, and with `items` in every array.

use serde_json::{Map, Value, json};

use super::{
    limits::{MAX_MENDED_SCHEMA_BYTES, MAX_SCHEMA_BYTES, MAX_SCHEMA_LEVELS},
    text,
};

/// A schema that models can be told.
#[derive(Debug, PartialEq)]
pub(super) struct Mended {
    /// The schema.
    pub(super) schema: Value,
    /// What was taken out at the top, by its keyword.
    pub(super) dropped: Vec<&'static str>,
}

/// Mends a schema; an error says why that cannot be done.
pub(super) fn mend(schema: &Value) -> Result<Mended, String> {
    let Value::Object(root) = schema else { return Err("its schema is not an object".to_owned()) };
    if schema.to_string().len() > MAX_SCHEMA_BYTES {
        return Err(format!("its schema is longer than {MAX_SCHEMA_BYTES} bytes"));
    }
    if levels(schema) > MAX_SCHEMA_LEVELS {
        return Err(format!("its schema has more than {MAX_SCHEMA_LEVELS} levels"));
    }
    let mut walk = Mender { root: schema, left: MAX_MENDED_SCHEMA_BYTES, open: Vec::new() };
    let mut mended = walk.object(root)?;
    let alternatives = ["oneOf", "anyOf", "allOf"].into_iter().filter(|&keyword| mended.remove(keyword).is_some());
    let mut dropped: Vec<_> = alternatives.collect();
    // The walk has taken it out, like all that says nothing of arguments.
    dropped.extend(root.contains_key("$schema").then_some("$schema"));
    match mended.get("type") {
        None => {}
        Some(Value::String(kind)) if kind == "object" => {}
        Some(Value::Array(kinds)) if kinds.iter().any(|kind| kind == "object") => {}
        Some(_) => return Err("its arguments are not an object".to_owned()),
    }
    mended.insert("type".to_owned(), json!("object"));
    mended.entry("properties").or_insert_with(|| json!({}));
    Ok(Mended { schema: Value::Object(mended), dropped })
}

/// How deep a value is nested. What was parsed has a bounded depth, so this ends.
fn levels(value: &Value) -> usize {
    let deepest = match value {
        Value::Array(items) => items.iter().map(levels).max(),
        Value::Object(members) => members.values().map(levels).max(),
        _ => return 0,
    };
    1 + deepest.unwrap_or(0)
}

struct Mender<'a> {
    root: &'a Value,
    /// Bytes that may still be written: references to references grow without end.
    left: usize,
    /// The references that are being put in place.
    open: Vec<&'a str>,
}

impl<'a> Mender<'a> {
    fn schema(&mut self, schema: &'a Value) -> Result<Value, String> {
        match schema {
            Value::Object(members) => self.object(members).map(Value::Object),
            Value::Bool(true) => Ok(json!({})),
            Value::Bool(false) => Ok(json!({ "not": {} })),
            _ => Err("its schema holds something that is no schema".to_owned()),
        }
    }

    fn object(&mut self, members: &'a Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut mended = Map::new();
        if let Some(reference) = members.get("$ref") {
            mended = self.referenced(reference)?;
        }
        for (keyword, value) in members {
            self.spend(keyword.len() + 4)?;
            let value = match keyword.as_str() {
                "$ref" | "$schema" | "$id" | "$anchor" | "$defs" | "definitions" | "$comment" => continue,
                "$dynamicRef" | "$recursiveRef" => return Err(format!("its schema uses {keyword}")),
                "description" | "title" => match value.as_str() {
                    Some(words) => Value::String(text::description(words)),
                    None => continue,
                },
                "properties" | "patternProperties" | "dependentSchemas" => self.named(value)?,
                "oneOf" | "anyOf" | "allOf" | "prefixItems" => self.listed(value)?,
                "items" if value.is_array() => self.listed(value)?,
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties" => self.boolean_or_schema(keyword, value)?,
                _ => {
                    self.spend(value.to_string().len())?;
                    value.clone()
                }
            };
            mended.insert(keyword.clone(), value);
        }
        let is_array = match mended.get("type") {
            Some(Value::String(kind)) => kind == "array",
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
            _ => false,
        };
        if is_array {
            mended.entry("items").or_insert_with(|| json!({}));
        }
        Ok(mended)
    }

    /// `additionalProperties: false` is the one boolean that every provider knows and some ask for.
    fn boolean_or_schema(&mut self, keyword: &str, value: &'a Value) -> Result<Value, String> {
        if value.is_boolean() && keyword != "items" { Ok(value.clone()) } else { self.schema(value) }
    }

    fn named(&mut self, value: &'a Value) -> Result<Value, String> {
        let Value::Object(schemas) = value else {
            return Err("its schema holds something that is no schema".to_owned());
        };
        let mut mended = Map::new();
        for (name, schema) in schemas {
            self.spend(name.len() + 4)?;
            mended.insert(name.clone(), self.schema(schema)?);
        }
        Ok(Value::Object(mended))
    }

    fn listed(&mut self, value: &'a Value) -> Result<Value, String> {
        let Value::Array(schemas) = value else {
            return Err("its schema holds something that is no schema".to_owned());
        };
        schemas.iter().map(|schema| self.schema(schema)).collect()
    }

    /// What a reference within the schema points to. A schema that holds itself is cut there: anything goes.
    fn referenced(&mut self, reference: &'a Value) -> Result<Map<String, Value>, String> {
        let Value::String(reference) = reference else {
            return Err("its schema has a $ref that is no text".to_owned());
        };
        let Some(pointer) = reference.strip_prefix('#') else {
            return Err(format!("its schema refers to another document: {}", text::message(reference)));
        };
        if self.open.contains(&reference.as_str()) {
            return Ok(Map::new());
        }
        let Some(target) = self.root.pointer(&pointer.replace("%24", "$")) else {
            return Err(format!("its schema refers to what is not there: {}", text::message(reference)));
        };
        self.open.push(reference);
        let mended = self.schema(target)?;
        self.open.pop();
        match mended {
            Value::Object(members) => Ok(members),
            _ => Ok(Map::new()),
        }
    }

    fn spend(&mut self, bytes: usize) -> Result<(), String> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| {
            format!("its schema grows beyond {MAX_MENDED_SCHEMA_BYTES} bytes with its references in place")
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(schema: &Value) -> Value {
        mend(schema).unwrap().schema
    }

    #[test]
    fn a_bare_schema_becomes_an_object() {
        assert_eq!(mended(&json!({})), json!({ "type": "object", "properties": {} }));
        assert!(mend(&json!({ "type": "string" })).is_err());
        assert!(mend(&json!("text")).is_err());
    }

    #[test]
    fn references_are_put_in_place_and_arrays_get_items() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "tree": { "$ref": "#/$defs/Tree", "description": "the root" },
                "list": { "type": "array" },
                "$ref": { "type": "string" },
            },
            "$defs": { "Tree": { "type": "object", "properties": { "left": { "$ref": "#/$defs/Tree" } } } },
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "tree": { "type": "object", "properties": { "left": {} }, "description": "the root" },
                "list": { "type": "array", "items": {} },
                "$ref": { "type": "string" },
            },
        });
        let mended = mend(&schema).unwrap();
        assert_eq!((mended.schema, mended.dropped), (expected, vec!["$schema"]));
    }

    #[test]
    fn alternatives_at_the_top_are_dropped_and_said() {
        for keyword in ["oneOf", "anyOf", "allOf"] {
            let schema =
                json!({ "type": "object", keyword: [{ "required": ["a"] }], "properties": { "a": { "anyOf": [{}] } } });
            let mended = mend(&schema).unwrap();
            assert_eq!(mended.dropped, [keyword]);
            assert_eq!(mended.schema, json!({ "type": "object", "properties": { "a": { "anyOf": [{}] } } }));
        }
    }

    #[test]
    fn what_cannot_be_mended_says_why() {
        let external = mend(&json!({ "properties": { "a": { "$ref": "https://example.com/x" } } })).unwrap_err();
        assert_eq!(external, "its schema refers to another document: https://example.com/x");
        assert!(mend(&json!({ "properties": { "a": { "$ref": "#/$defs/None" } } })).is_err());
        assert!(mend(&json!({ "properties": { "a": 1 } })).is_err());
        let long = "x".repeat(MAX_SCHEMA_BYTES);
        assert!(mend(&json!({ "properties": { "a": { "const": long } } })).is_err());
        let deep = (0..40).fold(json!({}), |inner, _| json!({ "items": inner }));
        assert!(mend(&json!({ "properties": { "a": deep } })).unwrap_err().contains("32 levels"));
    }

    #[test]
    fn references_that_multiply_are_bounded() {
        let mut defs = Map::new();
        for level in 0..30 {
            let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
            defs.insert(format!("d{level}"), json!({ "properties": { "a": next, "b": next } }));
        }
        defs.insert("d30".to_owned(), json!({}));
        let error = mend(&json!({ "$defs": defs, "properties": { "x": { "$ref": "#/$defs/d0" } } })).unwrap_err();
        assert!(error.contains("grows beyond"), "{error}");
    }
}
