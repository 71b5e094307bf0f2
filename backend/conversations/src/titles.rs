//! Makes a conversation's title, from the first question or from the text that a model wrote when asked for a title.

use tallybook_files::FileRow;
use tallybook_protocol::{MessagePart, with_ellipsis};

use crate::{
    limits::{MAX_TITLE_FROM_MESSAGE_CHARS, MAX_TITLE_FROM_MODEL_CHARS},
    store::{conversations::UNTITLED, rows::ConversationRow},
};

/// Maximum number of layers of marks that are removed from a model's title. Further layers stay.
const MAX_LAYERS: usize = 8;
/// Maximum length of an introduction such as "Here is a title for this conversation:", in characters.
const MAX_INTRODUCTION_CHARS: usize = 60;

/// Marks that models put around a title. Each is removed only together with its partner.
const PAIRS: [(&str, &str); 16] = [
    ("**", "**"),
    ("__", "__"),
    ("*", "*"),
    ("_", "_"),
    ("`", "`"),
    ("\"", "\""),
    ("'", "'"),
    ("“", "”"),
    ("„", "“"),
    ("‘", "’"),
    ("«", "»"),
    ("»", "«"),
    ("「", "」"),
    ("『", "』"),
    ("【", "】"),
    ("<title>", "</title>"),
];

/// Returns the title that a conversation gets from its first message. Returns `None` if the conversation already has a
/// message or a title.
pub(crate) fn first_title_of(row: &ConversationRow, parts: &[MessagePart], files: &[FileRow]) -> Option<String> {
    let is_first = row.head_message_id.is_none() && row.title == UNTITLED;
    is_first.then(|| title_of(parts, files))
}

/// Returns the title of a conversation that begins with this message: its text, or the name of its first file.
pub(crate) fn title_of(parts: &[MessagePart], files: &[FileRow]) -> String {
    let text = MessagePart::join_texts(parts);
    let name = files.first().filter(|_| text.trim().is_empty()).map(|file| file.name.as_str());
    title_from_message(name.unwrap_or(&text))
}

/// Makes a title from the first line of a message.
pub(crate) fn title_from_message(content: &str) -> String {
    let line = content.trim().lines().next().unwrap_or_default();
    let text: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    with_ellipsis(&text, MAX_TITLE_FROM_MESSAGE_CHARS)
}

/// Extracts the title from what a model wrote when asked for one. The title is one short line, without reasoning, JSON,
/// a code fence, an introduction, or marks around it. Returns `None` if the text contains no letter or digit.
pub(crate) fn title_from_model(written: &str) -> Option<String> {
    // Models that reason in their text end the reasoning with this tag, however their server is configured.
    let answer = written.rsplit_once("</think>").map_or(written, |(_, answer)| answer);
    let from_json = title_in_json(answer);
    let line = from_json.as_deref().map_or_else(|| title_line(answer), first_line)?;
    // Format characters can reverse the direction of writing, or make two titles look alike.
    let plain: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).filter(|c| !is_format(*c)).collect();
    let text = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let title = bare(&text);
    if title.chars().count() > MAX_TITLE_FROM_MODEL_CHARS {
        return Some(with_ellipsis(title, MAX_TITLE_FROM_MODEL_CHARS - 1));
    }
    title.contains(char::is_alphanumeric).then(|| title.to_owned())
}

/// Returns the first line with a letter or digit.
fn first_line(text: &str) -> Option<&str> {
    text.lines().find(|line| line.contains(char::is_alphanumeric))
}

/// Returns the line that has the title. This line is not a fence, and not an introduction that another line follows.
fn title_line(answer: &str) -> Option<&str> {
    let mut lines =
        answer.lines().filter(|line| line.contains(char::is_alphanumeric) && !line.trim_start().starts_with("```"));
    let first = lines.next()?;
    let is_introduction = after_introduction(first.trim()).is_some_and(|rest| !rest.contains(char::is_alphanumeric));
    if is_introduction { lines.next() } else { Some(first) }
}

/// Returns the title in an answer that is, or contains, JSON: a string, or an object with a field `title`.
fn title_in_json(answer: &str) -> Option<String> {
    let start = answer.find(['{', '['])?;
    let mut values = serde_json::Deserializer::from_str(&answer[start..]).into_iter::<serde_json::Value>();
    let Ok(value) = values.next()? else { return title_in_broken_json(&answer[start..]) };
    let first = value.get(0).unwrap_or(&value);
    let title = ["title", "Title", "name"].into_iter().find_map(|field| first.get(field));
    title.or_else(|| value.get(0)).and_then(|title| title.as_str()).map(str::to_owned)
}

/// Returns the title from an object that is truncated, or written in Python syntax.
fn title_in_broken_json(json: &str) -> Option<String> {
    let inside = json.strip_prefix('{')?.trim_start();
    let (quote, rest) =
        inside.chars().next().filter(|c| matches!(*c, '"' | '\'')).map(|quote| (quote, &inside[1..]))?;
    let rest = rest.strip_prefix("title").or_else(|| rest.strip_prefix("Title"))?.strip_prefix(quote)?;
    let value = rest.trim_start().strip_prefix(':')?.trim_start();
    let quote = value.chars().next().filter(|c| matches!(*c, '"' | '\''))?;
    let mut title = String::new();
    let mut characters = value[1..].chars();
    loop {
        match characters.next() {
            None => break,
            Some('\\') => title.extend(characters.next()),
            Some(c) if c == quote => break,
            Some(c) => title.push(c),
        }
    }
    (!title.is_empty()).then_some(title)
}

/// Removes the marks and the introduction that models put around a title.
fn bare(text: &str) -> &str {
    let mut title = text.trim();
    for _ in 0..MAX_LAYERS {
        let heading = title.trim_start_matches('#');
        // `#rust` is a word, `# Rust` is a heading.
        let unmarked = if heading.starts_with(' ') { heading } else { title };
        let unmarked = ["- ", "* ", "• "].iter().find_map(|mark| unmarked.strip_prefix(mark)).unwrap_or(unmarked);
        let unmarked = after_introduction(unmarked.trim()).unwrap_or(unmarked);
        let inside = without_full_stop(without_pair(unmarked.trim())).trim();
        if inside == title {
            break;
        }
        title = inside;
    }
    title
}

/// Returns the text inside a pair of marks if the two marks belong together. `"A" and "B"` keeps its quotation marks.
fn without_pair(title: &str) -> &str {
    let inside = PAIRS.into_iter().find_map(|(open, close)| {
        let inside = title.strip_prefix(open)?.strip_suffix(close)?;
        (!inside.contains(open) && !inside.contains(close)).then_some(inside)
    });
    inside.unwrap_or(title)
}

/// Returns the title without its full stop. The point of an abbreviation such as "D.C." stays.
fn without_full_stop(title: &str) -> &str {
    let last_word = title.rsplit(' ').next().unwrap_or_default();
    match title.strip_suffix(['.', '。']) {
        Some(_) if last_word.matches('.').count() > 1 && last_word.contains(char::is_alphanumeric) => title,
        Some(stripped) => stripped,
        None => title,
    }
}

/// Returns what follows an introduction such as "Title:" or "Here is a title for this conversation:".
fn after_introduction(line: &str) -> Option<&str> {
    let (introduction, rest) = line.split_once([':', '：'])?;
    if introduction.chars().count() > MAX_INTRODUCTION_CHARS {
        return None;
    }
    let introduction = introduction.trim_matches(['*', '_', '"', ' ', '#']).to_lowercase();
    let names_a_title = ["title", "タイトル", "标题", "標題", "제목", "titre", "titel", "título"]
        .iter()
        .any(|word| introduction.ends_with(word))
        || introduction.contains("title for");
    let opens =
        ["title", "here", "sure", "chat title", "conversation title", "suggested title", "the title", "a title"];
    let is_one =
        names_a_title && (opens.iter().any(|start| introduction.starts_with(start)) || !introduction.is_ascii());
    // Removes the mark that closes around the introduction, as in `**Title:** Sums`.
    is_one.then(|| rest.strip_prefix("**").unwrap_or(rest).trim_start())
}

/// Returns `true` if a character is invisible but changes how the text around it is displayed.
fn is_format(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use crate::{
        input::check_title,
        titles::{MAX_TITLE_FROM_MESSAGE_CHARS, MAX_TITLE_FROM_MODEL_CHARS, title_from_message, title_from_model},
    };

    #[test]
    fn a_title_from_a_model_is_one_plain_line_or_none() {
        for (written, title) in [
            ("Adding two numbers", Some("Adding two numbers")),
            ("\n  **\"Adding two numbers.\"**\nI hope that helps!", Some("Adding two numbers")),
            ("Title: Sums", Some("Sums")),
            ("**Title:** Sums", Some("Sums")),
            ("# Sums", Some("Sums")),
            ("「足し算の質問」", Some("足し算の質問")),
            ("タイトル：足し算", Some("足し算")),
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
    fn marks_that_belong_to_the_title_stay() {
        for title in [
            "Java and C#",
            "Who wrote “Hamlet”",
            "“Hamlet” and “Macbeth”",
            "\"A\" or \"B\"",
            "`add` and `multiply`",
            "#rust for beginners",
            "Visiting Washington D.C.",
            "What does *args mean",
            "Subtitles: how to add them",
            "Recipe: here is the title of the book",
            "「銀河鉄道の夜」の感想",
            "[Draft] Sums",
            "{x | x > 0}",
            "{'a': 1} in Python",
        ] {
            assert_eq!(title_from_model(title).as_deref(), Some(title), "{title}");
        }
    }

    #[test]
    fn a_title_is_unwrapped() {
        for written in [
            "{\"title\": \"Sums\"}",
            "```json\n{\n  \"title\": \"Sums\"\n}\n```",
            "[\"Sums\"]",
            "{'title': 'Sums'}",
            "{\"title\": \"Sums",
            "```json\n{\"title\": \"Sums\"",
            "Here is the JSON: [{\"title\": \"Sums.\"}]",
            "```\nSums\n```",
            "Here is a title:\n\nSums",
            "Here's a title for this conversation: \"Sums\"",
            "Sure! Here is a short title:\n```text\n**Sums**\n```",
            "Conversation title: 'Sums'",
            "<title>Sums</title>",
            "- Sums",
            "\"**Sums**\"",
        ] {
            assert_eq!(title_from_model(written).as_deref(), Some("Sums"), "{written}");
        }
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
