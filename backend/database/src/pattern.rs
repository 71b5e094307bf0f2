//! Searches for a text in SQL on both engines: ignores case in every script, and takes wildcards literally.

use crate::query::{Handle, Query};

/// Maximum number of non-ASCII letters whose case is ignored on SQLite; each takes a pass through the text.
const MAX_LETTERS: usize = 32;

/// A text that is searched for.
#[derive(Clone, Debug)]
pub struct Pattern {
    typed: String,
    lower: String,
    /// The letters beyond ASCII in it, each in upper and in lower case. SQLite's `LOWER` leaves those alone.
    letters: Vec<(char, char)>,
}

impl Pattern {
    /// Creates the pattern of what is typed.
    #[must_use]
    pub fn new(text: &str) -> Self {
        // Letter by letter, as the engines do it.
        let lower: String = text.chars().flat_map(char::to_lowercase).collect();
        let mut letters: Vec<(char, char)> =
            lower.chars().filter_map(|letter| Some((upper_case(letter)?, letter))).collect();
        letters.sort_unstable();
        letters.dedup();
        letters.truncate(MAX_LETTERS);
        Self { typed: text.to_owned(), lower, letters }
    }

    /// Appends `column` in lower case: all of it on MySQL, and on SQLite at least the letters of this text.
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
        // Each way of searching takes a pass through a text that may be long.
        let has_cases = self.typed.to_uppercase() != self.lower;
        if has_cases {
            query.push("(");
            self.push_lower(query, column);
            query.push(" LIKE ").push_bind(containing(&self.lower)).push(" ESCAPE '!'");
            if self.typed.is_ascii() {
                query.push(")");
                return;
            }
            // A letter whose lower case is several characters is found as typed.
            query.push(" OR ");
        } else {
            query.push("(");
        }
        query.push(column).push(" LIKE ").push_bind(containing(&self.typed)).push(" ESCAPE '!')");
    }

    /// Appends expressions, separated by commas, of which the first that is not null is the position of the text in `column`: characters,
    /// counted from 1.
    pub fn push_positions<H: Handle>(&self, query: &mut Query<H>, column: &'static str) {
        query.push("NULLIF(INSTR(");
        self.push_lower(query, column);
        query.push(", ").push_bind(self.lower.clone()).push("), 0), ");
        query.push("NULLIF(INSTR(LOWER(").push(column).push("), ").push_bind(self.typed.to_ascii_lowercase());
        query.push("), 0), NULLIF(INSTR(").push(column).push(", ").push_bind(self.typed.clone()).push("), 0)");
    }
}

/// Returns the upper case of a letter beyond ASCII, if it is another character, and one alone.
fn upper_case(letter: char) -> Option<char> {
    let mut upper = letter.to_uppercase();
    let first = upper.next().filter(|upper| *upper != letter && !letter.is_ascii())?;
    upper.next().is_none().then_some(first)
}

/// A LIKE pattern for what contains `text`, its wildcards taken literally.
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
