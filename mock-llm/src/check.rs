//! Checks what the real providers would refuse in a request, in particular tool calls and results that do not pair.

use std::collections::HashSet;

use serde_json::Value;

use crate::wire::Format;

/// Returns the first error in a request body; `None` if there is none.
pub(crate) fn complaint(format: Format, body: &Value) -> Option<String> {
    check(format, body).err()
}

fn check(format: Format, body: &Value) -> Result<(), String> {
    if body["stream"] != true {
        return Err("stream: this server only streams".to_owned());
    }
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err("model: must be a non-empty string".to_owned());
    }
    let messages = body["messages"].as_array().ok_or("messages: must be a list")?;
    let has_calls = match format {
        Format::Anthropic => anthropic(body, messages)?,
        Format::OpenAi => openai(messages)?,
    };
    if has_calls && body["tools"].as_array().is_none_or(Vec::is_empty) {
        return Err("tools: must be given, since messages hold tool calls".to_owned());
    }
    Ok(())
}

/// Checks the messages of an Anthropic request. Returns `true` if they contain tool calls.
fn anthropic(body: &Value, messages: &[Value]) -> Result<bool, String> {
    if !body["max_tokens"].is_u64() {
        return Err("max_tokens: must be a whole number".to_owned());
    }
    let mut waiting: Vec<String> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        let expected = if at % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != expected {
            return Err(format!("messages.{at}: the role must be {expected:?}, roles alternate"));
        }
        let blocks = anthropic_blocks(at, message)?;
        let results: Vec<&str> = blocks
            .iter()
            .take_while(|block| block["type"] == "tool_result")
            .map(|block| block["tool_use_id"].as_str().unwrap_or_default())
            .collect();
        if results != waiting {
            return Err(format!(
                "messages.{at}: must begin with the tool results of {waiting:?}, in this order, but has {results:?}"
            ));
        }
        if blocks.iter().skip(results.len()).any(|block| block["type"] == "tool_result") {
            return Err(format!("messages.{at}: a tool_result comes after another kind of block"));
        }
        waiting = anthropic_calls(at, expected, &blocks)?;
        if let Some(id) = waiting.iter().find(|id| !seen.insert((*id).clone())) {
            return Err(format!("messages.{at}: the call id {id:?} is used twice"));
        }
    }
    if !waiting.is_empty() || messages.is_empty() {
        return Err(format!("messages: must end with a message of the user, with the results of {waiting:?}"));
    }
    Ok(!seen.is_empty())
}

/// Returns the blocks of a message. A plain string becomes one text block.
fn anthropic_blocks(at: usize, message: &Value) -> Result<Vec<Value>, String> {
    let blocks = match &message["content"] {
        Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        _ => return Err(format!("messages.{at}.content: must be a string or a list of blocks")),
    };
    if blocks.is_empty() {
        return Err(format!("messages.{at}.content: must not be empty"));
    }
    let blank = |block: &Value| block["type"] == "text" && block["text"].as_str().unwrap_or_default().trim().is_empty();
    if blocks.iter().any(blank) {
        return Err(format!("messages.{at}.content: text blocks must contain non-whitespace text"));
    }
    Ok(blocks)
}

/// Returns the IDs of the calls in an assistant message.
fn anthropic_calls(at: usize, role: &str, blocks: &[Value]) -> Result<Vec<String>, String> {
    let mut ids = Vec::new();
    for block in blocks.iter().filter(|block| block["type"] == "tool_use") {
        if role != "assistant" {
            return Err(format!("messages.{at}: tool_use belongs in assistant messages"));
        }
        if !block["input"].is_object() {
            return Err(format!("messages.{at}: tool_use.input must be an object"));
        }
        name_and_id(at, &block["name"], &block["id"], true)?;
        ids.push(block["id"].as_str().unwrap_or_default().to_owned());
    }
    Ok(ids)
}

/// Returns `true` for parts that a user message may have: texts, and images as data URLs.
fn are_openai_parts(parts: &[Value]) -> bool {
    let is_data = |url: &Value| url.as_str().is_some_and(|url| url.starts_with("data:image/"));
    let is_part = |part: &Value| match part["type"].as_str() {
        Some("text") => part["text"].as_str().is_some_and(|text| !text.trim().is_empty()),
        Some("image_url") => is_data(&part["image_url"]["url"]),
        _ => false,
    };
    !parts.is_empty() && parts.iter().all(is_part)
}

/// Checks the messages of a Chat Completions request. Returns `true` if they contain tool calls.
fn openai(messages: &[Value]) -> Result<bool, String> {
    let mut waiting: Vec<String> = Vec::new();
    let mut has_calls = false;
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            if waiting.first().map(String::as_str) != Some(id) {
                return Err(format!("messages.{at}: has the result of {id:?}, but these are due: {waiting:?}"));
            }
            waiting.remove(0);
            if !message["content"].is_string() {
                return Err(format!("messages.{at}.content: must be a string"));
            }
            continue;
        }
        if !waiting.is_empty() {
            return Err(format!("messages.{at}: tool results are missing for {waiting:?}"));
        }
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        match role {
            "system" | "developer" | "user" | "assistant" => {}
            _ => return Err(format!("messages.{at}: unknown role {role:?}")),
        }
        let is_parts = role == "user" && message["content"].as_array().is_some_and(|parts| are_openai_parts(parts));
        if !message["content"].is_string() && !is_parts && (role != "assistant" || calls.is_empty()) {
            return Err(format!("messages.{at}.content: must be a string"));
        }
        if message.get("tool_calls").is_some() && calls.is_empty() {
            return Err(format!("messages.{at}.tool_calls: must not be empty"));
        }
        waiting = openai_calls(at, &calls)?;
        has_calls |= !waiting.is_empty();
    }
    if !waiting.is_empty() {
        return Err(format!("messages: tool results are missing for {waiting:?}"));
    }
    Ok(has_calls)
}

fn openai_calls(at: usize, calls: &[Value]) -> Result<Vec<String>, String> {
    let mut ids = Vec::new();
    for call in calls {
        let function = &call["function"];
        if call["type"] != "function" || !function["arguments"].is_string() {
            return Err(format!("messages.{at}.tool_calls: a call needs its type and its arguments as a string"));
        }
        name_and_id(at, &function["name"], &call["id"], false)?;
        ids.push(call["id"].as_str().unwrap_or_default().to_owned());
    }
    unique(at, ids)
}

fn name_and_id(at: usize, name: &Value, id: &Value, strict_id: bool) -> Result<(), String> {
    let plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    let name = name.as_str().unwrap_or_default();
    if name.is_empty() || name.len() > 64 || !plain(name) {
        return Err(format!("messages.{at}: {name:?} is not a tool name"));
    }
    let id = id.as_str().unwrap_or_default();
    if id.is_empty() || (strict_id && !plain(id)) {
        return Err(format!("messages.{at}: {id:?} is not a call id"));
    }
    Ok(())
}

fn unique(at: usize, ids: Vec<String>) -> Result<Vec<String>, String> {
    let distinct: HashSet<&String> = ids.iter().collect();
    if distinct.len() == ids.len() { Ok(ids) } else { Err(format!("messages.{at}: call ids repeat: {ids:?}")) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Format, complaint};

    fn anthropic(messages: &Value) -> Option<String> {
        let body = json!({"model": "m", "stream": true, "max_tokens": 9, "tools": [{}], "messages": messages});
        complaint(Format::Anthropic, &body)
    }

    fn openai(messages: &Value) -> Option<String> {
        complaint(Format::OpenAi, &json!({"model": "m", "stream": true, "tools": [{}], "messages": messages}))
    }

    fn use_block(id: &str) -> Value {
        json!({"type": "tool_use", "id": id, "name": "add", "input": {}})
    }

    fn result_block(id: &str) -> Value {
        json!({"type": "tool_result", "tool_use_id": id, "content": "3"})
    }

    fn call(id: &str) -> Value {
        json!({"id": id, "type": "function", "function": {"name": "add", "arguments": "{}"}})
    }

    #[test]
    fn paired_anthropic_calls_pass() {
        let messages = json!([
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [use_block("a"), use_block("b")]},
            {"role": "user", "content": [result_block("a"), result_block("b"), {"type": "text", "text": "and?"}]},
        ]);
        assert_eq!(anthropic(&messages), None);
    }

    #[test]
    fn anthropic_faults_are_named() {
        let user = json!({"role": "user", "content": "hi"});
        let asks = json!({"role": "assistant", "content": [use_block("a"), use_block("b")]});
        let cases = [
            (json!([user, asks, user]), "must begin with the tool results"),
            (json!([user, asks]), "must end with"),
            (json!([user, asks, {"role": "user", "content": [result_block("b"), result_block("a")]}]), "in this order"),
            (json!([{"role": "user", "content": [result_block("a")]}]), "must begin with"),
            (json!([user, user]), "roles alternate"),
            (json!([{"role": "user", "content": " "}]), "non-whitespace"),
            (json!([user, {"role": "assistant", "content": [use_block("a b")]}]), "not a call id"),
            (json!([user, {"role": "assistant", "content": [use_block("a"), use_block("a")]}]), "used twice"),
        ];
        for (messages, words) in cases {
            let said = anthropic(&messages).unwrap_or_default();
            assert!(said.contains(words), "{messages}: {said:?}");
        }
    }

    #[test]
    fn openai_faults_are_named() {
        let user = json!({"role": "user", "content": "hi"});
        let asks = json!({"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]});
        let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "3"});
        assert_eq!(openai(&json!([user, asks, result("a"), result("b"), user])), None);
        let cases = [
            (json!([user, asks, result("a"), user]), "missing for [\"b\"]"),
            (json!([user, asks, result("b"), result("a")]), "are due"),
            (json!([user, asks]), "missing"),
            (json!([user, result("a")]), "are due: []"),
            (json!([user, {"role": "assistant", "content": null}]), "must be a string"),
        ];
        for (messages, words) in cases {
            let said = openai(&messages).unwrap_or_default();
            assert!(said.contains(words), "{messages}: {said:?}");
        }
    }
}
