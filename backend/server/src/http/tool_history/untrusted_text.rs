//! Renders untrusted text as HTML, and replaces invisible and misleading characters with their codes.

use std::fmt::{self, Display, Formatter};

use askama::filters::{Html, HtmlSafe, escape};
use tallybook_frontend::{
    Language,
    invisible::{Found, ShownPart, shown},
};

/// A text that templates can insert without escaping.
pub(crate) struct Visible {
    text: String,
    language: Language,
}

impl Visible {
    pub(crate) fn new(text: String, language: Language) -> Self {
        Self { text, language }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns a sentence that names these characters in the text; `None` if there are none.
    pub(crate) fn warning(&self) -> Option<String> {
        Found::of(&self.text).warning(self.language)
    }
}

/// `Display` escapes the text.
impl HtmlSafe for Visible {}

impl Display for Visible {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for part in shown(&self.text, self.language) {
            match part {
                ShownPart::Text(text) => {
                    let Ok(text) = escape(&text, Html);
                    write!(f, "{text}")?;
                }
                // Marks contain no characters that are special in HTML.
                ShownPart::Mark(mark) => write!(f, "<span class=\"code-point\">{mark}</span>")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tallybook_frontend::Language;

    use super::Visible;

    #[test]
    fn text_is_escaped_and_codes_are_marked() {
        let shown = |text: &str| Visible::new(text.to_owned(), Language::English).to_string();
        assert_eq!(shown("<b>a\u{200b}</b>"), "&#60;b&#62;a<span class=\"code-point\">⟨U+200B⟩</span>&#60;/b&#62;");
        assert_eq!(shown("plain"), "plain");
        let blank = format!("a{}b", "\n".repeat(9));
        assert_eq!(shown(&blank), "a\n<span class=\"code-point\">⟨8 blank lines⟩</span>\nb");
    }
}
