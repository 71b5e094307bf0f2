//! Parses the client tools of a request, and its tool choice.

use std::collections::HashSet;

use serde_json::{Value, json};
use tallybook_conversations::ClientTool;
use tallybook_llm::ToolChoice;
use tallybook_protocol::json_depth;
use tallybook_tools::is_tool_name;

use crate::http::openai::{
    error::Refusal,
    request::{
        ChoiceOfTool, FunctionDefinition, MAX_SCHEMA_BYTES, MAX_SCHEMA_LEVELS, MAX_TOOL_DESCRIPTION_BYTES, MAX_TOOLS,
        ToolDefinition,
    },
};

/// Parses the tool definitions of a chat completion request.
pub(crate) fn read(definitions: Vec<ToolDefinition>) -> Result<Vec<ClientTool>, Refusal> {
    let mut functions = Vec::new();
    for (at, ToolDefinition { kind, function }) in definitions.into_iter().enumerate() {
        let Some(function) = function.filter(|_| kind == "function") else {
            let message = format!("A tool of the type {kind:?} cannot be offered. Send functions.");
            return Err(Refusal::bad(format!("tools[{at}].type"), message));
        };
        functions.push((format!("tools[{at}].function"), function));
    }
    read_functions(functions)
}

/// Parses functions, each with the parameter that contains it.
pub(crate) fn read_functions(functions: Vec<(String, FunctionDefinition)>) -> Result<Vec<ClientTool>, Refusal> {
    if functions.len() > MAX_TOOLS {
        return Err(Refusal::bad("tools", format!("There are too many tools. Send at most {MAX_TOOLS}.")));
    }
    let mut names = HashSet::new();
    let mut tools = Vec::new();
    for (place, function) in functions {
        let bad = |message: String| Err(Refusal::bad(format!("{place}.name"), message));
        if !is_tool_name(&function.name) {
            return bad("The name must be 1 to 64 of the letters a to z, digits, '_' and '-'.".to_owned());
        }
        if !names.insert(function.name.clone()) {
            return bad(format!("There are two tools named {:?}. Give each a name of its own.", function.name));
        }
        let tool = tool(function).map_err(|(field, message)| Refusal::bad(format!("{place}.{field}"), message))?;
        tools.push(tool);
    }
    Ok(tools)
}

fn tool(function: FunctionDefinition) -> Result<ClientTool, (&'static str, String)> {
    let FunctionDefinition { name, description, parameters } = function;
    let description = description.unwrap_or_default();
    if description.len() > MAX_TOOL_DESCRIPTION_BYTES {
        let message = format!("The description is too long. Use at most {MAX_TOOL_DESCRIPTION_BYTES} bytes.");
        return Err(("description", message));
    }
    let place = "parameters";
    let text = parameters.as_ref().map_or("null", |json| json.get());
    if text.len() > MAX_SCHEMA_BYTES || json_depth(text) > MAX_SCHEMA_LEVELS {
        let message =
            format!("The schema is too large. Use at most {MAX_SCHEMA_BYTES} bytes and {MAX_SCHEMA_LEVELS} levels.");
        return Err((place, message));
    }
    let message = "The parameters must be a JSON Schema of the type object.";
    let mut input_schema = match serde_json::from_str(text) {
        Ok(Value::Null) => json!({"type": "object", "properties": {}}),
        Ok(schema @ Value::Object(_)) => schema,
        _ => return Err((place, message.to_owned())),
    };
    if input_schema["type"].is_null() {
        // Some providers require the type.
        input_schema["type"] = json!("object");
    }
    if input_schema["type"] != "object" {
        return Err((place, message.to_owned()));
    }
    Ok(ClientTool { name, description, input_schema })
}

/// Parses the tool choice. `required` means a call of a client tool.
pub(crate) fn choice(choice: Option<ChoiceOfTool>, tools: &[ClientTool]) -> Result<ToolChoice, Refusal> {
    let bad = |message: String| Err(Refusal::bad("tool_choice", message));
    let choice = match choice {
        None => ToolChoice::Auto,
        Some(ChoiceOfTool::Word(word)) => match word.as_str() {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::None,
            "required" => ToolChoice::Required,
            _ => return bad(format!("tool_choice {word:?} is unknown. Use auto, none, required or a function.")),
        },
        // In a Responses API request, the name is next to the type, not in `function`.
        Some(ChoiceOfTool::Function { kind, function, name }) => {
            match function.map(|function| function.name).or(name).filter(|_| kind == "function") {
                Some(name) => ToolChoice::Named(name),
                None => return bad(format!("tool_choice of the type {kind:?} is not taken. Use a function.")),
            }
        }
    };
    match &choice {
        ToolChoice::Named(name) if tools.iter().all(|tool| tool.name != *name) => {
            bad(format!("tool_choice names {name:?}, which is not among tools."))
        }
        ToolChoice::Required if tools.is_empty() => bad("tool_choice is required, but there are no tools.".to_owned()),
        _ => Ok(choice),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tallybook_conversations::ClientTool;
    use tallybook_llm::ToolChoice;

    use super::{
        super::request::{ChatRequest, parse_body},
        choice, read,
    };
    use crate::http::openai::error::Refusal;

    fn parse(body: &Value) -> Result<ChatRequest, Refusal> {
        parse_body(&body.to_string(), "chat completion request")
    }

    fn tools(tools: &Value) -> Result<Vec<ClientTool>, String> {
        let request = parse(&json!({"tools": tools})).map_err(|refusal| refusal.param.unwrap())?;
        read(request.tools.unwrap()).map_err(|refusal| refusal.param.unwrap())
    }

    fn function(name: &str, parameters: &Value) -> Value {
        json!({"type": "function", "function": {"name": name, "parameters": parameters, "strict": true}})
    }

    #[test]
    fn definitions_are_read_and_bounded() {
        let bare = json!({"type": "function", "function": {"name": "look"}});
        let read = tools(&json!([bare, function("get-2_x", &json!({"properties": {}}))])).unwrap();
        assert_eq!(read[0].input_schema, json!({"type": "object", "properties": {}}));
        assert_eq!(read[1].input_schema["type"], "object");
        let many: Vec<Value> = (0..129).map(|n| function(&format!("f{n}"), &Value::Null)).collect();
        assert_eq!(tools(&json!(many[..128])).unwrap().len(), 128);
        let deep = (0..33).fold(json!({}), |inner, _| json!({"not": inner}));
        for (definitions, param) in [
            (json!(many), "tools"),
            (json!([{"function": {"name": "f"}}]), "tools[0]"),
            (json!([bare, {"type": "custom", "custom": {"name": "f"}}]), "tools[1].type"),
            (json!([{"type": "function"}]), "tools[0].type"),
            (json!([function("", &Value::Null)]), "tools[0].function.name"),
            (json!([function("has space", &Value::Null)]), "tools[0].function.name"),
            (json!([bare, bare]), "tools[1].function.name"),
            (json!([function("f", &json!({"type": "string"}))]), "tools[0].function.parameters"),
            (json!([function("f", &json!([]))]), "tools[0].function.parameters"),
            (json!([function("f", &json!({"description": "x".repeat(64 * 1024)}))]), "tools[0].function.parameters"),
            (json!([function("f", &deep)]), "tools[0].function.parameters"),
            (
                json!([{"type": "function", "function": {"name": "f", "description": "x".repeat(20_000)}}]),
                "tools[0].function.description",
            ),
            (json!({"name": "f"}), "tools"),
        ] {
            assert_eq!(tools(&definitions).unwrap_err(), param, "{definitions}");
        }
    }

    #[test]
    fn a_tool_choice_names_an_existing_tool() {
        let look = tools(&json!([function("look", &Value::Null)])).unwrap();
        let read = |word: Value, tools: &[ClientTool]| {
            let request = parse(&json!({"tool_choice": word})).map_err(|refusal| refusal.param)?;
            choice(request.tool_choice, tools).map_err(|refusal| refusal.param)
        };
        let named = |name: &str| json!({"type": "function", "function": {"name": name}});
        for (word, expected) in [
            (Value::Null, ToolChoice::Auto),
            (json!("auto"), ToolChoice::Auto),
            (json!("none"), ToolChoice::None),
            (json!("required"), ToolChoice::Required),
            (named("look"), ToolChoice::Named("look".to_owned())),
        ] {
            assert_eq!(read(word, &look), Ok(expected));
        }
        assert_eq!(read(json!("none"), &[]), Ok(ToolChoice::None));
        for word in [json!("any"), named("add"), json!({"type": "allowed_tools"}), json!(7)] {
            assert_eq!(read(word, &look), Err(Some("tool_choice".to_owned())));
        }
        assert!(read(json!("required"), &[]).is_err() && read(named("look"), &[]).is_err());
    }
}
