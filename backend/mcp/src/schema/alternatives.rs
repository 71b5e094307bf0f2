//! Merges the alternatives at the top level of a schema into its properties. Providers refuse `anyOf` and similar
//! keywords there. Without the merge, the model would not know the arguments.

use serde_json::{Map, Value, json};

/// Adds the properties of each alternative to the schema, and the names that `allOf` requires. The alternatives
/// themselves are kept.
pub(crate) fn merge(schema: &mut Map<String, Value>) {
    let mut found: Map<String, Value> = Map::new();
    let mut required: Vec<Value> = Vec::new();
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let alternatives = schema.get(keyword).and_then(Value::as_array).into_iter().flatten();
        for alternative in alternatives {
            for (name, property) in alternative["properties"].as_object().into_iter().flatten() {
                add(&mut found, name, property);
            }
            if keyword == "allOf" {
                required.extend(alternative["required"].as_array().into_iter().flatten().cloned());
            }
        }
    }
    if !found.is_empty()
        && let Value::Object(properties) = schema.entry("properties").or_insert_with(|| json!({}))
    {
        for (name, property) in found {
            // A property at the top level applies to each alternative, so it is kept unless it is empty.
            if properties.get(&name).is_none_or(|known| *known == json!({})) {
                properties.insert(name, property);
            }
        }
    }
    if !required.is_empty()
        && let Value::Array(names) = schema.entry("required").or_insert_with(|| json!([]))
    {
        for name in required {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
}

/// Adds a property of an alternative. Different schemas for one name become alternatives of that property.
fn add(found: &mut Map<String, Value>, name: &str, property: &Value) {
    let Some(known) = found.get_mut(name) else {
        found.insert(name.to_owned(), property.clone());
        return;
    };
    let only_alternatives =
        known.as_object().is_some_and(|members| members.len() == 1 && members.contains_key("anyOf"));
    let alternatives = known.get_mut("anyOf").and_then(Value::as_array_mut).filter(|_| only_alternatives);
    if let Some(schemas) = alternatives {
        if !schemas.contains(property) {
            schemas.push(property.clone());
        }
    } else if *known != *property {
        *known = json!({ "anyOf": [known.clone(), property] });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::merge;

    fn merged(schema: Value) -> Value {
        let Value::Object(mut schema) = schema else { panic!("an object") };
        merge(&mut schema);
        json!({ "properties": schema.get("properties"), "required": schema.get("required") })
    }

    #[test]
    fn arguments_of_alternatives_become_arguments_of_the_tool() {
        let union = json!({ "oneOf": [
            { "properties": { "action": { "const": "add" }, "name": { "type": "string" } }, "required": ["action"] },
            { "properties": { "action": { "const": "drop" }, "name": { "type": "string" } }, "required": ["action"] },
            { "properties": { "action": { "const": "list" } } },
        ] });
        let action = json!({ "anyOf": [{ "const": "add" }, { "const": "drop" }, { "const": "list" }] });
        let expected = json!({ "properties": { "action": action, "name": { "type": "string" } }, "required": null });
        assert_eq!(merged(union), expected);
        let all = json!({
            "properties": { "a": { "type": "integer" }, "b": {} },
            "required": ["a"],
            "allOf": [{ "properties": { "a": {}, "b": { "type": "string" } }, "required": ["a", "b"] }, { "not": {} }],
        });
        let properties = json!({ "a": { "type": "integer" }, "b": { "type": "string" } });
        assert_eq!(merged(all), json!({ "properties": properties, "required": ["a", "b"] }));
        assert_eq!(
            merged(json!({ "anyOf": [{ "required": ["a"] }] })),
            json!({ "properties": null, "required": null })
        );
    }
}
