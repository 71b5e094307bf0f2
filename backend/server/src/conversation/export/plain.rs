//! Text of others on a line of a Markdown file.

/// One line of text in which nothing is Markdown.
pub(super) fn plain(text: &str) -> String {
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
