//! Pages of text within the limits, and a writer for flowing text that is split into pages.

use crate::limits::{MAX_PAGE_CHARS, MAX_PAGES, MAX_TEXT_BYTES, PAGE_CHARS};

/// Pages of a file. Adding more than the limits allow sets `truncated`.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    pub(crate) texts: Vec<String>,
    pub(crate) truncated: bool,
    bytes: usize,
}

impl Pages {
    /// Adds a page, or several if it is longer than [`MAX_PAGE_CHARS`]. Removes control characters except tabs and line
    /// feeds, and trailing white space.
    ///
    /// Returns whether another page has room.
    pub(crate) fn push(&mut self, text: &str) -> bool {
        let text = clean(text.trim_end());
        if text.is_empty() { self.add(text) } else { self.add_split(&text, MAX_PAGE_CHARS) }
    }

    /// Adds text as pages of at most `max_chars` characters. The pages together are the whole text.
    fn add_split(&mut self, mut text: &str, max_chars: usize) -> bool {
        while !text.is_empty() {
            let (page, rest) = text.split_at(end_of_page(text, max_chars));
            if !self.add(page.to_owned()) {
                return false;
            }
            text = rest;
        }
        true
    }

    fn add(&mut self, mut page: String) -> bool {
        if self.texts.len() == MAX_PAGES {
            self.truncated = true;
            return false;
        }
        let room = MAX_TEXT_BYTES - self.bytes;
        if page.len() > room {
            page.truncate(page.floor_char_boundary(room));
            self.truncated = true;
        }
        self.bytes += page.len();
        self.texts.push(page);
        !self.truncated
    }

    /// Number of bytes that still have room.
    pub(crate) fn room(&self) -> usize {
        MAX_TEXT_BYTES - self.bytes
    }

    pub(crate) fn has_text(&self) -> bool {
        self.texts.iter().any(|page| !page.trim().is_empty())
    }

    /// Splits text into pages of about [`PAGE_CHARS`] characters. The pages together are the whole text.
    pub(crate) fn split(text: &str) -> Self {
        let mut pages = Self::default();
        pages.add_split(&clean(text), PAGE_CHARS);
        pages
    }
}

/// Finds the end of the first page: after the last paragraph that fits, else after the last line, sentence or word;
/// at most `max_chars` characters. Paragraphs that begin in the first half of the page stay on it.
fn end_of_page(text: &str, max_chars: usize) -> usize {
    let Some((limit, _)) = text.char_indices().nth(max_chars) else {
        return text.len();
    };
    let page = &text[..limit];
    let half = page.floor_char_boundary(limit / 2);
    let after_last = |border: &str| page[half..].rfind(border).map(|at| half + at + border.len());
    ["\n\n", "\n", "。", ". ", " "].into_iter().find_map(after_last).unwrap_or(limit)
}

/// Removes control characters except tabs and line feeds, and makes line ends line feeds.
fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' => {
                if characters.peek() != Some(&'\n') {
                    clean.push('\n');
                }
            }
            '\n' | '\t' => clean.push(character),
            '\u{c}' => clean.push('\n'),
            '\u{feff}' => {}
            _ if character.is_control() => {}
            _ => clean.push(character),
        }
    }
    clean
}

/// Writes flowing text: separators are written only between texts, and the largest one wins.
#[derive(Debug, Default)]
pub(crate) struct Prose {
    text: String,
    pending: Separator,
    /// Written before the next text.
    marker: &'static str,
    /// Nesting of table rows, and for each one whether it has a cell already.
    rows: Vec<bool>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Separator {
    #[default]
    None,
    Space,
    Line,
    Paragraph,
}

impl Prose {
    /// Writes text as it is.
    pub(crate) fn write(&mut self, text: &str) {
        if text.is_empty() || self.is_full() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str(match self.pending {
                // A cell begins without a space.
                Separator::Space if self.text.ends_with('\t') => "",
                Separator::None => "",
                Separator::Space => " ",
                Separator::Line => "\n",
                Separator::Paragraph => "\n\n",
            });
        }
        self.pending = Separator::None;
        self.text.push_str(std::mem::take(&mut self.marker));
        self.text.push_str(text);
    }

    /// Begins a heading of this level, from 1, as Markdown writes it.
    pub(crate) fn begin_heading(&mut self, level: usize) {
        const MARKERS: [&str; 6] = ["# ", "## ", "### ", "#### ", "##### ", "###### "];
        self.paragraph();
        self.marker = MARKERS[level.clamp(1, MARKERS.len()) - 1];
    }

    /// Begins an item of a list.
    pub(crate) fn begin_item(&mut self) {
        self.line();
        self.marker = "- ";
    }

    /// Ends a heading or an item. One without text leaves nothing.
    pub(crate) fn end_marked(&mut self) {
        self.marker = "";
        self.line();
    }

    /// Writes text with each run of white space as one space, as HTML shows it.
    pub(crate) fn write_words(&mut self, text: &str) {
        if text.starts_with(char::is_whitespace) {
            self.space();
        }
        for (index, word) in text.split_whitespace().enumerate() {
            if index > 0 {
                self.space();
            }
            self.write(word);
        }
        if text.ends_with(char::is_whitespace) {
            self.space();
        }
    }

    pub(crate) fn space(&mut self) {
        self.separate(Separator::Space);
    }

    pub(crate) fn line(&mut self) {
        self.separate(Separator::Line);
    }

    pub(crate) fn paragraph(&mut self) {
        self.separate(Separator::Paragraph);
    }

    /// In a table, paragraphs and lines of a cell stay on one line.
    fn separate(&mut self, separator: Separator) {
        let separator = if self.rows.is_empty() { separator } else { Separator::Space };
        self.pending = self.pending.max(separator);
    }

    /// Begins a row of a table, which is one line with tabs between its cells. Rows of a nested table continue the line
    /// of the outer one.
    pub(crate) fn begin_row(&mut self) {
        self.line();
        self.rows.push(false);
    }

    pub(crate) fn begin_cell(&mut self) {
        if let Some(has_cell) = self.rows.last_mut()
            && std::mem::replace(has_cell, true)
        {
            self.pending = Separator::None;
            self.write("\t");
        }
    }

    pub(crate) fn end_row(&mut self) {
        self.rows.pop();
        self.line();
    }

    /// Returns whether the text reached the limit. Text that is written from now on is dropped.
    pub(crate) fn is_full(&self) -> bool {
        self.text.len() > MAX_TEXT_BYTES
    }

    /// Returns the text, and begins a new one.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(self).text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Pages, Prose, clean};
    use crate::limits::{MAX_PAGE_CHARS, MAX_PAGES, MAX_TEXT_BYTES, PAGE_CHARS};

    proptest! {
        #[test]
        fn split_pages_are_the_whole_text(text in "([a-z。あ ]{0,3000}\n{0,2}){0,9}") {
            let pages = Pages::split(&text).texts;
            prop_assert_eq!(pages.concat(), text);
            prop_assert!(pages.iter().all(|page| page.chars().count() <= PAGE_CHARS));
        }
    }

    #[test]
    fn pages_end_between_paragraphs() {
        let paragraph = format!("{}\n\n", "word ".repeat(300));
        let pages = Pages::split(&paragraph.repeat(6)).texts;
        assert_eq!(pages, vec![paragraph.repeat(2); 3]);
    }

    #[test]
    fn long_pages_are_split_between_lines() {
        let line = "1\t2\t3\t4\n";
        let mut pages = Pages::default();
        assert!(pages.push("short") && pages.push("") && pages.push(&line.repeat(5000)));
        assert_eq!(pages.texts.len(), 5);
        assert_eq!(pages.texts[2..].concat(), line.repeat(5000).trim_end());
        assert!(pages.texts[2..].iter().all(|page| page.starts_with("1\t") && page.len() <= MAX_PAGE_CHARS));
    }

    #[test]
    fn text_beyond_the_limit_is_cut_between_characters() {
        let pages = Pages::split(&"あ".repeat(MAX_TEXT_BYTES));
        assert!(pages.truncated);
        let bytes: usize = pages.texts.iter().map(String::len).sum();
        assert!((MAX_TEXT_BYTES - 2..=MAX_TEXT_BYTES).contains(&bytes));
    }

    #[test]
    fn pages_beyond_the_limit_are_left_out() {
        let mut pages = Pages::default();
        for _ in 0..MAX_PAGES {
            assert!(pages.push("x"));
        }
        assert!(!pages.truncated);
        assert!(!pages.push("x"));
        assert!(pages.truncated && pages.texts.len() == MAX_PAGES);
    }

    #[test]
    fn line_ends_become_line_feeds_and_control_characters_go() {
        assert_eq!(clean("a\r\nb\rc\0\u{1b}d\te\u{feff}"), "a\nb\ncd\te");
    }

    #[test]
    fn the_paragraphs_of_a_table_cell_stay_on_the_line_of_its_row() {
        let mut prose = Prose::default();
        prose.write("before");
        for row in [["a", "b"], ["c", ""]] {
            prose.begin_row();
            for cell in row {
                prose.begin_cell();
                prose.write(cell);
                prose.paragraph();
                prose.write(cell);
                prose.paragraph();
            }
            prose.end_row();
        }
        prose.paragraph();
        prose.write("after");
        assert_eq!(prose.take(), "before\na a\tb b\nc c\t\n\nafter");
    }
}
