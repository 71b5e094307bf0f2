//! Repairs the argument schemas of servers' tools, so that every provider accepts them. A repaired schema is a JSON
//! Schema 2020-12 of an object. It has no references and no alternatives at the top level, and every array has `items`.

mod alternatives;
mod keyword;
mod target;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use super::limits::{MAX_MENDED_SCHEMA_BYTES, MAX_SCHEMA_BYTES, MAX_SCHEMA_LEVELS};

/// Keywords that providers refuse at the top level of a schema.
const NOT_AT_THE_TOP: [&str; 5] = ["oneOf", "anyOf", "allOf", "enum", "not"];
/// Keywords that refer to a schema. A dynamic reference differs from a plain one only if several schemas are combined,
/// so both are treated alike.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
const NO_SCHEMA: &str = "its schema contains a value that is not a schema";

/// A repaired schema.
#[derive(Debug, PartialEq)]
pub(crate) struct Mended {
    /// The schema.
    pub(crate) schema: Value,
    /// Keywords that were removed at the top level.
    pub(crate) dropped: Vec<&'static str>,
}

/// Repairs a schema. The error says why that is not possible.
pub(crate) fn mend(schema: &Value) -> Result<Mended, String> {
    let Value::Object(root) = schema else { return Err("its schema is not an object".to_owned()) };
    if schema.to_string().len() > MAX_SCHEMA_BYTES {
        return Err(format!("its schema is longer than {MAX_SCHEMA_BYTES} bytes"));
    }
    if levels(schema) > MAX_SCHEMA_LEVELS {
        return Err(format!("its schema has more than {MAX_SCHEMA_LEVELS} levels"));
    }
    let mut walk = Mender { root: schema, left: MAX_MENDED_SCHEMA_BYTES, open: Vec::new() };
    let mut mended = walk.object(root)?;
    alternatives::merge(&mut mended);
    let mut dropped: Vec<_> = NOT_AT_THE_TOP.into_iter().filter(|&keyword| mended.remove(keyword).is_some()).collect();
    // The walk has already removed `$schema`, like all keywords that do not describe arguments.
    dropped.extend(root.contains_key("$schema").then_some("$schema"));
    match mended.get("type") {
        None => {}
        Some(Value::String(kind)) if kind == "object" => {}
        Some(Value::Array(kinds)) if kinds.iter().any(|kind| kind == "object") => {}
        Some(_) => return Err("its input schema is not of type object".to_owned()),
    }
    mended.insert("type".to_owned(), json!("object"));
    keyword::drop_wrong_default(&mut mended);
    mended.entry("properties").or_insert_with(|| json!({}));
    Ok(Mended { schema: Value::Object(mended), dropped })
}

/// Returns the nesting depth of a value. Parsed JSON has a bounded depth, so the recursion is bounded.
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
    /// Bytes that may still be written. Without this limit, references to references could grow without end.
    left: usize,
    /// References whose targets are being inserted.
    open: Vec<&'a str>,
}

impl<'a> Mender<'a> {
    /// Repairs a schema. A string is read as the name of a type.
    fn schema(&mut self, schema: &'a Value) -> Result<Value, String> {
        match schema {
            Value::Object(members) => self.object(members).map(Value::Object),
            Value::Bool(true) | Value::Null => Ok(json!({})),
            Value::Bool(false) => Ok(json!({ "not": {} })),
            Value::String(_) => {
                let kind = keyword::types(schema).ok_or(NO_SCHEMA.to_owned())?;
                let mut mended = Map::from_iter([("type".to_owned(), kind)]);
                keyword::complete(&mut mended);
                Ok(Value::Object(mended))
            }
            _ => Err(NO_SCHEMA.to_owned()),
        }
    }

    fn object(&mut self, members: &'a Map<String, Value>) -> Result<Map<String, Value>, String> {
        let reference = REFERENCES.iter().find_map(|keyword| members.get(*keyword).filter(|value| !value.is_null()));
        let mut mended = match reference {
            Some(reference) => self.referenced(reference)?,
            None => Map::new(),
        };
        for (keyword, value) in members {
            self.spend(keyword.len() + 4)?;
            if let Some(value) = self.member(keyword, value, members)? {
                mended.insert(keyword.clone(), value);
            }
        }
        // Before 2020-12, a list in `items` had the meaning that `prefixItems` has now.
        if let Some(prefix) = members.get("items").filter(|items| items.is_array()) {
            if let Some(prefix) = self.listed(prefix)? {
                mended.insert("prefixItems".to_owned(), prefix);
            }
            let rest = self.schema(members.get("additionalItems").unwrap_or(&Value::Null))?;
            mended.insert("items".to_owned(), rest);
        }
        keyword::require_marked(members, &mut mended);
        keyword::drop_wrong_default(&mut mended);
        keyword::complete(&mut mended);
        Ok(mended)
    }

    /// Repairs the value of a keyword. Returns `None` if the keyword has no meaning here, or no usable value.
    fn member(
        &mut self,
        keyword: &str,
        value: &'a Value,
        members: &'a Map<String, Value>,
    ) -> Result<Option<Value>, String> {
        match keyword {
            "definitions" | "dependencies" | "additionalItems" => Ok(None),
            // Drafts before draft 6 used `id` for `$id`.
            "id" if value.is_string() => Ok(None),
            keyword if keyword.starts_with('$') => Ok(None),
            "properties" | "patternProperties" | "dependentSchemas" => self.named(keyword, value),
            "oneOf" | "anyOf" | "allOf" | "prefixItems" => self.listed(value),
            "items" if value.is_array() => Ok(None),
            "additionalProperties" | "unevaluatedProperties" | "unevaluatedItems" => match value {
                // `additionalProperties: false` is the one boolean that every provider knows and some require.
                Value::Bool(_) => Ok(Some(value.clone())),
                Value::Object(_) => self.schema(value).map(Some),
                _ => Ok(None),
            },
            "items" | "not" | "if" | "then" | "else" | "contains" | "propertyNames" | "contentSchema" => {
                if value.is_null() && keyword != "items" { Ok(None) } else { self.schema(value).map(Some) }
            }
            _ => {
                let mended = keyword::mended(keyword, value, members);
                self.spend(mended.as_ref().map_or(0, |value| value.to_string().len()))?;
                Ok(mended)
            }
        }
    }

    fn named(&mut self, keyword: &str, value: &'a Value) -> Result<Option<Value>, String> {
        let schemas = match value {
            Value::Object(schemas) => schemas,
            Value::Null | Value::Bool(_) => return Ok(None),
            Value::Array(items) if items.is_empty() => return Ok(None),
            _ => return Err(format!("its schema has {keyword} that is not an object")),
        };
        let mut mended = Map::new();
        for (name, schema) in schemas {
            if keyword == "patternProperties" && !keyword::is_pattern(name) {
                continue;
            }
            self.spend(name.len() + 4)?;
            mended.insert(name.clone(), self.schema(schema)?);
        }
        Ok(Some(Value::Object(mended)))
    }

    fn listed(&mut self, value: &'a Value) -> Result<Option<Value>, String> {
        match value {
            Value::Array(schemas) if !schemas.is_empty() => {
                schemas.iter().map(|schema| self.schema(schema)).collect::<Result<_, _>>().map(Some)
            }
            Value::Object(_) => self.schema(value).map(|schema| Some(json!([schema]))),
            _ => Ok(None),
        }
    }

    /// Returns the repaired target of a reference within the schema. Where a schema contains itself, returns an empty
    /// schema, which accepts any value.
    fn referenced(&mut self, reference: &'a Value) -> Result<Map<String, Value>, String> {
        let Value::String(reference) = reference else {
            return Err("its schema has a $ref that is not a string".to_owned());
        };
        if self.open.contains(&reference.as_str()) {
            return Ok(Map::new());
        }
        let target = target::find(self.root, reference)?;
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
            format!("its schema is longer than {MAX_MENDED_SCHEMA_BYTES} bytes with its references resolved")
        })?;
        Ok(())
    }
}
