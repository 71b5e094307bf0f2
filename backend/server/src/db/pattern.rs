//! A text that is searched for, as SQL that both engines understand: in upper and lower case alike, wildcards taken literally.

use sqlx::{Database, Encode, QueryBuilder, Type};

/// A text that is searched for.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    typed: String,
    lower: String,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Self {
        // Letter by letter, as the engines do it.
        Self { typed: text.to_owned(), lower: text.chars().flat_map(char::to_lowercase).collect() }
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
            query.push("(LOWER(").push(column).push(") LIKE ").push_bind(containing(&self.lower)).push(" ESCAPE '!'");
            if self.typed.is_ascii() {
                query.push(")");
                return;
            }
            // SQLite's LOWER knows ASCII only, so what that leaves alone is looked for as it was typed.
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
        query.push("NULLIF(INSTR(LOWER(").push(column).push("), ").push_bind(self.lower.clone()).push("), 0), ");
        query.push("NULLIF(INSTR(LOWER(").push(column).push("), ").push_bind(self.typed.to_ascii_lowercase());
        query.push("), 0), NULLIF(INSTR(").push(column).push(", ").push_bind(self.typed.clone()).push("), 0)");
    }
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
