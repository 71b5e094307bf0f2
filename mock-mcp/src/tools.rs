//! The tools that the server lists.

use serde_json::{Value, json};

use crate::Fault;

/// Name of the tool that repeats the headers of its call.
pub(crate) const HEADERS: &str = "headers";

/// Name of the tool that returns its arguments as structured content, with every digit of their numbers.
pub(crate) const DIGITS: &str = "digits";

/// Name of the tool that returns its argument `content` as the content of its result.
pub(crate) const CONTENT: &str = "content";

/// Returns a tool that accepts any arguments.
pub(crate) fn tool(name: &str) -> Value {
    json!({ "name": name, "description": format!("The tool {name}."), "inputSchema": { "type": "object" } })
}

fn read_only(name: &str) -> Value {
    let mut tool = tool(name);
    tool["annotations"] = json!({ "readOnlyHint": true, "idempotentHint": true });
    tool
}

/// Returns the tools that a server with these faults lists at first.
pub(crate) fn listed(faults: &[Fault]) -> Vec<Value> {
    let mut tools = vec![read_only("echo"), read_only("env")];
    let names = ["slow", "fail", "ask", "mixed", "structured", "big", "die", "spawn", "seen", "change"];
    tools.extend(names.iter().map(|name| tool(name)));
    if faults.contains(&Fault::RepeatsSecrets) {
        let password = json!({ "type": "string", "format": "password" });
        let schema = json!({ "type": "object", "properties": { "password": password } });
        tools.push(json!({ "name": "login", "inputSchema": schema }));
    }
    if faults.contains(&Fault::RepeatsDigits) {
        tools.push(tool(DIGITS));
    }
    if faults.contains(&Fault::RepeatsContent) {
        tools.push(tool(CONTENT));
    }
    if faults.contains(&Fault::RepeatsHeaders) {
        tools.push(tool(HEADERS));
    }
    if faults.contains(&Fault::MalformedTool) {
        tools.push(json!({ "name": 7, "inputSchema": {} }));
        tools.push(json!({ "name": "schemaless" }));
    }
    if faults.contains(&Fault::NameClash) {
        tools.extend([tool("a.b"), tool("a:b"), tool("add")]);
    }
    if faults.contains(&Fault::OddSchemas) {
        let alternatives = json!({ "type": "object", "oneOf": [{ "required": ["a"] }, { "required": ["b"] }] });
        tools.push(json!({ "name": "alternatives", "inputSchema": alternatives }));
        let composed = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
            "anyOf": [{ "required": ["a"] }, { "required": ["b"] }], "allOf": [{ "minProperties": 1 }],
        });
        tools.push(json!({ "name": "composed", "description": "é".repeat(2000), "inputSchema": composed }));
        let elsewhere = json!({ "type": "object", "properties": { "a": { "$ref": "https://example.com/a" } } });
        tools.push(json!({ "name": "elsewhere", "inputSchema": elsewhere }));
    }
    tools
}
