//! What is searched for, as SQL that both engines understand: in upper and lower case alike, wildcards taken literally.

use sqlx::{Database, Encode, QueryBuilder, Type};

/// A text that is searched for.
#[derive(Clone, Debug)]
pub(crate) struct Needle {
    lower: String,
    // SQLite's LOWER knows ASCII only, so what that leaves alone is looked for as it was typed.
    typed: String,
}

impl Needle {
    pub(crate) fn new(text: &str) -> Self {
        Self { lower: text.to_lowercase(), typed: text.to_owned() }
    }

    /// Adds the condition that the text stands in `column`.
    pub(super) fn push_stands_in<D>(&self, query: &mut QueryBuilder<D>, column: &'static str)
    where
        D: Database,
        String: Type<D> + for<'q> Encode<'q, D>,
    {
        query.push("(LOWER(").push(column).push(") LIKE ").push_bind(containing(&self.lower));
        query.push(" ESCAPE '!' OR ").push(column).push(" LIKE ").push_bind(containing(&self.typed));
        query.push(" ESCAPE '!')");
    }

    /// Adds the place of the text in `column`, in characters counted from 1, once in each way in which it may be found; null
    /// where it is not.
    pub(super) fn push_places<D>(&self, query: &mut QueryBuilder<D>, column: &'static str)
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
    let mut pattern = String::from("%");
    for character in text.chars() {
        if matches!(character, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}
