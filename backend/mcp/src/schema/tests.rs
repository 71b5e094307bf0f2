//! Tests of the repair of schemas: schemas as servers write them, and the expected results.

use proptest::{collection::vec, prelude::*, sample::select};

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
fn references_are_resolved_and_arrays_get_items() {
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
fn top_level_alternatives_are_dropped_and_reported() {
    for keyword in ["oneOf", "anyOf", "allOf"] {
        let schema =
            json!({ "type": "object", keyword: [{ "required": ["a"] }], "properties": { "a": { "anyOf": [{}] } } });
        let mended = mend(&schema).unwrap();
        assert_eq!(mended.dropped, [keyword]);
        let mut expected = json!({ "type": "object", "properties": { "a": { "anyOf": [{}] } } });
        if keyword == "allOf" {
            expected["required"] = json!(["a"]);
        }
        assert_eq!(mended.schema, expected);
    }
}

#[test]
fn arguments_of_alternatives_at_the_top_are_kept() {
    let schema = json!({
        "$defs": { "A": { "type": "object", "properties": { "kind": { "const": "a" }, "n": { "type": "int" } } } },
        "anyOf": [{ "$ref": "#/$defs/A" }, { "type": "object", "properties": { "kind": { "const": "b" } } }],
    });
    let top = mend(&schema).unwrap();
    assert_eq!(top.dropped, ["anyOf"]);
    let properties = json!({ "kind": { "anyOf": [{ "const": "a" }, { "const": "b" }] }, "n": { "type": "integer" } });
    assert_eq!(top.schema, json!({ "type": "object", "properties": properties }));
}

#[test]
fn references_of_every_draft_are_resolved() {
    for (reference, defs) in [
        (json!({ "$ref": "#/definitions/A" }), json!({ "definitions": { "A": { "type": "int" } } })),
        (
            json!({ "$ref": "#/components/schemas/A" }),
            json!({ "components": { "schemas": { "A": { "type": "int" } } } }),
        ),
        (json!({ "$ref": "#a" }), json!({ "$defs": { "A": { "$anchor": "a", "type": "int" } } })),
        (json!({ "$ref": "#a" }), json!({ "definitions": { "A": { "$id": "#a", "type": "int" } } })),
        (json!({ "$ref": "#a" }), json!({ "definitions": { "A": { "id": "#a", "type": "int" } } })),
        (json!({ "$dynamicRef": "#a" }), json!({ "$defs": { "A": { "$dynamicAnchor": "a", "type": "int" } } })),
        (json!({ "$ref": "a.json" }), json!({ "$defs": { "A": { "$id": "a.json", "type": "int" } } })),
        (
            json!({ "$ref": "https://example.com/s#/$defs/A" }),
            json!({ "$id": "https://example.com/s", "$defs": { "A": { "type": "int" } } }),
        ),
        (json!({ "$ref": "#/$defs/A~1B%5BC%5D" }), json!({ "$defs": { "A/B[C]": { "type": "int" } } })),
    ] {
        let Value::Object(mut schema) = defs else { panic!("an object") };
        schema.insert("properties".to_owned(), json!({ "n": reference }));
        let properties = mended(&Value::Object(schema))["properties"].clone();
        assert_eq!(properties, json!({ "n": { "type": "integer" } }), "{reference}");
    }
    let recursive = json!({ "$recursiveAnchor": true, "properties": { "next": { "$recursiveRef": "#" } } });
    let next = json!({ "type": "object", "properties": { "next": { "properties": { "next": {} } } } });
    assert_eq!(mended(&recursive), next);
}

#[test]
fn schemas_that_cannot_be_repaired_are_reported() {
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
    assert!(error.contains("is longer than"), "{error}");
}

/// Tests each schema as the schema of a property, of array items and of an alternative.
#[test]
fn malformed_keywords_are_repaired_at_every_level() {
    for (written, expected) in [
        (json!({ "type": "object", "required": null }), json!({ "type": "object" })),
        (json!({ "type": "object", "required": false }), json!({ "type": "object" })),
        (json!({ "required": ["a", 1, "a"] }), json!({ "required": ["a"] })),
        (json!({ "required": "a" }), json!({ "required": ["a"] })),
        (json!({ "type": "int" }), json!({ "type": "integer" })),
        (json!({ "type": "STRING" }), json!({ "type": "string" })),
        (json!({ "type": "any" }), json!({})),
        (json!({ "type": null }), json!({})),
        (json!({ "type": {} }), json!({})),
        (json!({ "type": [] }), json!({})),
        (json!({ "type": ["string", null] }), json!({ "type": ["string", "null"] })),
        (json!({ "type": ["str", "string"] }), json!({ "type": "string" })),
        (json!({ "type": ["string", "any"] }), json!({})),
        (json!({ "type": "string|null" }), json!({ "type": ["string", "null"] })),
        (json!({ "minimum": 1, "exclusiveMinimum": true }), json!({ "exclusiveMinimum": 1 })),
        (json!({ "maximum": 1, "exclusiveMaximum": false }), json!({ "maximum": 1 })),
        (json!({ "exclusiveMinimum": true }), json!({})),
        (json!({ "minimum": "1.5", "maximum": "many", "multipleOf": 0 }), json!({ "minimum": 1.5 })),
        (json!({ "minLength": -1, "maxLength": 2.5, "minItems": "3" }), json!({ "minItems": 3 })),
        (json!({ "properties": null }), json!({})),
        (json!({ "properties": [] }), json!({})),
        (
            json!({ "properties": { "a": null, "b": true, "c": "int" } }),
            json!({ "properties": { "a": {}, "b": {}, "c": { "type": "integer" } } }),
        ),
        (
            json!({ "properties": { "a": { "required": true } } }),
            json!({ "properties": { "a": {} }, "required": ["a"] }),
        ),
        (json!({ "enum": "x" }), json!({ "enum": ["x"] })),
        (json!({ "enum": [] }), json!({})),
        (json!({ "enum": [1, 1, null] }), json!({ "enum": [1, null] })),
        (json!({ "items": true }), json!({ "items": {} })),
        (json!({ "items": [] }), json!({ "items": {} })),
        (json!({ "items": null, "type": "list" }), json!({ "items": {}, "type": "array" })),
        (
            json!({ "items": [{ "type": "int" }], "additionalItems": false }),
            json!({ "prefixItems": [{ "type": "integer" }], "items": { "not": {} } }),
        ),
        (json!({ "items": "string" }), json!({ "items": { "type": "string" } })),
        (json!({ "additionalProperties": null }), json!({})),
        (json!({ "additionalProperties": "no" }), json!({})),
        (json!({ "additionalProperties": false }), json!({ "additionalProperties": false })),
        (json!({ "anyOf": [] }), json!({})),
        (json!({ "anyOf": { "type": "bool" } }), json!({ "anyOf": [{ "type": "boolean" }] })),
        (json!({ "type": "integer", "default": "one" }), json!({ "type": "integer" })),
        (json!({ "type": "integer", "default": 1 }), json!({ "type": "integer", "default": 1 })),
        (json!({ "enum": ["a"], "default": "b" }), json!({ "enum": ["a"] })),
        (json!({ "pattern": "[", "format": 1, "title": [], "description": 7 }), json!({})),
        (json!({ "patternProperties": { "[": {}, "^a": {} } }), json!({ "patternProperties": { "^a": {} } })),
        (json!({ "uniqueItems": "true", "readOnly": 1 }), json!({ "uniqueItems": true })),
        (json!({ "examples": 1, "x-own": null, "x-other": [1] }), json!({ "examples": [1], "x-other": [1] })),
        (json!({ "$ref": null, "$id": "a", "$dynamicAnchor": 1, "$vocabulary": 1, "dependencies": 1 }), json!({})),
        (json!({ "dependentRequired": { "a": "b", "c": 1 } }), json!({ "dependentRequired": { "a": ["b"] } })),
    ] {
        for place in ["properties", "items", "anyOf"] {
            let within = |schema: &Value| match place {
                "properties" => json!({ "properties": { "p": schema } }),
                "items" => json!({ "items": schema }),
                _ => json!({ "anyOf": [schema] }),
            };
            let around = |schema: &Value| json!({ "type": "object", "properties": { "q": within(schema) } });
            assert_eq!(mended(&around(&written)), around(&expected), "{written}");
        }
    }
}

#[test]
fn the_top_level_is_repaired() {
    let schema =
        json!({ "type": "Dict", "properties": null, "required": null, "enum": [{}], "not": { "required": ["a"] } });
    let top = mend(&schema).unwrap();
    assert_eq!(top.schema, json!({ "type": "object", "properties": {} }));
    assert_eq!(top.dropped, ["enum", "not"]);
    assert!(mend(&json!({ "type": "int" })).unwrap_err().contains("not of type object"));
    assert!(mend(&Value::Null).is_err() && mend(&json!(true)).is_err() && mend(&json!([])).is_err());
    for bad in
        [json!({ "required": true }), json!({ "required": {} }), json!({ "default": null }), json!({ "default": "x" })]
    {
        assert_eq!(mended(&bad), json!({ "type": "object", "properties": {} }), "{bad}");
    }
    let error = mend(&json!({ "properties": [{ "name": "a" }] })).unwrap_err();
    assert_eq!(error, "its schema has properties that is not an object");
}

/// Generates JSON that resembles a schema more or less.
fn json_of_any_kind() -> impl Strategy<Value = Value> {
    const TEXTS: [&str; 16] = [
        "",
        "a",
        "b",
        "object",
        "string",
        "int",
        "any",
        "array",
        "null",
        "1",
        "-1",
        "true",
        "#",
        "#/$defs/a",
        "[",
        "^a(?=b)",
    ];
    const NAMES: &str = "a b $ref $defs $id $schema $anchor $dynamicRef $dynamicAnchor $vocabulary $comment \
                         definitions type properties patternProperties additionalProperties required enum const \
                         default items prefixItems additionalItems contains oneOf anyOf allOf not if then else \
                         dependencies dependentSchemas dependentRequired propertyNames unevaluatedItems \
                         unevaluatedProperties minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength \
                         maxLength pattern format minItems maxItems uniqueItems minContains maxProperties title \
                         description deprecated writeOnly examples contentSchema contentEncoding nullable";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..3).prop_map(Value::from),
        (-2.0..2.0).prop_map(|number: f64| json!(number)),
        select(&TEXTS[..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        let members = vec((select(NAMES.split(' ').collect::<Vec<_>>()).prop_map(str::to_owned), inner.clone()), 0..6);
        let object = members.prop_map(|members| Value::Object(members.into_iter().collect()));
        prop_oneof![1 => vec(inner, 0..4).prop_map(Value::Array), 4 => object]
    })
}

/// Returns `true` if each array schema has `items`, and no schema has a reference.
fn is_complete(schema: &Value) -> bool {
    let Value::Object(members) = schema else { return true };
    let nested = |name: &str| members.get(name).and_then(Value::as_object).into_iter().flat_map(Map::values);
    let is_array = super::keyword::allows(members, "array");
    !members.contains_key("$ref")
        && (!is_array || members.get("items").is_some_and(Value::is_object))
        && nested("properties").all(is_complete)
        && members.get("items").is_none_or(is_complete)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn repaired_schemas_are_valid_for_any_input(schema in json_of_any_kind()) {
        if let Ok(Mended { schema: mended, .. }) = mend(&schema) {
            prop_assert!(jsonschema::draft202012::meta::is_valid(&mended), "{schema} became {mended}");
            prop_assert!(jsonschema::draft202012::new(&mended).is_ok(), "{schema} became {mended}");
            prop_assert_eq!(&mended["type"], "object");
            prop_assert!(mended["properties"].is_object() && is_complete(&mended), "{schema} became {mended}");
            prop_assert!(super::NOT_AT_THE_TOP.iter().all(|&keyword| mended.get(keyword).is_none()));
            let again = mend(&mended).map(|mended| mended.schema);
            prop_assert_eq!(again.as_ref(), Ok(&mended), "repairing it again changes nothing");
        }
    }
}
