//! Replies for manual use, for example with curl: the last message of the request decides.

use serde_json::{Value, json};

use crate::{Reply, fault, fault_names, faults::CALLS_FOR_EVER, text, tool_call, wire::Format};

/// Returns the reply that the last message of a request asks for.
pub(crate) fn reply_to(format: Format, body: &Value) -> Reply {
    let last = body["messages"].as_array().and_then(|messages| messages.last()).cloned().unwrap_or_default();
    if let Some(results) = tool_results(format, &last) {
        if may_call(body) && question(body).contains(&format!("fault:{CALLS_FOR_EVER}")) {
            return fault(CALLS_FOR_EVER).unwrap_or_else(|| Vec::new().into());
        }
        return [text(format!("The tool says: {results}"))].into();
    }
    let words = plain_text(&last["content"]);
    if let Some((_, name)) = words.split_once("fault:") {
        let name = name.split_whitespace().next().unwrap_or_default();
        let names = || fault_names().collect::<Vec<_>>().join(", ");
        let unknown = || [text(format!("Unknown fault {name:?}. The faults are: {}", names()))].into();
        return fault(name).unwrap_or_else(unknown);
    }
    match words.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["use", name, operands @ ..] if may_call(body) => {
            let input: serde_json::Map<String, Value> =
                ["a", "b", "c"].iter().zip(operands).map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
            [text(format!("I use {name}.")), tool_call(*name, Value::Object(input).to_string())].into()
        }
        _ => match count_images(&last["content"]) {
            0 => [text(format!("You said: {words}"))].into(),
            images => [text(format!("You said: {words} (images: {images})"))].into(),
        },
    }
}

/// Counts the images in a message's content, in either wire format.
fn count_images(content: &Value) -> usize {
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    blocks.iter().filter(|block| block["type"] == "image" || block["type"] == "image_url").count()
}

/// Returns the user's latest text.
fn question(body: &Value) -> String {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let words = messages.iter().rev().filter(|message| message["role"] == "user");
    words.map(|message| plain_text(&message["content"])).find(|words| !words.is_empty()).unwrap_or_default()
}

/// Returns `true` if there are tools and the model may call them.
fn may_call(body: &Value) -> bool {
    let choice = &body["tool_choice"];
    body["tools"].is_array() && choice != "none" && choice["type"] != "none"
}

fn tool_results(format: Format, message: &Value) -> Option<String> {
    match format {
        Format::OpenAi => (message["role"] == "tool").then(|| plain_text(&message["content"])),
        Format::Anthropic => {
            let blocks = message["content"].as_array()?;
            let results: Vec<String> = blocks
                .iter()
                .filter(|block| block["type"] == "tool_result")
                .map(|block| plain_text(&block["content"]))
                .collect();
            (!results.is_empty()).then(|| results.join(" "))
        }
    }
}

/// Returns the text of a message's content, which is a string or a list of blocks.
fn plain_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join(" "),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Format, reply_to};

    fn shown(format: Format, message: &serde_json::Value) -> String {
        format!("{:?}", reply_to(format, &json!({"tools": [{}], "messages": [message]})).body)
    }

    #[test]
    fn the_last_message_decides() {
        let said = |words: &str| shown(Format::OpenAi, &json!({"role": "user", "content": words}));
        assert!(said("hello").contains("You said: hello"));
        assert!(said("use add 1 2").contains(r#"{\"a\":\"1\",\"b\":\"2\"}"#));
        assert!(said("fault:cut").contains("Cut"));
        assert!(said("fault:nonsense").contains("overloaded"));
        let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}});
        let seen = json!({"role": "user", "content": [{"type": "text", "text": "What is it?"}, image]});
        assert!(shown(Format::OpenAi, &seen).contains("You said: What is it? (images: 1)"));
        let result = json!({"role": "tool", "content": "3"});
        assert!(shown(Format::OpenAi, &result).contains("The tool says: 3"));
        let result = json!({"role": "user", "content": [{"type": "tool_result", "content": "3"}]});
        assert!(shown(Format::Anthropic, &result).contains("The tool says: 3"));
    }

    #[test]
    fn endless_calls_continue_while_calls_are_allowed() {
        let messages = json!([
            {"role": "user", "content": "fault:calls_for_ever"},
            {"role": "assistant", "content": null},
            {"role": "tool", "content": "3"},
        ]);
        let reply = |choice: &str| {
            let body = json!({"tools": [{}], "tool_choice": choice, "messages": messages});
            format!("{:?}", reply_to(Format::OpenAi, &body).body)
        };
        assert!(reply("auto").contains("ToolCall"));
        assert!(reply("none").contains("The tool says: 3"));
    }
}
