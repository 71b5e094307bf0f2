//! A text from outside as HTML, with codes in the place of characters that cannot be seen.

use std::fmt::{self, Display, Formatter};

use askama::filters::{Html, HtmlSafe, escape};
use tallybook_frontend::{
    Language,
    invisible::{Found, Piece, blank_lines_of, codes, pieces},
};

/// The text, to be put into a template as it is.
pub(super) struct Visible {
    text: String,
    language: Language,
}

impl Visible {
    pub(super) fn new(text: String, language: Language) -> Self {
        Self { text, language }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The sentence that names what was found in it; `None` if nothing was.
    pub(super) fn warning(&self) -> Option<String> {
        Found::of(&self.text).warning(self.language)
    }
}

/// `Display` escapes what it writes.
impl HtmlSafe for Visible {}

impl Display for Visible {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for piece in pieces(&self.text) {
            let code = match piece {
                Piece::Plain(text) => {
                    let Ok(text) = escape(text, Html);
                    write!(f, "{text}")?;
                    continue;
                }
                Piece::Hidden(hidden) => codes(hidden),
                Piece::BlankLines(lines) => blank_lines_of(self.language, lines),
            };
            // Codes have no character that means something in HTML.
            write!(f, "<span class=\"code-point\">{code}</span>")?;
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
