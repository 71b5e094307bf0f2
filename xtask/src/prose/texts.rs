//! Extracts the prose of a file: the paragraphs of a document; the comments, longer strings and function names of code.

use std::sync::LazyLock;

use regex::Regex;

/// A text of a file. Lines that belong together are joined, so that a phrase is found although a line break divides it.
#[derive(Debug, Default)]
pub(super) struct Text {
    pub(super) prose: String,
    pub(super) place: Place,
    /// Byte offsets in `prose` at which lines of the file begin, and the lines' numbers.
    lines: Vec<(usize, usize)>,
}

/// Kind of place at which a text is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// The comment at the top of a Rust file.
    Header,
    /// A doc comment of a Rust item.
    DocComment,
    /// A string of the page's texts.
    Interface,
    #[default]
    Other,
}

impl Text {
    fn of_line(number: usize, line: &str) -> Self {
        Self { prose: line.to_owned(), place: Place::Other, lines: vec![(0, number)] }
    }

    /// Returns the number of the file's line that has this byte of the text.
    pub(super) fn line_of(&self, at: usize) -> usize {
        let after = self.lines.partition_point(|(start, _)| *start <= at);
        after.checked_sub(1).and_then(|index| self.lines.get(index)).map_or(1, |(_, line)| *line)
    }

    fn push(&mut self, number: usize, line: &str) {
        if !self.prose.is_empty() {
            self.prose.push(' ');
        }
        self.lines.push((self.prose.len(), number));
        self.prose.push_str(line);
    }
}

/// A kind of file, by the end of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Everything is prose.
    Document,
    /// Comments, strings, and names are prose.
    Code,
    /// Code whose strings are the page's texts.
    Interface,
}

impl Kind {
    /// Returns the kind of the file at this path; `None` if it has no prose.
    pub(super) fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        if matches!(name, "package-lock.json") || name.starts_with("requirements") {
            return None;
        }
        match name.rsplit_once('.')?.1 {
            "md" | "txt" | "toml" | "html" | "yml" | "yaml" => Some(Self::Document),
            "rs" if path.starts_with("frontend/src/i18n") => Some(Self::Interface),
            "rs" | "ts" | "mjs" | "js" | "css" | "sql" | "py" | "sh" => Some(Self::Code),
            _ => None,
        }
    }
}

/// Returns the texts of a file.
pub(super) fn of(kind: Kind, file: &str) -> Vec<Text> {
    match kind {
        Kind::Document => paragraphs(file),
        Kind::Code => comments_and_strings(file, Place::Other),
        Kind::Interface => comments_and_strings(file, Place::Interface),
    }
}

/// Returns the paragraphs. Rows of a table, items of a list, and headings are paragraphs of their own.
fn paragraphs(file: &str) -> Vec<Text> {
    let mut texts = Vec::new();
    let mut open = Text::default();
    for (number, line) in (1..).zip(file.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['|', '-', '*', '#', '>', '<']) {
            texts.push(std::mem::take(&mut open));
        }
        // In TOML and YAML, comments are prose.
        open.push(number, line.trim_start_matches('#').trim_start());
    }
    texts.push(open);
    texts
}

fn comments_and_strings(file: &str, of_strings: Place) -> Vec<Text> {
    let mut texts = Vec::new();
    let mut open = Text::default();
    // The marker of the line before; empty if that was not a comment.
    let mut last = "";
    for (number, line) in (1..).zip(file.lines()) {
        let (marker, comment) = comment_of(line.trim()).unwrap_or_default();
        let is_new = marker != last;
        last = marker;
        if is_new || comment.is_empty() {
            texts.push(std::mem::take(&mut open));
        }
        if is_new {
            // Only the first paragraph of a header or a doc comment has to begin in a certain way.
            open.place = match marker {
                "//!" => Place::Header,
                "///" => Place::DocComment,
                _ => Place::Other,
            };
        }
        if !comment.is_empty() {
            open.push(number, comment);
        } else if marker.is_empty() {
            texts.extend(within(line, of_strings).map(|(text, place)| Text { place, ..Text::of_line(number, &text) }));
        }
    }
    texts.push(open);
    texts
}

/// Returns a comment's marker and its text, if the line is a comment.
fn comment_of(line: &str) -> Option<(&'static str, &str)> {
    const MARKERS: [&str; 7] = ["//!", "///", "//", "/*", "--", "*", "#"];
    let marker = MARKERS.into_iter().find(|marker| line.starts_with(marker))?;
    // Attributes of Rust and colors of CSS are not comments, nor is a dereference.
    let rest = line.get(marker.len()..).unwrap_or_default();
    let is_comment = match marker {
        "#" | "*" => rest.is_empty() || rest.starts_with([' ', '/']),
        _ => true,
    };
    is_comment.then(|| (marker, rest.trim().trim_end_matches("*/").trim_end()))
}

/// Returns the texts within a line of code: longer strings, the comment at its end, and the name of a function.
fn within(line: &str, of_strings: Place) -> impl Iterator<Item = (String, Place)> {
    static STRING: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#""((?:[^"\\]|\\.){12,})"|'((?:[^'\\]|\\.){12,})'|`((?:[^`\\]|\\.){12,})`"#).ok());
    let strings = STRING.iter().flat_map(|pattern| pattern.captures_iter(line));
    let strings =
        strings.filter_map(|found| found.iter().skip(1).flatten().next().map(|text| text.as_str().to_owned()));
    let comment = line.split_once(" // ").map(|(_, comment)| comment.to_owned());
    let name =
        line.split_once("fn ").and_then(|(_, name)| name.split(['(', '<']).next()).map(|name| name.replace('_', " "));
    let strings = strings.map(|text| (text, of_strings));
    let others = comment.into_iter().chain(name).map(|text| (text, Place::Other));
    strings.chain(others).collect::<Vec<_>>().into_iter()
}
