//! Builds SQL conditions that search for a text, for both engines. The search ignores case in every script and takes
//! wildcards literally.

use crate::query::{Handle, Query};

/// Maximum number of distinct non-ASCII letters whose case is ignored on SQLite. Each one costs a pass through the
/// text.
const MAX_LETTERS: usize = 32;

/// The text to search for.
#[derive(Clone, Debug)]
pub struct Pattern {
    typed: String,
    lower: String,
    /// The text's non-ASCII letters, each in upper and in lower case. SQLite's `LOWER` changes only ASCII letters.
    letters: Vec<(char, char)>,
}

impl Pattern {
    /// Creates the pattern for a text that the user typed.
    #[must_use]
    pub fn new(text: &str) -> Self {
        // Converts letter by letter, as the engines do.
        let lower: String = text.chars().flat_map(char::to_lowercase).collect();
        let mut letters: Vec<(char, char)> =
            lower.chars().filter_map(|letter| Some((upper_case(letter)?, letter))).collect();
        letters.sort_unstable();
        letters.dedup();
        letters.truncate(MAX_LETTERS);
        Self { typed: text.to_owned(), lower, letters }
    }

    /// Appends an expression for `column` in lower case. On SQLite, only ASCII letters and this text's letters are
    /// converted.
    fn push_lower<H: Handle>(&self, query: &mut Query<H>, column: &'static str) {
        let letters: &[(char, char)] = if query.is_sqlite() { &self.letters } else { &[] };
        for _ in letters {
            query.push("REPLACE(");
        }
        query.push("LOWER(").push(column).push(")");
        for (upper, lower) in letters {
            query.push(", ").push_bind(upper.to_string()).push(", ").push_bind(lower.to_string()).push(")");
        }
    }

    /// Appends the condition that `column` contains the text.
    pub fn push_matches<H: Handle>(&self, query: &mut Query<H>, column: &'static str) {
        // If the text has no upper or lower case, one comparison is enough. Each comparison costs a pass through a text
        // that may be long.
        let has_cases = self.typed.to_uppercase() != self.lower;
        if has_cases {
            query.push("(");
            self.push_lower(query, column);
            query.push(" LIKE ").push_bind(containing(&self.lower)).push(" ESCAPE '!'");
            if self.typed.is_ascii() {
                query.push(")");
                return;
            }
            // Also searches for the text as typed. This finds letters that `push_lower` does not convert, such as one
            // whose lower case is several characters.
            query.push(" OR ");
        } else {
            query.push("(");
        }
        query.push(column).push(" LIKE ").push_bind(containing(&self.typed)).push(" ESCAPE '!')");
    }

    /// Appends expressions, separated by commas, for `COALESCE`. The first one that is not null is the position of the
    /// text in `column`, in characters, counted from 1.
    pub fn push_positions<H: Handle>(&self, query: &mut Query<H>, column: &'static str) {
        query.push("NULLIF(INSTR(");
        self.push_lower(query, column);
        query.push(", ").push_bind(self.lower.clone()).push("), 0), ");
        query.push("NULLIF(INSTR(LOWER(").push(column).push("), ").push_bind(self.typed.to_ascii_lowercase());
        query.push("), 0), NULLIF(INSTR(").push(column).push(", ").push_bind(self.typed.clone()).push("), 0)");
    }
}

/// Returns the upper case of a non-ASCII letter if it is a single, different character.
fn upper_case(letter: char) -> Option<char> {
    let mut upper = letter.to_uppercase();
    let first = upper.next().filter(|upper| *upper != letter && !letter.is_ascii())?;
    upper.next().is_none().then_some(first)
}

/// Returns the LIKE pattern for texts that contain `text`, with the wildcards in `text` escaped by `!`.
fn containing(text: &str) -> String {
    let mut like = String::from("%");
    for character in text.chars() {
        if matches!(character, '%' | '_' | '!') {
            like.push('!');
        }
        like.push(character);
    }
    like.push('%');
    like
}
