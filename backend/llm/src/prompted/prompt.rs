//! The system text that describes the tools to a model without native tool calling, and how to call them
//! (`backend/prompts/tools_in_words.txt`).

use askama::Template;
use serde_json::Value;
use tallybook_tools::ToolSpec;

use crate::request::ToolChoice;

#[derive(Template)]
#[template(path = "tools_in_words.txt", escape = "none")]
struct Instructions<'a> {
    may_call: bool,
    /// The tool that must be called, in words; `None` if the model decides.
    must_call: Option<String>,
    tools: Vec<Tool<'a>>,
}

struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    arguments: Vec<Argument<'a>>,
}

struct Argument<'a> {
    name: &'a str,
    kind: String,
    required: bool,
    description: &'a str,
}

/// Returns the system text that describes the tools.
pub(crate) fn describe(tools: &[ToolSpec], choice: &ToolChoice) -> Result<String, askama::Error> {
    let tools = tools.iter().map(Tool::of).collect();
    let must_call = match choice {
        ToolChoice::Auto | ToolChoice::None => None,
        ToolChoice::Required => Some("at least one tool".to_owned()),
        ToolChoice::Named(name) => Some(format!("the tool {name}")),
    };
    Instructions { may_call: *choice != ToolChoice::None, must_call, tools }.render()
}

impl<'a> Tool<'a> {
    fn of(spec: &'a ToolSpec) -> Self {
        let schema = &spec.input_schema;
        let required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|n| n == name));
        let properties = schema["properties"].as_object().into_iter().flatten();
        let arguments = properties.map(|(name, property)| Argument {
            name,
            kind: kind(property),
            required: required(name),
            description: property["description"].as_str().unwrap_or_default(),
        });
        Self { name: &spec.name, description: &spec.description, arguments: arguments.collect() }
    }
}

/// Describes a schema in a few words if possible, otherwise as JSON.
fn kind(schema: &Value) -> String {
    if let Some(values) = schema["enum"].as_array() {
        return joined("one of ", ", ", values.iter().map(Value::to_string));
    }
    if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        return joined("", " or ", choices.iter().map(kind));
    }
    match &schema["type"] {
        Value::String(word) if word == "array" && schema["items"].is_object() => {
            format!("list of {}", kind(&schema["items"]))
        }
        Value::String(word) if word != "object" => word.clone(),
        Value::Array(text) => joined("", " or ", text.iter().filter_map(Value::as_str).map(str::to_owned)),
        _ => schema.to_string(),
    }
}

fn joined(start: &str, between: &str, text: impl Iterator<Item = String>) -> String {
    format!("{start}{}", text.collect::<Vec<_>>().join(between))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tallybook_tools::builtin;

    use super::{describe, kind};
    use crate::ToolChoice;

    #[test]
    fn tools_and_their_arguments_are_described() {
        let prompt = describe(&builtin().unwrap().specs(), &ToolChoice::Auto).unwrap();
        assert!(prompt.starts_with("# Calling tools\nTo call a tool"), "{prompt}");
        let add = "\n\n## add\nAdds two numbers exactly, in decimal: 0.1 + 0.2 is 0.3. Use it for every sum instead of \
                   computing in your head.\nArguments:\n- a (number or string, required): The first number.\n\
                   - b (number or string, required): The number added to it.\n\n## convert_units\n";
        assert!(prompt.contains(add), "{prompt}");
        assert!(
            prompt.contains("\n```tool\n{\"tool\": \"NAME\", \"args\": {\"ARGUMENT\": \"VALUE\"}}\n```\n"),
            "{prompt}"
        );
        assert!(!prompt.contains("\n\n\n"), "{prompt}");
    }

    #[test]
    fn the_prompts() {
        let add: Vec<_> = builtin().unwrap().specs().iter().filter(|tool| tool.name == "add").cloned().collect();
        insta::assert_snapshot!("tools_in_words", describe(&add, &ToolChoice::Auto).unwrap());
        insta::assert_snapshot!("no_more_tools_in_words", describe(&add, &ToolChoice::None).unwrap());
    }

    #[test]
    fn the_prompt_says_when_no_more_tools_may_be_used() {
        let prompt = describe(&builtin().unwrap().specs(), &ToolChoice::None).unwrap();
        assert!(prompt.starts_with("# Tools\nNo more tools can be called in this answer"), "{prompt}");
        assert!(!prompt.contains("## add"), "{prompt}");
    }

    #[test]
    fn the_prompt_says_when_a_tool_must_be_called() {
        let described = |choice| describe(&builtin().unwrap().specs(), &choice).unwrap();
        let must = "answer without any block.\nIn this answer, call ";
        assert!(!described(ToolChoice::Auto).contains(must));
        assert!(described(ToolChoice::Required).contains(&format!("{must}at least one tool.\n\n# Tools")));
        assert!(described(ToolChoice::Named("add".to_owned())).contains(&format!("{must}the tool add.\n\n# Tools")));
    }

    #[test]
    fn schemas_become_text_if_possible() {
        for (schema, text) in [
            (json!({"type": "string", "description": "x"}), "string"),
            (json!({"type": ["integer", "null"]}), "integer or null"),
            (json!({"enum": ["low", 2]}), r#"one of "low", 2"#),
            (json!({"type": "array", "items": {"type": "number"}}), "list of number"),
            (json!({"type": "object", "properties": {}}), r#"{"properties":{},"type":"object"}"#),
            (json!(true), "true"),
        ] {
            assert_eq!(kind(&schema), text);
        }
    }
}
