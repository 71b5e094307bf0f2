//! Argument names that Anthropic refuses (`$filter`, `user[name]`, `a b`). Each is mapped to a safe name in the schema
//! and in the calls of the history, and mapped back in the calls of the answer.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use serde_json::{Map, Value, value::RawValue};
use tallybook_tools::ToolSpec;

use super::{
    limits::{MAX_PROPERTY_NAME_CHARS, MAX_REPLAYED_DEPTH},
    object::Object,
    request::{AssistantBlock, ModelMessage, ModelRequest, ToolCallRequest},
};

/// Keywords of a schema whose value is one schema or a list of schemas.
const SCHEMAS: [&str; 15] = [
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords whose value maps argument names to schemas.
const BY_PROPERTY: [&str; 2] = ["properties", "dependentSchemas"];

/// Keywords whose value maps other names to schemas.
const BY_NAME: [&str; 3] = ["$defs", "definitions", "patternProperties"];

/// Keywords of schemas that apply to the same value as the schema around them.
const SAME_VALUE: [&str; 7] = ["allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas"];

/// Maximum number of schemas that are considered for one value, because `$ref` may be circular.
const MAX_SCHEMAS_OF_VALUE: usize = 64;

/// The safe argument names of the tools of one request.
#[derive(Clone)]
pub(crate) struct PropertyNames(Arc<HashMap<String, ToolNames>>);

/// The safe argument names of one tool.
struct ToolNames {
    schema: Value,
    /// Safe names by original name, only for names that change.
    safe: HashMap<String, String>,
    /// Original names by safe name.
    original: HashMap<String, String>,
}

impl PropertyNames {
    /// Returns the safe names for these tools; `None` if all names are already safe.
    pub(crate) fn of(tools: &[ToolSpec]) -> Option<Self> {
        let tools = tools.iter().filter_map(|tool| Some((tool.name.clone(), ToolNames::of(&tool.input_schema)?)));
        let tools: HashMap<_, _> = tools.collect();
        (!tools.is_empty()).then(|| Self(Arc::new(tools)))
    }

    /// Returns the request with safe names in place of the original ones.
    pub(crate) fn request(&self, mut request: ModelRequest) -> ModelRequest {
        let safe = |spec: &ToolSpec| match self.0.get(&spec.name) {
            Some(names) => ToolSpec { input_schema: names.safe_schema(&names.schema), ..spec.clone() },
            None => spec.clone(),
        };
        request.tools = request.tools.iter().map(safe).collect();
        for message in &mut request.messages {
            let ModelMessage::Assistant(blocks) = message else { continue };
            for block in blocks {
                let AssistantBlock::ToolCall(call) = block else { continue };
                if let Some(names) = self.0.get(&call.name) {
                    names.rename(&mut call.input_text, &names.safe);
                }
            }
        }
        request
    }

    /// Returns a call of the answer with the original names.
    pub(crate) fn original(&self, mut call: ToolCallRequest) -> ToolCallRequest {
        if let Some(names) = self.0.get(&call.name) {
            names.rename(&mut call.input_text, &names.original);
        }
        call
    }
}

impl ToolNames {
    fn of(schema: &Value) -> Option<Self> {
        let mut all = BTreeSet::new();
        collect_names(schema, &mut all);
        let mut taken: BTreeSet<String> = all.iter().filter(|name| is_safe(name)).map(|name| (*name).clone()).collect();
        let mut safe = HashMap::new();
        for name in all.into_iter().filter(|name| !is_safe(name)) {
            let new = safe_name(name, &taken);
            taken.insert(new.clone());
            safe.insert(name.clone(), new);
        }
        let original = safe.iter().map(|(name, safe)| (safe.clone(), name.clone())).collect();
        (!safe.is_empty()).then(|| Self { schema: schema.clone(), safe, original })
    }

    fn safe_for(&self, name: &str) -> String {
        self.safe.get(name).map_or(name, String::as_str).to_owned()
    }

    /// Returns a schema with safe names.
    fn safe_schema(&self, schema: &Value) -> Value {
        let Value::Object(keywords) = schema else {
            return match schema {
                Value::Array(schemas) => schemas.iter().map(|schema| self.safe_schema(schema)).collect(),
                other => other.clone(),
            };
        };
        let changed = keywords.iter().map(|(keyword, value)| {
            let value = match (keyword.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    properties.iter().map(|(name, it)| self.property(name, it)).collect()
                }
                ("dependentSchemas", Value::Object(schemas)) => {
                    schemas.iter().map(|(name, schema)| (self.safe_for(name), self.safe_schema(schema))).collect()
                }
                ("dependentRequired", Value::Object(lists)) => {
                    lists.iter().map(|(name, names)| (self.safe_for(name), self.safe_list(names))).collect()
                }
                ("required", names) => self.safe_list(names),
                (keyword, Value::Object(schemas)) if BY_NAME.contains(&keyword) => {
                    schemas.iter().map(|(name, schema)| (name.clone(), self.safe_schema(schema))).collect()
                }
                (keyword, value) if SCHEMAS.contains(&keyword) => self.safe_schema(value),
                (_, value) => value.clone(),
            };
            (keyword.clone(), value)
        });
        Value::Object(changed.collect())
    }

    /// Returns a property under its safe name. If the name changes, the description begins with the original name, for
    /// the model.
    fn property(&self, name: &str, schema: &Value) -> (String, Value) {
        let mut schema = self.safe_schema(schema);
        if let (Some(_), Value::Object(keywords)) = (self.safe.get(name), &mut schema) {
            let description = keywords.get("description").and_then(Value::as_str).unwrap_or_default();
            let description = format!("{name}: {description}");
            keywords.insert("description".to_owned(), description.trim_end_matches(": ").into());
        }
        (self.safe_for(name), schema)
    }

    fn safe_list(&self, names: &Value) -> Value {
        let Value::Array(names) = names else { return names.clone() };
        names.iter().map(|name| name.as_str().map_or_else(|| name.clone(), |name| self.safe_for(name).into())).collect()
    }

    /// Renames arguments in the text of a call. Text that is not valid JSON, or a value that is nested too deeply,
    /// stays unchanged.
    fn rename(&self, input: &mut String, names: &HashMap<String, String>) {
        if let Some(renamed) = self.renamed(input, &[&self.schema], names, MAX_REPLAYED_DEPTH) {
            *input = renamed;
        }
    }

    /// Renames the keys of a value that these schemas describe. Numbers keep every digit. Returns `None` for a value
    /// without keys, for invalid JSON, and beyond the maximum depth.
    fn renamed(&self, json: &str, schemas: &[&Value], names: &HashMap<String, String>, depth: usize) -> Option<String> {
        let depth = depth.checked_sub(1)?;
        let schemas = self.same_value(schemas);
        let inner = |json: &RawValue, schemas: Vec<&Value>| {
            let renamed = if schemas.is_empty() { None } else { self.renamed(json.get(), &schemas, names, depth) };
            renamed.unwrap_or_else(|| json.get().to_owned())
        };
        if json.trim_start().starts_with('[') {
            let items = schemas.iter().flat_map(|schema| ["items", "prefixItems"].map(|key| &schema[key]));
            let items: Vec<&Value> = items.flat_map(one_or_many).collect();
            let values: Vec<&RawValue> = serde_json::from_str(json).ok()?;
            let values: Vec<String> = values.into_iter().map(|value| inner(value, items.clone())).collect();
            return Some(format!("[{}]", values.join(",")));
        }
        let object = Object::parse(json)?;
        let mut written = Vec::new();
        for (key, value) in object.fields() {
            let renamed = names.get(key);
            let of_key = schemas.iter().filter_map(|schema| {
                let properties = schema["properties"].as_object()?;
                properties.get(key).or_else(|| properties.get(renamed?))
            });
            let properties: Vec<&Value> = of_key.collect();
            // A key without a schema is not renamed: it may equal a safe name by chance.
            let renamed = renamed.filter(|_| !properties.is_empty()).map_or(key, String::as_str);
            let schemas = if properties.is_empty() { schemas_of_others(&schemas) } else { properties };
            written.push(format!("{}:{}", Value::from(renamed), inner(value, schemas)));
        }
        Some(format!("{{{}}}", written.join(",")))
    }

    /// Returns these schemas, and the schemas that apply to the same value.
    fn same_value<'a>(&'a self, schemas: &[&'a Value]) -> Vec<&'a Value> {
        let mut all = schemas.to_vec();
        let mut at = 0;
        while at < all.len() && all.len() < MAX_SCHEMAS_OF_VALUE {
            let schema = all[at];
            at += 1;
            for keyword in SAME_VALUE {
                match (keyword, &schema[keyword]) {
                    ("dependentSchemas", Value::Object(schemas)) => all.extend(schemas.values()),
                    (_, value) => all.extend(one_or_many(value)),
                }
            }
            let pointer = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
            all.extend(pointer.and_then(|pointer| self.schema.pointer(pointer)));
        }
        all.truncate(MAX_SCHEMAS_OF_VALUE);
        all
    }
}

/// Returns the schemas for arguments whose names are not among the properties.
fn schemas_of_others<'a>(schemas: &[&'a Value]) -> Vec<&'a Value> {
    let others = schemas.iter().flat_map(|schema| {
        let patterns = schema["patternProperties"].as_object().into_iter().flat_map(Map::values);
        patterns.chain([&schema["additionalProperties"]])
    });
    others.filter(|schema| schema.is_object()).collect()
}

fn one_or_many(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(values) => values.iter().collect(),
        Value::Object(_) => vec![value],
        _ => Vec::new(),
    }
}

/// Collects the argument names from all places of a schema.
fn collect_names<'a>(schema: &'a Value, names: &mut BTreeSet<&'a String>) {
    match schema {
        Value::Array(schemas) => schemas.iter().for_each(|schema| collect_names(schema, names)),
        Value::Object(keywords) => {
            for (keyword, value) in keywords {
                let keyword = keyword.as_str();
                if let (true, Value::Object(schemas)) = (BY_PROPERTY.contains(&keyword), value) {
                    names.extend(schemas.keys());
                }
                match value {
                    Value::Object(schemas) if BY_PROPERTY.contains(&keyword) || BY_NAME.contains(&keyword) => {
                        schemas.values().for_each(|schema| collect_names(schema, names));
                    }
                    value if SCHEMAS.contains(&keyword) => collect_names(value, names),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

fn is_safe(name: &str) -> bool {
    (1..=MAX_PROPERTY_NAME_CHARS).contains(&name.len()) && name.chars().all(is_safe_char)
}

fn is_safe_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')
}

/// Returns a safe name that no other argument of the tool has.
fn safe_name(name: &str, taken: &BTreeSet<String>) -> String {
    let plain: String = name.chars().map(|c| if is_safe_char(c) { c } else { '_' }).collect();
    let plain = if plain.is_empty() { "_".to_owned() } else { plain };
    let numbered = |number: usize| {
        let ending = if number == 1 { String::new() } else { format!("_{number}") };
        let beginning = plain.chars().take(MAX_PROPERTY_NAME_CHARS - ending.len());
        beginning.chain(ending.chars()).collect::<String>()
    };
    // One of these is free, because there are more candidates than taken names.
    (1..=taken.len() + 1).map(numbered).find(|name| !taken.contains(name)).unwrap_or(plain)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ToolNames, is_safe};

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "$filter": {"type": "string", "description": "Which ones."},
                "_filter": {"type": "string"},
                "@filter": {},
                "user[name]": {"type": "object", "properties": {"a b": {"type": "number"}}, "required": ["a b"]},
                "list": {"type": "array", "items": {"properties": {"名前": {"type": "string"}}}},
                "free": {"type": "object", "additionalProperties": true},
                "": {"$ref": "#/$defs/tree"},
                "plain": {"anyOf": [{"properties": {"a b": {}}}, {"type": "null"}]},
            },
            "required": ["$filter", "list"],
            "dependentRequired": {"$filter": ["user[name]"]},
            "$defs": {"tree": {"properties": {"le/ft": {"$ref": "#/$defs/tree"}}}},
        })
    }

    #[test]
    fn names_in_a_schema_are_safe_and_unique() {
        let names = ToolNames::of(&schema()).unwrap();
        let safe = names.safe_schema(&names.schema);
        assert_eq!(names.safe["@filter"], "_filter_3");
        assert_eq!(names.safe["$filter"], "_filter_2");
        let keys: Vec<&String> = safe["properties"].as_object().unwrap().keys().collect();
        assert_eq!(keys.len(), 8);
        assert!(keys.iter().all(|key| is_safe(key)), "{keys:?}");
        assert_eq!(safe["properties"]["user_name_"]["properties"]["a_b"]["type"], "number");
        assert_eq!(safe["properties"]["user_name_"]["required"], json!(["a_b"]));
        assert_eq!(safe["properties"]["plain"]["anyOf"][0]["properties"]["a_b"], json!({"description": "a b"}));
        assert_eq!(safe["properties"]["_filter_2"]["description"], "$filter: Which ones.");
        assert_eq!(safe["required"], json!(["_filter_2", "list"]));
        assert_eq!(safe["dependentRequired"], json!({"_filter_2": ["user_name_"]}));
        assert!(ToolNames::of(&json!({"properties": {"a.b-c_1": {}}})).is_none());
        let long = ToolNames::of(&json!({"properties": {"x".repeat(65): {}, "x".repeat(64): {}}})).unwrap();
        assert!(is_safe(&long.safe[&"x".repeat(65)]));
    }

    #[test]
    fn arguments_round_trip_with_every_digit() {
        let names = ToolNames::of(&schema()).unwrap();
        let original = r#"{"$filter":"x","_filter":1.00000000000000000000001,"user[name]":{"a b":1e400,"other":[{"a b":1}]},"list":[{"名前":"$filter"}],"free":{"a_b":1,"$filter":2,"_filter_2":3},"":{"le/ft":{"le/ft":{}}},"plain":{"a b":2}}"#;
        let mut input = original.to_owned();
        names.rename(&mut input, &names.safe);
        assert_eq!(
            input,
            r#"{"_filter_2":"x","_filter":1.00000000000000000000001,"user_name_":{"a_b":1e400,"other":[{"a b":1}]},"list":[{"__":"$filter"}],"free":{"a_b":1,"$filter":2,"_filter_2":3},"_":{"le_ft":{"le_ft":{}}},"plain":{"a_b":2}}"#
        );
        names.rename(&mut input, &names.original);
        assert_eq!(input, original);
        for unreadable in ["", "{", "[1", "7", "\"x\""] {
            let mut input = unreadable.to_owned();
            names.rename(&mut input, &names.original);
            assert_eq!(input, unreadable);
        }
    }
}
