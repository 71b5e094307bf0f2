//! A text that is searched for, as SQL for both engines: upper and lower case match each other in every script, and
//! wildcards are taken literally.

use sqlx::{Database, Encode, QueryBuilder, Type};

/// Letters beyond ASCII of one search whose case is ignored on SQLite: each takes a pass through the text.
const MAX_LETTERS: usize = 32;

/// A text that is searched for.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    typed: String,
    lower: String,
    /// The letters beyond ASCII in it, each in upper and in lower case. SQLite's `LOWER` leaves those alone.
    letters: Vec<(char, char)>,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Self {
        // Letter by letter, as the engines do it.
        let lower: String = text.chars().flat_map(char::to_lowercase).collect();
        let mut letters: Vec<(char, char)> =
            lower.chars().filter_map(|letter| Some((upper_case(letter)?, letter))).collect();
        letters.sort_unstable();
        letters.dedup();
        letters.truncate(MAX_LETTERS);
        Self { typed: text.to_owned(), lower, letters }
    }

    /// Adds `column` in lower case: all of it on MySQL, and on SQLite at least the letters of this text.
    fn push_lower<D>(&self, query: &mut QueryBuilder<D>, column: &'static str)
    where
        D: Database,
        String: Type<D> + for<'q> Encode<'q, D>,
    {
        let letters: &[(char, char)] = if D::NAME == sqlx::Sqlite::NAME { &self.letters } else { &[] };
        query.push("REPLACE(".repeat(letters.len())).push("LOWER(").push(column).push(")");
        for (upper, lower) in letters {
            query.push(", ").push_bind(upper.to_string()).push(", ").push_bind(lower.to_string()).push(")");
        }
    }

    /// Adds the condition that `column` contains the text.
    pub(crate) fn push_matches<D>(&self, query: &mut QueryBuilder<D>, column: &'static str)
    where
        D: Database,
        String: Type<D> + for<'q> Encode<'q, D>,
    {
        // Looking through a text takes long, so it is done in no more ways than there is reason for.
        let has_cases = self.typed.to_uppercase() != self.lower;
        if has_cases {
            query.push("(");
            self.push_lower(query, column);
            query.push(" LIKE ").push_bind(containing(&self.lower)).push(" ESCAPE '!'");
            if self.typed.is_ascii() {
                query.push(")");
                return;
            }
            // A letter whose lower case is more than one character is found as it was typed.
            query.push(" OR ");
        } else {
            query.push("(");
        }
        query.push(column).push(" LIKE ").push_bind(containing(&self.typed)).push(" ESCAPE '!')");
    }

    /// Adds the position of the text in `column`, in characters counted from 1, once in each way in which it may be found; null
    /// where it is not.
    pub(crate) fn push_positions<D>(&self, query: &mut QueryBuilder<D>, column: &'static str)
    where
        D: Database,
        String: Type<D> + for<'q> Encode<'q, D>,
    {
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
