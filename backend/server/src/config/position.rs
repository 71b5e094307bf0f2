//! Finds positions in the settings file: the line and the key that a span belongs to, and the example of a key.

use std::ops::Range;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// Settings file with an example of every key.
const EXAMPLE: &str = include_str!("../../../../tallybook.example.toml");

/// Returns the line on which a span begins, from 1.
pub(crate) fn line_of(text: &str, span: &Range<usize>) -> usize {
    1 + text.bytes().take(span.start).filter(|byte| *byte == b'\n').count()
}

/// Returns the path of the innermost key at a span, like `models[0].temperature`. `None` if there is none, or if the
/// text is not TOML.
pub(crate) fn key_at(text: &str, span: &Range<usize>) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let mut search = Search { at: span.start, found: None };
    search.table(document.get_ref(), "", 1);
    search.found.map(|(_, path)| path)
}

/// Returns the span of a key; `None` if it does not exist. `path` is the key's path through its tables; its last
/// element is the key.
pub(crate) fn span_of(text: &str, path: &[&str]) -> Option<Range<usize>> {
    let (last, tables) = path.split_last()?;
    let document = DeTable::parse(text).ok()?;
    let mut table = document.get_ref();
    for name in tables {
        table = table.iter().find(|(key, _)| key.get_ref() == name)?.1.get_ref().as_table()?;
    }
    table.keys().find(|key| key.get_ref() == last).map(Spanned::span)
}

/// Returns the line of the example file that sets this key, without its comment.
pub(crate) fn example_of(path: &str) -> Option<&'static str> {
    let (table, key) = path.rsplit_once('.')?;
    let mut in_table = false;
    for line in EXAMPLE.lines() {
        if line.starts_with('[') {
            in_table = is_same_table(line.trim_start_matches('[').split(']').next().unwrap_or_default(), table);
        } else if let Some(rest) = line.strip_prefix(key).filter(|rest| in_table && rest.starts_with(" = ")) {
            let value = rest.split(" #").next().unwrap_or_default();
            return Some(line[..key.len() + value.len()].trim_end());
        }
    }
    None
}

/// Returns `true` if a table header of the example file belongs to the table at `path`. Ignores the index of a model
/// and the name of a tool server.
fn is_same_table(header: &str, path: &str) -> bool {
    let path = path.split('[').next().map_or(String::new(), |begin| {
        let rest = path.split_once(']').map_or("", |(_, rest)| rest);
        format!("{begin}{rest}")
    });
    let is_server = |name: &str| name.starts_with("tool_servers.");
    let depth = |name: &str| name.split('.').count();
    header == path || is_server(header) && is_server(&path) && depth(header) == depth(&path)
}

/// A search for the innermost key at a position.
struct Search {
    at: usize,
    /// Depth of the key, counted in tables and lists, and its path.
    found: Option<(usize, String)>,
}

impl Search {
    fn table(&mut self, table: &DeTable<'_>, path: &str, depth: usize) {
        for (key, value) in table {
            let name = key.get_ref();
            let is_bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
            let name = if is_bare { name.to_string() } else { format!("{name:?}") };
            let path = if path.is_empty() { name } else { format!("{path}.{name}") };
            if key.span().contains(&self.at) {
                self.note(&path, depth);
            }
            self.value(value, &path, depth);
        }
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>, path: &str, depth: usize) {
        if value.span().contains(&self.at) {
            self.note(path, depth);
        }
        match value.get_ref() {
            DeValue::Table(table) => self.table(table, path, depth + 1),
            DeValue::Array(items) => {
                for (number, item) in items.iter().enumerate() {
                    self.value(item, &format!("{path}[{number}]"), depth + 1);
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, path: &str, depth: usize) {
        if self.found.as_ref().is_none_or(|(other, _)| *other <= depth) {
            self.found = Some((depth, path.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{example_of, key_at, line_of, span_of};

    const FILE: &str = "[[models]]\nname = \"A\"\n\n[[models]]\nname = \"B\"\nquirks = { no_stop = 1 }\n\n[review]\n\
                        models = [\n\"A\",\n\"Z\"]\n[tool_servers.\"a b\".env]\nLEVEL = 3\n";

    #[test]
    fn the_innermost_key_is_found() {
        for (words, line, key) in [
            ("[[models]]\nname = \"B", 4, "models[1]"),
            ("\"B\"", 5, "models[1].name"),
            ("no_stop", 6, "models[1].quirks.no_stop"),
            ("1 }", 6, "models[1].quirks.no_stop"),
            ("\"Z\"", 11, "review.models[1]"),
            ("LEVEL", 13, "tool_servers.\"a b\".env.LEVEL"),
        ] {
            let start = FILE.find(words).unwrap();
            let span = start..start + 1;
            assert_eq!((line_of(FILE, &span), key_at(FILE, &span).as_deref()), (line, Some(key)), "{words}");
        }
        assert_eq!(key_at("models = ", &(0..1)), None);
        assert_eq!(span_of(FILE, &["review", "models"]).map(|span| &FILE[span]), Some("models"));
    }

    #[test]
    fn every_key_has_its_example() {
        for (path, example) in [
            ("models[3].temperature", "temperature = 0.2"),
            ("models[0].max_tokens", "max_tokens = 8192"),
            ("models[0].quirks.no_stream_options", "no_stream_options = true"),
            ("tool_servers.x.timeout_secs", "timeout_secs = 20"),
            ("tool_servers.x.oauth.scope", "scope = \"docs/read\""),
            ("oauth.token_url", "token_url = \"https://id.example.org/token\""),
            ("memory.max_chars", "max_chars = 300"),
        ] {
            assert_eq!(example_of(path), Some(example), "{path}");
        }
        assert_eq!(example_of("memory.forget"), None);
    }
}
