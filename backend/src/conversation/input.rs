//! What people may write: lengths and characters, checked once on the way in.

use tallybook_protocol::NewMessage;

use super::ServiceError;

/// Characters in a message.
const MAX_MESSAGE_CHARS: usize = 100_000;
/// Characters in a title; the column holds as many.
const MAX_TITLE_CHARS: usize = 200;
/// Characters that can be searched for.
const MAX_SEARCH_CHARS: usize = 200;
/// Characters of the first message that become the title.
const TITLE_FROM_MESSAGE_CHARS: usize = 60;
/// Characters in a client's id of a message; the column holds as many.
const MAX_CLIENT_ID_CHARS: usize = 64;

/// The title of a conversation that nobody named and nobody wrote in.
pub(super) const UNTITLED: &str = "New conversation";

pub(super) fn check_message(new: &NewMessage) -> Result<(), ServiceError> {
    if new.content.trim().is_empty() {
        return Err(invalid("The message is empty. Write something first."));
    }
    let length = new.content.chars().count();
    if length > MAX_MESSAGE_CHARS {
        return Err(ServiceError::Invalid(format!(
            "The message has {length} characters; at most {MAX_MESSAGE_CHARS} are allowed. Shorten it or send it in parts."
        )));
    }
    if new.content.contains('\0') {
        return Err(invalid("The message contains a NUL character. Remove it and send again."));
    }
    if let Some(id) = &new.client_message_id {
        let fits = (1..=MAX_CLIENT_ID_CHARS).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
        if !fits {
            return Err(invalid("client_message_id must be 1 to 64 visible ASCII characters, such as a UUID."));
        }
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
    let mut title: String = words.chars().take(TITLE_FROM_MESSAGE_CHARS).collect();
    if words.chars().nth(TITLE_FROM_MESSAGE_CHARS).is_some() {
        title.truncate(title.trim_end().len());
        title.push('…');
    }
    title
}

fn invalid(message: &str) -> ServiceError {
    ServiceError::Invalid(message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{TITLE_FROM_MESSAGE_CHARS, title_from_message};

    #[test]
    fn a_title_is_one_short_line() {
        assert_eq!(title_from_message("\n What is 2 + 2?\nAnd 3 + 3?"), "What is 2 + 2?");
        let long = title_from_message(&"数".repeat(500));
        assert_eq!(long.chars().count(), TITLE_FROM_MESSAGE_CHARS + 1);
        assert!(long.ends_with('…'));
        assert_eq!(title_from_message("a\tb"), "a b");
    }
}
