//! Converts the result of a tool call into the one text that the model, the page and the tool history share. Nothing
//! that the result links to is fetched.

use serde_json::Value;
use tallybook_tools::{ToolError, ToolImage, ToolOutput};

use super::{exact, text};

/// Converts the result of `tools/call`, and tolerates malformed parts. Fails if the tool reports an error or asks for
/// more input, or if the content cannot be read.
pub(crate) fn tool_result(result: &Value) -> Result<ToolOutput, ToolError> {
    if result.get("resultType").and_then(Value::as_str) == Some("input_required") {
        let message = "the server requires more input from a user, which Tallybook does not support";
        return Err(ToolError::other("input_required", message));
    }
    // Before the first version of the protocol, a result had the single member `toolResult`, of any type.
    let content = ["content", "toolResult"].into_iter().find_map(|name| result.get(name)).unwrap_or(&Value::Null);
    let blocks = match content {
        Value::Array(blocks) => blocks.as_slice(),
        Value::Object(_) | Value::String(_) => std::slice::from_ref(content),
        Value::Null => &[],
        Value::Bool(_) | Value::Number(_) => return Err(unreadable()),
    };
    if !result.is_object() {
        return Err(unreadable());
    }
    let mut parts: Vec<String> = blocks.iter().map(part).collect();
    // An empty text next to structured content carries no information, so the structured content is used.
    let has_text = blocks.iter().zip(&parts).any(|(block, text)| kind(block) == "text" && !text.trim().is_empty());
    if let Some(structured) = exact::structured(result).filter(|_| !has_text) {
        parts.retain(|part| !part.trim().is_empty());
        parts.push(structured);
    }
    let text = parts.join("\n");
    if result.get("isError").is_some_and(|is_error| *is_error == true || *is_error == "true") {
        let message = if text.is_empty() { "the tool failed without an error message".to_owned() } else { text };
        return Err(ToolError::other("tool_error", message));
    }
    Ok(ToolOutput { text, images: blocks.iter().filter_map(image).collect() })
}

fn unreadable() -> ToolError {
    ToolError::other("mcp_protocol", "the server returned a result without readable content")
}

/// Returns the kind of a block. A block without a kind is text if it is a string, or has a member `text` that is a
/// string.
fn kind(block: &Value) -> &str {
    let is_text = block.is_string() || block.get("text").is_some_and(Value::is_string);
    block.get("type").and_then(Value::as_str).unwrap_or(if is_text { "text" } else { "" })
}

/// Returns the image of a block, if it is an image or a resource whose media type is that of an image.
fn image(block: &Value) -> Option<ToolImage> {
    let (holder, name) = match kind(block) {
        "image" => (block, "data"),
        "resource" => (block.get("resource")?, "blob"),
        _ => return None,
    };
    let member = |name| holder.get(name).and_then(Value::as_str);
    let (media_type, base64) = (member("mimeType")?.to_owned(), member(name)?.to_owned());
    media_type.to_ascii_lowercase().starts_with("image/").then_some(ToolImage { media_type, base64 })
}

fn part(block: &Value) -> String {
    let member = |name| block.get(name).and_then(Value::as_str);
    match kind(block) {
        "text" => match block.get("text").unwrap_or(block) {
            Value::String(text) => text.clone(),
            Value::Null | Value::Object(_) if block.get("text").is_none_or(Value::is_null) => String::new(),
            // The member contains JSON instead of text.
            other => other.to_string(),
        },
        kind @ ("image" | "audio") => binary(kind, member("mimeType"), member("data")),
        "resource_link" => member("uri").unwrap_or("[link without an address]").to_owned(),
        "resource" => resource(block.get("resource").unwrap_or(&Value::Null)),
        other => format!("[content of the unknown kind {:?}]", text::message(other)),
    }
}

fn resource(resource: &Value) -> String {
    let member = |name| resource.get(name).and_then(Value::as_str);
    match (member("text"), member("blob")) {
        (Some(text), _) => text.to_owned(),
        (None, Some(blob)) => binary("resource", member("mimeType"), Some(blob)),
        (None, None) => member("uri").unwrap_or("[empty resource]").to_owned(),
    }
}

/// Describes binary content, for example `[image image/png, 12 kB]`.
fn binary(kind: &str, mime_type: Option<&str>, base64: Option<&str>) -> String {
    let bytes = base64.map_or(0, |data| data.trim_end_matches('=').len() * 3 / 4);
    let size = if bytes < 1000 { format!("{bytes} B") } else { format!("{} kB", (bytes + 500) / 1000) };
    format!("[{kind} {}, {size}]", text::message(mime_type.unwrap_or("of an unknown type")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn output(result: &Value) -> String {
        tool_result(result).unwrap().text
    }

    #[test]
    fn sizes_are_rounded_to_the_nearest() {
        for (bytes, size) in [(999, "999 B"), (12_004, "12 kB"), (12_499, "12 kB"), (12_500, "13 kB")] {
            let data = "A".repeat((bytes * 4_usize).div_ceil(3));
            assert_eq!(binary("image", Some("image/png"), Some(&data)), format!("[image image/png, {size}]"));
        }
    }

    #[test]
    fn content_becomes_one_text() {
        let result = json!({ "content": [
            { "type": "text", "text": "one" },
            { "type": "image", "mimeType": "image/png", "data": "A".repeat(16_000) },
            { "type": "audio", "mimeType": "audio/wav", "data": "AAAAAA==" },
            { "type": "resource_link", "uri": "https://example.com/a", "name": "a" },
            { "type": "resource", "resource": { "uri": "x:y", "text": "inside" } },
            { "type": "resource", "resource": { "uri": "x:y", "blob": "AAAA", "mimeType": "application/zip" } },
            { "type": "hologram", "data": 1 },
        ], "structuredContent": { "left": "out" } });
        let expected = "one\n[image image/png, 12 kB]\n[audio audio/wav, 4 \
                        B]\nhttps://example.com/a\ninside\n[resource application/zip, 3 B]\n[content of the unknown \
                        kind \"hologram\"]";
        assert_eq!(output(&result), expected);
    }

    #[test]
    fn images_are_kept_beside_their_description() {
        let result = json!({ "content": [
            { "type": "image", "mimeType": "image/png", "data": "AAAA" },
            { "type": "audio", "mimeType": "audio/wav", "data": "AAAA" },
            { "type": "resource", "resource": { "uri": "x:y", "blob": "BBBB", "mimeType": "Image/WebP" } },
            { "type": "resource", "resource": { "uri": "x:y", "blob": "CCCC", "mimeType": "application/zip" } },
            { "type": "image", "data": "DDDD" },
        ] });
        let images = tool_result(&result).unwrap().images;
        let images: Vec<_> = images.iter().map(|image| (image.media_type.as_str(), image.base64.as_str())).collect();
        assert_eq!(images, [("image/png", "AAAA"), ("Image/WebP", "BBBB")]);
    }

    #[test]
    fn content_in_another_form_is_read() {
        for (result, expected) in [
            (json!({ "content": null, "structuredContent": { "a": 1 } }), r#"{"a":1}"#),
            (json!({ "content": "one" }), "one"),
            (json!({ "content": { "type": "text", "text": "one" } }), "one"),
            (json!({ "content": ["one", { "text": "two" }] }), "one\ntwo"),
            (
                json!({ "content": [{ "type": "text", "text": { "a": 1 } }, { "type": "text", "text": 7 }] }),
                "{\"a\":1}\n7",
            ),
            (json!({ "content": [{ "type": "text", "text": null }, { "type": "text" }] }), "\n"),
            (json!({ "toolResult": "one" }), "one"),
        ] {
            assert_eq!(output(&result), expected, "{result}");
        }
        let failed = tool_result(&json!({ "isError": "true", "content": "no" })).unwrap_err();
        assert_eq!((failed.error_type.as_ref(), failed.message.as_str()), ("tool_error", "no"));
    }

    #[test]
    fn structured_content_is_used_if_there_is_no_text() {
        assert_eq!(output(&json!({ "content": [], "structuredContent": { "a": 1 } })), r#"{"a":1}"#);
        assert_eq!(output(&json!({ "structuredContent": { "a": 1 } })), r#"{"a":1}"#);
        let empty = |content: Value| output(&json!({ "content": content, "structuredContent": { "a": 1 } }));
        assert_eq!(empty(json!([{ "type": "text", "text": "" }])), r#"{"a":1}"#);
        assert_eq!(empty(json!([{ "type": "text", "text": " \n" }, { "type": "text" }])), r#"{"a":1}"#);
        let image = json!({ "type": "image", "mimeType": "image/png", "data": "AAAA" });
        assert_eq!(empty(json!([{ "type": "text", "text": "" }, image])), "[image image/png, 3 B]\n{\"a\":1}");
        assert_eq!(output(&json!({ "content": [{ "type": "text", "text": "" }], "structuredContent": null })), "");
        assert_eq!(output(&json!({})), "");
    }

    #[test]
    fn failures_have_their_kinds() {
        let kind = |result: &Value| tool_result(result).unwrap_err().error_type;
        assert_eq!(kind(&json!({ "isError": true, "content": [{ "type": "text", "text": "no" }] })), "tool_error");
        assert_eq!(kind(&json!({ "resultType": "input_required", "inputRequests": {} })), "input_required");
        assert_eq!(kind(&json!({ "content": 7 })), "mcp_protocol");
        assert_eq!(kind(&json!("text")), "mcp_protocol");
    }
}
