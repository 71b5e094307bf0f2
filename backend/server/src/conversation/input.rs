//! What people may write: lengths and characters, checked once on the way in.

use std::collections::HashSet;

use tallybook_protocol::{CallDecision, Decision, MessagePart, NewMessage, RawJson, ToolCallId};
use tallybook_tools::MAX_INPUT_BYTES;

use super::{
    ServiceError,
    limits::{
        MAX_CLIENT_ID_CHARS, MAX_DECISIONS, MAX_MESSAGE_CHARS, MAX_MESSAGE_PARTS, MAX_REASON_BYTES, MAX_SEARCH_CHARS,
        MAX_TITLE_CHARS, MAX_TITLE_FROM_MESSAGE_CHARS, MAX_TITLE_FROM_MODEL_CHARS,
    },
};

/// The parts of a message that may be sent; `content` is a part of text.
pub(super) fn check_message(new: &NewMessage) -> Result<Vec<MessagePart>, ServiceError> {
    if new.parts.len() > MAX_MESSAGE_PARTS {
        return Err(invalid("The message has too many parts. Use at most 100."));
    }
    if !new.parts.is_empty() && !new.content.is_empty() {
        return Err(invalid("The message has both content and parts. Send one of them."));
    }
    let parts =
        if new.parts.is_empty() { vec![MessagePart::Text { text: new.content.clone() }] } else { new.parts.clone() };
    let content = MessagePart::join_texts(&parts);
    if content.trim().is_empty() {
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
        let fits = (1..=MAX_CLIENT_ID_CHARS).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
        if !fits {
            return Err(invalid("client_message_id must be 1 to 64 visible ASCII characters, such as a UUID."));
        }
    }
    Ok(parts)
}

/// Checks what is to be decided of calls, as far as the decisions alone tell.
pub(super) fn check_decisions(decisions: &[CallDecision]) -> Result<(), ServiceError> {
    if !(1..=MAX_DECISIONS).contains(&decisions.len()) {
        return Err(invalid("Send 1 to 1000 decisions, one for each call."));
    }
    let calls: HashSet<ToolCallId> = decisions.iter().map(|decided| decided.tool_call_id).collect();
    if calls.len() < decisions.len() {
        return Err(invalid("There are two decisions on one call. Send one for each."));
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
        return Err(invalid("A refusal takes no input and cannot be remembered. Send neither, or approve."));
    }
    let Some(input) = input.as_ref().map(RawJson::as_str) else { return Ok(()) };
    if input.len() > MAX_INPUT_BYTES {
        return Err(invalid("The edited input is too long. Use at most 1048576 bytes."));
    }
    if !input.starts_with('{') {
        return Err(invalid("The edited input must be a JSON object, as tools take it."));
    }
    Ok(())
}

pub(super) fn check_search(search: &str) -> Result<(), ServiceError> {
    if search.chars().count() > MAX_SEARCH_CHARS {
        return Err(invalid("The search is too long. Use at most 200 characters."));
    }
    Ok(())
}

pub(super) fn check_title(title: &str) -> Result<&str, ServiceError> {
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

/// A title made of the first line of a message.
pub(super) fn title_from_message(content: &str) -> String {
    let line = content.trim().lines().next().unwrap_or_default();
    let words: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut title: String = words.chars().take(MAX_TITLE_FROM_MESSAGE_CHARS).collect();
    if words.chars().nth(MAX_TITLE_FROM_MESSAGE_CHARS).is_some() {
        title.truncate(title.trim_end().len());
        title.push('…');
    }
    title
}

/// The title in what a model wrote when it was asked for one: one short line without what models like to put around it.
/// `None` when there is no word in it.
pub(super) fn title_from_model(written: &str) -> Option<String> {
    // Models that think aloud end that with this tag, however their server is set up.
    let answer = written.rsplit_once("</think>").map_or(written, |(_, answer)| answer);
    let line = answer.lines().find(|line| line.contains(char::is_alphanumeric))?;
    // Format characters could turn the direction of writing around, or make two titles look alike.
    let plain: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).filter(|c| !is_format(*c)).collect();
    let words = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let wrapping = |c: char| c.is_whitespace() || "\"'`*_#“”‘’«»„「」『』".contains(c);
    let bare = words.trim_matches(wrapping);
    let bare = bare.get(..6).filter(|start| start.eq_ignore_ascii_case("title:")).map_or(bare, |_| &bare[6..]);
    let title = bare.trim_end_matches(['.', '。']).trim_matches(wrapping);
    if title.chars().count() > MAX_TITLE_FROM_MODEL_CHARS {
        let shortened: String = title.chars().take(MAX_TITLE_FROM_MODEL_CHARS - 1).collect();
        return Some(format!("{}…", shortened.trim_end()));
    }
    title.contains(char::is_alphanumeric).then(|| title.to_owned())
}

/// Marks that are not seen but change how what is around them is shown.
fn is_format(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

fn invalid(message: &str) -> ServiceError {
    ServiceError::Invalid(message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{
        MAX_TITLE_FROM_MESSAGE_CHARS, MAX_TITLE_FROM_MODEL_CHARS, check_title, title_from_message, title_from_model,
    };

    #[test]
    fn a_title_from_a_model_is_one_plain_line_or_none() {
        for (written, title) in [
            ("Adding two numbers", Some("Adding two numbers")),
            ("\n  **\"Adding two numbers.\"**\nI hope that helps!", Some("Adding two numbers")),
            ("Title: Sums", Some("Sums")),
            ("「足し算の質問」", Some("足し算の質問")),
            ("<think>The user wants\na title.</think>\nSums", Some("Sums")),
            ("a\tb\u{7}c\u{202e}d", Some("a b cd")),
            ("<b>Sums</b>", Some("<b>Sums</b>")),
            ("", None),
            ("\"...\"\n", None),
            ("Title:", None),
        ] {
            assert_eq!(title_from_model(written).as_deref(), title, "{written}");
        }
        let long = title_from_model(&"数".repeat(500)).unwrap();
        assert_eq!(long.chars().count(), MAX_TITLE_FROM_MODEL_CHARS);
        assert_eq!(check_title(&long).unwrap(), long);
    }

    #[test]
    fn a_title_is_one_short_line() {
        assert_eq!(title_from_message("\n What is 2 + 2?\nAnd 3 + 3?"), "What is 2 + 2?");
        let long = title_from_message(&"数".repeat(500));
        assert_eq!(long.chars().count(), MAX_TITLE_FROM_MESSAGE_CHARS + 1);
        assert!(long.ends_with('…'));
        assert_eq!(title_from_message("a\tb"), "a b");
    }
}
