//! Parses the messages of `POST /v1/chat`, whose content may be Anthropic's blocks, into messages of chat completions.
//! One user message can hold the results of several calls; it then becomes several messages.

use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::http::openai::{
    error::Refusal,
    request::{ChatMessage, Content, ContentPart, FilePart, Function, ImageUrl, ToolCall, parse_part},
};

/// A message, in the words of chat completions or with Anthropic's blocks as its content.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ThreadChatMessage {
    #[schema(pattern = "^(system|developer|user|assistant|tool)$")]
    pub(crate) role: String,
    #[schema(value_type = Option<Blocks>)]
    content: Option<Box<RawValue>>,
    /// Text by which an assistant declined to answer.
    refusal: Option<String>,
    tool_calls: Option<Vec<ToolCall>>,
    tool_call_id: Option<String>,
}

/// The content of a message.
#[derive(ToSchema)]
#[schema(as = ThreadContent)]
#[serde(untagged)]
#[expect(dead_code, reason = "only the description of the API has both in one")]
enum Blocks {
    Text(String),
    Blocks(Vec<Block>),
}

#[derive(Deserialize, ToSchema)]
#[schema(as = ThreadContentBlock)]
struct Block {
    /// `thinking` is skipped.
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    /// Text of a `refusal`, by which an assistant declined to answer.
    refusal: Option<String>,
    /// Of a `tool_use`: its id.
    id: Option<String>,
    /// Of a `tool_use`: the tool.
    name: Option<String>,
    /// Of a `tool_use`: the arguments.
    #[schema(value_type = Option<Object>)]
    input: Option<Box<RawValue>>,
    /// Of a `tool_result`: the id of its `tool_use`.
    tool_use_id: Option<String>,
    /// Of a `tool_result`: a text, or blocks of text.
    #[schema(value_type = Option<Content>)]
    content: Option<Box<RawValue>>,
    /// Of an `image` or a `document`: its content.
    source: Option<Source>,
    /// Name of a `document`.
    title: Option<String>,
    /// Of an `image_url`, as chat completions have it.
    image_url: Option<ImageUrl>,
    /// Of a `file`, as chat completions have it.
    file: Option<FilePart>,
}

/// The content of an image or a document.
#[derive(Deserialize, ToSchema)]
#[schema(as = ThreadContentSource)]
struct Source {
    /// In base64.
    data: Option<String>,
    media_type: Option<String>,
    /// A data URL. Remote URLs are refused.
    url: Option<String>,
}

/// Converts a thread's messages to those of chat completions. Each has the index of the thread's message that it was
/// made from.
pub(crate) fn read(messages: Vec<ThreadChatMessage>) -> Result<Vec<(usize, ChatMessage)>, Refusal> {
    let mut read = Vec::new();
    for (at, message) in messages.into_iter().enumerate() {
        read_message(&format!("messages[{at}].content"), message, &mut |message| read.push((at, message)))?;
    }
    Ok(read)
}

fn read_message(place: &str, message: ThreadChatMessage, push: &mut impl FnMut(ChatMessage)) -> Result<(), Refusal> {
    let ThreadChatMessage { role, content, refusal, mut tool_calls, tool_call_id } = message;
    let Some(content) = content else {
        push(ChatMessage { role, content: None, refusal, tool_calls, tool_call_id });
        return Ok(());
    };
    if !content.get().starts_with('[') {
        let content = Some(parse_part(content.get(), place)?);
        push(ChatMessage { role, content, refusal, tool_calls, tool_call_id });
        return Ok(());
    }
    let (mut parts, mut has_results) = (Vec::new(), false);
    for (at, block) in parse_part::<Vec<Block>>(content.get(), place)?.into_iter().enumerate() {
        let place = format!("{place}[{at}]");
        match (block.kind.as_str(), role.as_str()) {
            ("thinking" | "redacted_thinking", "assistant") => {}
            ("tool_use", "assistant") => tool_calls.get_or_insert_default().push(block.into_call(&place)?),
            ("tool_result", "user") => {
                has_results = true;
                push(block.into_result(&place)?);
            }
            _ => parts.push(block.into_part()),
        }
    }
    if !has_results || !parts.is_empty() {
        push(ChatMessage { role, content: Some(Content::Parts(parts)), refusal, tool_calls, tool_call_id });
    }
    Ok(())
}

impl Block {
    /// Returns the block as a part of a message. An image or a document becomes an image or a file in the form of chat
    /// completions.
    fn into_part(self) -> ContentPart {
        let Self { kind, text, refusal, source, title, image_url, file, .. } = self;
        let given = source.map(|Source { data, media_type, url }| {
            let encoded = data.map(|data| format!("data:{};base64,{data}", media_type.unwrap_or_default()));
            FilePart { file_data: encoded.or(url), filename: title, file_id: None }
        });
        ContentPart { kind, text, refusal, image_url, file: file.or(given), ..ContentPart::default() }
    }

    fn into_call(self, place: &str) -> Result<ToolCall, Refusal> {
        let (Some(id), Some(name), Some(input)) = (self.id, self.name, self.input) else {
            return Err(Refusal::bad(place, "A tool_use block needs an id, a name and an input."));
        };
        Ok(ToolCall { id, function: Function { name, arguments: input.get().to_owned() } })
    }

    /// Returns the result as a message of its own.
    fn into_result(self, place: &str) -> Result<ChatMessage, Refusal> {
        let Some(id) = self.tool_use_id else {
            return Err(Refusal::bad(place, "A tool_result block needs a tool_use_id."));
        };
        let place = format!("{place}.content");
        let content = self.content.map(|content| parse_part(content.get(), &place)).transpose()?;
        Ok(ChatMessage { role: "tool".to_owned(), content, refusal: None, tool_calls: None, tool_call_id: Some(id) })
    }
}
