//! Finds very long words, such as encoded data in a message. Browsers break a word into lines only after they have shaped
//! it again for each line, unless its font is used without kerning: 100,000 letters would block the page for seconds.

/// Maximum length of a word that is drawn with kerning, in bytes.
const MAX_BYTES: usize = 2000;

/// Start of the Chinese, Japanese and Korean characters. A line may end between two of them.
const FIRST_CJK: char = '\u{2e80}';

/// Returns `true` if a text has a word that is too long to be drawn with kerning.
pub fn has_long_word(text: &str) -> bool {
    let is_break = |c: char| c.is_whitespace() || c >= FIRST_CJK;
    text.len() > MAX_BYTES && text.split(is_break).any(|word| word.len() > MAX_BYTES)
}

#[cfg(test)]
mod tests {
    use super::{MAX_BYTES, has_long_word};
    use crate::element;

    #[test]
    fn elements_with_a_long_word_are_marked() {
        let [short, long] = [MAX_BYTES, MAX_BYTES + 1].map(|length| "x".repeat(length));
        assert!(!has_long_word(&short) && !has_long_word(&format!("{short} {short}\n{short}")));
        assert!(!has_long_word(&"計".repeat(MAX_BYTES)), "a line may end after each of these characters");
        assert!(has_long_word(&long) && has_long_word(&format!("a {long} b")));
        for (text, mark) in [(&short, None), (&long, Some(""))] {
            let direct = element("p").with_text(text.as_str());
            assert_eq!(direct.attribute("data-long-word"), mark);
            assert_eq!(element("p").with_children(direct.children).attribute("data-long-word"), mark);
        }
    }
}
