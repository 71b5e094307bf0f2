//! Validates user input: lengths and characters, checked once when a request arrives.

use std::collections::HashSet;

use tallybook_protocol::{
    CallDecision, Decision, Feedback, MAX_FEEDBACK_CHARS, MessagePart, NewMessage, RawJson, ToolCallId,
};
use tallybook_tools::MAX_INPUT_BYTES;

use crate::{
    ServiceError,
    limits::{
        MAX_CLIENT_ID_CHARS, MAX_DECISIONS, MAX_MESSAGE_CHARS, MAX_MESSAGE_FILES, MAX_MESSAGE_PARTS, MAX_REASON_BYTES,
        MAX_SEARCH_CHARS, MAX_TITLE_CHARS,
    },
};

/// Validates a message and returns its parts. A message with `content` has one text part.
pub(crate) fn check_message(new: &NewMessage) -> Result<Vec<MessagePart>, ServiceError> {
    if new.parts.len() > MAX_MESSAGE_PARTS {
        return Err(invalid("The message has too many parts. Use at most 100."));
    }
    if !new.parts.is_empty() && !new.content.is_empty() {
        return Err(invalid("The message has both content and parts. Send one of them."));
    }
    let parts =
        if new.parts.is_empty() { vec![MessagePart::Text { text: new.content.clone() }] } else { new.parts.clone() };
    let content = MessagePart::join_texts(&parts);
    let files = check_file_count(&parts)?;
    if content.trim().is_empty() && files == 0 {
        return Err(invalid("The message is empty. Write something first."));
    }
    let length = content.chars().count();
    if length > MAX_MESSAGE_CHARS {
        return Err(ServiceError::Invalid(format!(
            "The message has {length} characters; at most {MAX_MESSAGE_CHARS} are allowed. Shorten it or send it in parts."
        )));
    }
    if content.contains('\0') {
        return Err(invalid("The message contains a NUL character. Remove it and send again."));
    }
    if let Some(id) = &new.client_message_id {
        check_client_id("client_message_id", id)?;
    }
    Ok(parts)
}

/// Validates an ID that a client chose, in the named field.
pub(crate) fn check_client_id(field: &str, id: &str) -> Result<(), ServiceError> {
    let fits = (1..=MAX_CLIENT_ID_CHARS).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
    let advice = || format!("{field} must be 1 to {MAX_CLIENT_ID_CHARS} visible ASCII characters, such as a UUID.");
    if fits { Ok(()) } else { Err(ServiceError::Invalid(advice())) }
}

/// Returns the number of files in a message. Fails if there are too many.
pub(crate) fn check_file_count(parts: &[MessagePart]) -> Result<usize, ServiceError> {
    let files = parts.iter().filter_map(MessagePart::file_id).count();
    if files > MAX_MESSAGE_FILES {
        return Err(invalid("The message has too many files. Attach at most 10."));
    }
    Ok(files)
}

/// Validates decisions on tool calls: everything that can be checked without the stored calls.
pub(crate) fn check_decisions(decisions: &[CallDecision]) -> Result<(), ServiceError> {
    if !(1..=MAX_DECISIONS).contains(&decisions.len()) {
        return Err(invalid("Send 1 to 1000 decisions, one for each call."));
    }
    let calls: HashSet<ToolCallId> = decisions.iter().map(|decided| decided.tool_call_id).collect();
    if calls.len() < decisions.len() {
        return Err(invalid("One call has two decisions. Send one decision for each call."));
    }
    decisions.iter().try_for_each(check_decision)
}

fn check_decision(decided: &CallDecision) -> Result<(), ServiceError> {
    let CallDecision { decision, reason, input, remember, .. } = decided;
    if reason.as_ref().is_some_and(|reason| reason.len() > MAX_REASON_BYTES) {
        return Err(invalid("The reason is too long. Use at most 4096 bytes."));
    }
    if reason.as_ref().is_some_and(|reason| reason.contains('\0')) {
        return Err(invalid("The reason contains a NUL character. Remove it and send again."));
    }
    if *decision == Decision::Deny && (input.is_some() || remember.is_some()) {
        return Err(invalid("A denial takes neither input nor remember. Leave them out, or approve the call."));
    }
    let Some(input) = input.as_ref().map(RawJson::as_str) else { return Ok(()) };
    if input.len() > MAX_INPUT_BYTES {
        return Err(invalid("The edited input is too long. Use at most 1048576 bytes."));
    }
    if !input.starts_with('{') {
        return Err(invalid("The edited input must be a JSON object."));
    }
    Ok(())
}

/// Validates feedback on an answer. Returns it with the trimmed reason; an empty one counts as absent.
pub(crate) fn check_feedback(given: &Feedback) -> Result<Feedback, ServiceError> {
    let reason = given.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
    if reason.is_some_and(|reason| reason.chars().count() > MAX_FEEDBACK_CHARS) {
        return Err(invalid("The reason is too long. Use at most 1000 characters."));
    }
    if reason.is_some_and(|reason| reason.contains('\0')) {
        return Err(invalid("The reason contains a NUL character. Remove it and send again."));
    }
    Ok(Feedback { rating: given.rating, reason: reason.map(str::to_owned) })
}

pub(crate) fn check_search(search: &str) -> Result<(), ServiceError> {
    if search.chars().count() > MAX_SEARCH_CHARS {
        return Err(invalid("The search is too long. Use at most 200 characters."));
    }
    Ok(())
}

pub(crate) fn check_title(title: &str) -> Result<&str, ServiceError> {
    let title = title.trim();
    if title.is_empty() {
        return Err(invalid("The title is empty. Write at least one character."));
    }
    if title.chars().count() > MAX_TITLE_CHARS {
        return Err(invalid("The title is too long. Use at most 200 characters."));
    }
    if title.chars().any(char::is_control) {
        return Err(invalid("The title contains control characters. Use one line of plain text."));
    }
    Ok(title)
}

fn invalid(message: &str) -> ServiceError {
    ServiceError::Invalid(message.to_owned())
}
