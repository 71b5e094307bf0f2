//! Sanitizes Markdown. A model's answer is Markdown, and an exported file is opened by programs that are less careful
//! than the web UI. Escapes everything that these programs could run or load on their own, so that they show it as
//! text. `plain` escapes a whole text and puts it on one line.

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};

/// Maximum number of rounds. Escaping can uncover something else, for example when it breaks a comment around an image.
/// A text that needs more rounds is treated as an attack.
const MAX_ROUNDS: usize = 8;

/// Prefixes of accepted links, compared case-insensitively. The web UI accepts no others either.
const FOLLOWED: [&str; 3] = ["https://", "http://", "mailto:"];

const OPTIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// Returns `markdown` with a backslash before raw HTML, images, and links to addresses other than web and mail. Returns
/// `None` if the text still needs escaping after the maximum number of rounds.
pub(crate) fn sanitize(markdown: &str) -> Option<String> {
    let mut text = markdown.to_owned();
    for _ in 0..MAX_ROUNDS {
        let places = places_to_escape(&text);
        if places.is_empty() {
            return Some(text);
        }
        text = escaped_at(&text, &places);
    }
    None
}

/// Returns `true` if `markdown` leaves a block open, such as a code fence: text after it and a blank line would still
/// belong to that block.
pub(crate) fn is_open(markdown: &str) -> bool {
    let followed = format!("{markdown}\n\nx");
    let last = followed.len() - 1;
    !Parser::new_ext(&followed, OPTIONS)
        .into_offset_iter()
        .any(|(event, range)| matches!(event, Event::Start(Tag::Paragraph)) && range.start == last)
}

/// Returns the byte offsets to escape, in order and without duplicates.
fn places_to_escape(text: &str) -> Vec<usize> {
    let mut places = Vec::new();
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => {
                let angles = text[range.clone()].match_indices('<');
                places.extend(angles.map(|(at, _)| range.start + at));
            }
            Event::Start(Tag::Image { .. }) => places.push(range.start),
            Event::Start(Tag::Link { link_type, dest_url, .. }) if !may_be_followed(link_type, &dest_url) => {
                places.push(range.start);
            }
            _ => {}
        }
    }
    places.sort_unstable();
    places.dedup();
    places
}

fn may_be_followed(link_type: LinkType, address: &str) -> bool {
    let begins_with = |start: &str| address.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start));
    link_type == LinkType::Email || FOLLOWED.into_iter().any(begins_with)
}

fn escaped_at(text: &str, places: &[usize]) -> String {
    let mut escaped = String::with_capacity(text.len() + places.len());
    let mut written = 0;
    for &place in places {
        escaped.push_str(&text[written..place]);
        escaped.push('\\');
        written = place;
    }
    escaped.push_str(&text[written..]);
    escaped
}

/// Returns the text on one line, escaped so that nothing in it is Markdown.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_punctuation()
            && !matches!(character, '\'' | '"' | ',' | '.' | ':' | ';' | '?' | '/' | '%')
        {
            plain.push('\\');
        }
        plain.push(if character.is_control() { ' ' } else { character });
    }
    plain
}

#[cfg(test)]
mod tests {
    use crate::export::sanitize::{is_open, sanitize};

    #[test]
    fn active_content_becomes_text() {
        for (markdown, expected) in [
            ("1 < 2 and `<b>`", "1 < 2 and `<b>`"),
            ("a <b>bold</b> word", "a \\<b>bold\\</b> word"),
            ("<script>alert(1)</script>", "\\<script>alert(1)\\</script>"),
            ("```\n<script>\n```", "```\n<script>\n```"),
            ("[x](javascript:alert(1))", "\\[x](javascript:alert(1))"),
            ("<javascript:alert(1)>", "\\<javascript:alert(1)>"),
            ("[x][y]\n\n[y]: data:text/html,x", "\\[x]\\[y]\n\n[y]: data:text/html,x"),
            ("![x](https://example.com/track.png)", "\\![x](https://example.com/track.png)"),
            ("![x](data:image/png,)", "\\!\\[x](data:image/png,)"),
            ("[x](HTTPS://example.com) <a@example.com>", "[x](HTTPS://example.com) <a@example.com>"),
        ] {
            assert_eq!(sanitize(markdown).as_deref(), Some(expected), "{markdown}");
        }
    }

    #[test]
    fn text_that_an_escape_uncovers_is_escaped() {
        // Once the comment is escaped, the fence in it counts, and the second fence's script is outside of both.
        let uncovered = sanitize("<!--\n```\n-->\n\n```\n<script>alert(1)</script>\n```").unwrap();
        assert!(uncovered.contains("\\<script>"), "{uncovered}");
    }

    #[test]
    fn only_a_fence_continues_after_a_blank_line() {
        for (markdown, open) in [
            ("```\ncode", true),
            ("~~~~\ncode\n~~~", true),
            ("```\ncode\n```", false),
            ("- item\n  > quote", false),
            ("", false),
        ] {
            assert_eq!(is_open(markdown), open, "{markdown}");
        }
    }
}
