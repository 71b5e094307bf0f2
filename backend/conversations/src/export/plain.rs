//! Escapes text for one line of a Markdown file.

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
