//! Builds the conversation in a request as the agent's model receives it: the system texts, the history, and the
//! question to store. Every call in the history has its result. `parse` and `responses::items` read the entries from
//! the request's fields.

use std::collections::HashMap;

use tallybook_conversations::ClientInput;
use tallybook_llm::{AssistantBlock, ModelMessage, ToolCallRequest, ToolResult, UserPart};
use tallybook_protocol::MessagePart;

use crate::http::openai::{
    attachments::{self, NewAttachment, is_attachment},
    error::Refusal,
    request::{Content, ContentPart},
};

/// Markup with which `Open WebUI` shows one of Tallybook's tool calls in the text of an answer. It is not part of the
/// answer.
const CALL_BEGIN: &str = "<details type=\"tool_calls\"";
const CALL_END: &str = "</details>";

/// The conversation in a request.
#[derive(Debug, Default)]
pub(crate) struct ParsedConversation {
    /// System texts and history.
    pub(crate) input: ClientInput,
    /// The last user message. Its files have provisional IDs.
    pub(crate) question: Vec<MessagePart>,
    /// Images and files of all user messages.
    pub(crate) attachments: Vec<NewAttachment>,
    pub(crate) questions: usize,
    /// `true` if the request contains no earlier answer: neither an assistant's message nor a previous response.
    pub(crate) is_first: bool,
}

impl ParsedConversation {
    /// Returns all user messages as one question: their text, followed by their files.
    pub(crate) fn questions_in_one(&self) -> Vec<MessagePart> {
        let parts = self.input.messages.iter().filter_map(|message| match message {
            ModelMessage::User(parts) => Some(question_of(parts)),
            ModelMessage::Assistant(_) | ModelMessage::ToolResults(_) => None,
        });
        let parts: Vec<MessagePart> = parts.flatten().collect();
        let text = MessagePart::join_texts(&parts);
        let text = Some(text).filter(|text| !text.is_empty()).map(|text| MessagePart::Text { text });
        text.into_iter().chain(parts.into_iter().filter(|part| part.file_id().is_some())).collect()
    }
}

/// The builder of a conversation, which receives a request's entries one by one.
pub(crate) struct ConversationParser {
    /// The parameter that contains the conversation.
    field: &'static str,
    has_previous: bool,
    parsed: ParsedConversation,
    open: OpenCalls,
    last: Last,
}

/// The kind of the last entry of the conversation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    User,
    Model,
    Tool,
}

impl ConversationParser {
    /// Creates a builder for the parameter `field`. If the request has a previous response (`has_previous`), the
    /// conversation may begin with the results of that response's calls.
    pub(crate) fn new(field: &'static str, has_previous: bool) -> Self {
        let parsed = ParsedConversation { is_first: !has_previous, ..ParsedConversation::default() };
        Self {
            field,
            has_previous,
            parsed,
            open: OpenCalls { is_before: has_previous, ..OpenCalls::default() },
            last: Last::User,
        }
    }

    pub(crate) fn system(&mut self, text: String) -> Result<(), Refusal> {
        if !self.open.calls.is_empty() {
            self.open.close(&mut self.parsed.input.messages)?;
        }
        if self.last == Last::Model {
            self.last = Last::User;
        }
        self.parsed.input.system.push(text);
        Ok(())
    }

    /// Adds a user message, whose content is in the parameter `place`. `kinds` are the types of parts that are text.
    pub(crate) fn user(&mut self, place: &str, content: Option<Content>, kinds: &[&str]) -> Result<(), Refusal> {
        let parts = parts_of(place, content, kinds, &mut self.parsed.attachments)?;
        self.open.close(&mut self.parsed.input.messages)?;
        self.last = Last::User;
        self.parsed.questions += 1;
        self.parsed.question = question_of(&parts);
        self.parsed.input.messages.push(ModelMessage::User(parts));
        Ok(())
    }

    /// Adds an assistant's message, whose calls are in the parameter `place`.
    pub(crate) fn answer(&mut self, place: String, text: &str, calls: Vec<ToolCallRequest>) -> Result<(), Refusal> {
        self.open.close(&mut self.parsed.input.messages)?;
        self.last = Last::Model;
        self.parsed.is_first = false;
        self.open.begin(place, &calls);
        let text = Some(without_shown_calls(text)).filter(|text| !text.is_empty());
        let text = text.map(|text| AssistantBlock::Text { text });
        let blocks = text.into_iter().chain(calls.into_iter().map(AssistantBlock::ToolCall)).collect();
        self.parsed.input.messages.push(ModelMessage::Assistant(blocks));
        Ok(())
    }

    /// Adds the result of a call, whose id is in the parameter `place`.
    pub(crate) fn result(&mut self, place: String, id: String, content: String) -> Result<(), Refusal> {
        self.last = Last::Tool;
        self.open.take(place, id, content)
    }

    /// Returns the conversation. Refuses it if a result or the question is missing, or if it ends with an answer.
    pub(crate) fn end(mut self) -> Result<ParsedConversation, Refusal> {
        self.open.close(&mut self.parsed.input.messages)?;
        let (mut parsed, field) = (self.parsed, self.field);
        let is_empty = MessagePart::join_texts(&parsed.question).trim().is_empty()
            && parsed.question.iter().all(|part| part.file_id().is_none());
        if is_empty && !(self.has_previous && self.last == Last::Tool) {
            let message = "The request has no question. Send at least one message of the role user with text.";
            return Err(Refusal::bad(field, message));
        }
        if self.last == Last::Model {
            let message = "The last message is an answer. Send what is to be answered after it, as the role user.";
            return Err(Refusal::bad(field, message));
        }
        if !self.has_previous && !matches!(parsed.input.messages.first(), Some(ModelMessage::User(_))) {
            // Providers require that the history starts with a user message.
            parsed.input.messages.insert(0, ModelMessage::User(Vec::new()));
        }
        Ok(parsed)
    }
}

/// Returns the parts of a question as they are stored.
fn question_of(parts: &[UserPart]) -> Vec<MessagePart> {
    let part = |part: &UserPart| match part {
        UserPart::Text(text) => Some(MessagePart::Text { text: text.clone() }),
        UserPart::StoredFile(id) => Some(MessagePart::File { file_id: *id }),
        UserPart::Image(_) => None,
    };
    parts.iter().filter_map(part).collect()
}

/// Returns the parts of a user message, and adds its images and files to `attachments`. Neighboring texts become one
/// part.
fn parts_of(
    place: &str,
    content: Option<Content>,
    kinds: &[&str],
    attachments: &mut Vec<NewAttachment>,
) -> Result<Vec<UserPart>, Refusal> {
    let Some(Content::Parts(parts)) = content else {
        return Ok(vec![UserPart::Text(text_of(place, content, kinds)?)]);
    };
    let (mut read, mut texts) = (Vec::new(), Vec::new());
    let has_files = parts.iter().any(|part| is_attachment(&part.kind));
    for (at, part) in parts.into_iter().enumerate() {
        let place = format!("{place}[{at}]");
        if is_attachment(&part.kind) {
            push_texts(&mut read, &mut texts);
            read.push(UserPart::StoredFile(attachments::read(place, part, attachments)?));
        } else {
            texts.push(part_text(place, part, kinds)?);
        }
    }
    if !has_files {
        return Ok(vec![UserPart::Text(texts.join("\n\n"))]);
    }
    push_texts(&mut read, &mut texts);
    Ok(read)
}

/// Adds texts as one part, unless they are empty.
fn push_texts(parts: &mut Vec<UserPart>, texts: &mut Vec<String>) {
    let text = std::mem::take(texts).join("\n\n");
    if !text.trim().is_empty() {
        parts.push(UserPart::Text(text));
    }
}

/// Returns the text of a part. Refuses NUL characters, and parts whose type is not in `kinds`.
fn part_text(place: String, part: ContentPart, kinds: &[&str]) -> Result<String, Refusal> {
    let kind = part.kind.clone();
    let Some(text) = part.into_text().filter(|_| kinds.contains(&kind.as_str())) else {
        let message = format!("A part of the type {kind:?} cannot be read here. Send text.");
        return Err(Refusal::bad(place, message));
    };
    check_text(&place, &text)?;
    Ok(text)
}

fn check_text(place: &str, text: &str) -> Result<(), Refusal> {
    if text.contains('\0') {
        let message = "The message contains a NUL character. Remove it and send again.";
        return Err(Refusal::bad(place, message));
    }
    Ok(())
}

/// Returns the text of `content`. Refuses NUL characters, and parts whose type is not in `kinds`. `place` is the name
/// of the request's parameter, for the refusal.
pub(crate) fn text_of(place: &str, content: Option<Content>, kinds: &[&str]) -> Result<String, Refusal> {
    let text = match content {
        None => String::new(),
        Some(Content::Text(text)) => text,
        Some(Content::Parts(parts)) => {
            let mut texts = Vec::new();
            for (at, part) in parts.into_iter().enumerate() {
                texts.push(part_text(format!("{place}[{at}]"), part, kinds)?);
            }
            texts.join("\n\n")
        }
    };
    check_text(place, &text)?;
    Ok(text)
}

/// The calls of the last assistant's message, and their results so far.
#[derive(Default)]
struct OpenCalls {
    /// `true` if the calls are in the previous response, not in this request.
    is_before: bool,
    /// The parameter that contains the calls.
    place: String,
    /// Id and name of each call.
    calls: Vec<(String, String)>,
    results: HashMap<String, ToolResult>,
}

impl OpenCalls {
    fn begin(&mut self, place: String, calls: &[ToolCallRequest]) {
        self.place = place;
        self.calls = calls.iter().map(|call| (call.id.clone(), call.name.clone())).collect();
    }

    fn take(&mut self, place: String, id: String, content: String) -> Result<(), Refusal> {
        if self.is_before && !self.results.contains_key(&id) {
            self.calls.push((id.clone(), String::new()));
        }
        let Some((_, name)) = self.calls.iter().find(|(known, _)| *known == id) else {
            let message = format!("This is the result of {id:?}, but the previous answer has no call with this ID.");
            return Err(Refusal::bad(place, message));
        };
        let result =
            ToolResult { call_id: id.clone(), tool_name: name.clone(), content, is_error: false, images: Vec::new() };
        self.results.insert(id, result);
        Ok(())
    }

    /// Adds the results to the history. Refuses the conversation if a result is missing.
    fn close(&mut self, history: &mut Vec<ModelMessage>) -> Result<(), Refusal> {
        let Self { place, calls, mut results, .. } = std::mem::take(self);
        let mut ordered = Vec::new();
        for (id, _) in calls {
            let Some(result) = results.remove(&id) else {
                let message = format!("The result of the call {id:?} is missing. Send it after the call.");
                return Err(Refusal::bad(place, message));
            };
            ordered.push(result);
        }
        if !ordered.is_empty() {
            history.push(ModelMessage::ToolResults(ordered));
        }
        Ok(())
    }
}

/// Returns the text of an answer without the markup of tool calls.
fn without_shown_calls(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find(CALL_BEGIN) {
        let Some(length) = rest[begin..].find(CALL_END) else { break };
        kept.push_str(&rest[..begin]);
        rest = rest[begin + length + CALL_END.len()..].trim_start_matches('\n');
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::without_shown_calls;

    #[test]
    fn calls_shown_in_an_answer_are_not_part_of_its_text() {
        let shown = "<details type=\"tool_calls\" done=\"true\" id=\"1\">\n<summary>Tool</summary>\n</details>\n";
        assert_eq!(without_shown_calls(&format!("One.\n{shown}Two.{shown}{shown}")), "One.\nTwo.");
        for kept in ["<details>\nmine\n</details>", "<details type=\"tool_calls\" without end", "</details>", ""] {
            assert_eq!(without_shown_calls(kept), kept);
        }
    }
}
