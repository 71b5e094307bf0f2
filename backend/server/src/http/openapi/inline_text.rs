//! A line of text on the API page: a description in minimal Markdown, or the type that a schema describes.

use askama::{Template, filters::HtmlSafe};
use serde_json::Value;

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Plain(String),
    Code(String),
    /// Text and target of a link.
    Link(String, String),
}

/// A line, which renders as HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq, Template)]
#[template(
    source = "{% for piece in pieces %}{% match piece %}{% when Piece::Plain(text) %}{{ text }}{% when Piece::Code(text) %}<code>{{ text }}</code>{% when Piece::Link(text, to) %}<a href=\"{{ to }}\">{{ text }}</a>{% endmatch %}{% endfor %}",
    ext = "html"
)]
pub(crate) struct Line {
    pieces: Vec<Piece>,
}

impl HtmlSafe for Line {}

impl Line {
    /// Parses a text that contains code in backticks and links in angle brackets.
    pub(crate) fn read(text: &str) -> Self {
        let pieces = text.split('`').enumerate().flat_map(|(at, part)| match at % 2 {
            0 => links(part),
            _ => vec![Piece::Code(part.to_owned())],
        });
        Self { pieces: pieces.collect() }
    }

    /// Describes the type of a schema.
    pub(crate) fn of(schema: &Value) -> Self {
        let mut line = Self::default();
        line.describe(schema);
        line
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    fn plain(&mut self, text: impl Into<String>) {
        self.pieces.push(Piece::Plain(text.into()));
    }

    fn code(&mut self, text: impl Into<String>) {
        self.pieces.push(Piece::Code(text.into()));
    }

    fn describe(&mut self, schema: &Value) {
        if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            self.pieces.push(Piece::Link(name.to_owned(), format!("#schema-{name}")));
            return;
        }
        if let content @ Value::Object(_) = &schema["contentSchema"] {
            self.plain("JSON: ");
            self.describe(content);
            return;
        }
        if let Some(choices) = ["oneOf", "anyOf"].iter().find_map(|of| schema[of].as_array()) {
            // Null comes last, as in “string or null”.
            let is_null = |choice: &&Value| choice["type"] == "null";
            let (none, some): (Vec<_>, Vec<_>) = choices.iter().partition(is_null);
            self.join(some.into_iter().chain(none), " or ");
            return;
        }
        if let Some(all) = schema["allOf"].as_array() {
            self.join(all.iter(), " and ");
            return;
        }
        if let Some(values) = schema["enum"].as_array() {
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    self.plain(" or ");
                }
                self.code(value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            }
            return;
        }
        let kinds: Vec<&str> = match &schema["type"] {
            Value::String(kind) => vec![kind],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => vec!["anything"],
        };
        for (at, kind) in kinds.iter().enumerate() {
            if at > 0 {
                self.plain(" or ");
            }
            match *kind {
                "array" => {
                    self.plain("list of ");
                    self.describe(&schema["items"]);
                }
                "string" => self.plain(text_of(schema)),
                kind => self.plain(kind),
            }
        }
        self.bounds(schema);
    }

    fn join<'a>(&mut self, schemas: impl Iterator<Item = &'a Value>, between: &str) {
        for (at, schema) in schemas.enumerate() {
            if at > 0 {
                self.plain(between);
            }
            self.describe(schema);
        }
    }

    fn bounds(&mut self, schema: &Value) {
        for (least, most, unit) in
            [("minLength", "maxLength", " characters"), ("minItems", "maxItems", " items"), ("minimum", "maximum", "")]
        {
            let bound = |name: &str| schema[name].as_f64().map(|number| number.to_string());
            let text = match (bound(least), bound(most)) {
                (Some(least), Some(most)) => format!(", {least} to {most}{unit}"),
                (Some(least), None) if unit.is_empty() => format!(", at least {least}"),
                (None, Some(most)) => format!(", at most {most}{unit}"),
                _ => continue,
            };
            self.plain(text);
        }
        if let Some(pattern) = schema["pattern"].as_str() {
            self.plain(", ");
            self.code(pattern);
        }
    }
}

/// Returns the kind of a string.
fn text_of(schema: &Value) -> &'static str {
    match schema["format"].as_str() {
        Some("uuid") => "UUID",
        Some("date-time") => "time",
        _ => "string",
    }
}

fn links(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<https://") {
        let Some((address, after)) = after.split_once('>') else { break };
        pieces.push(Piece::Plain(before.to_owned()));
        pieces.push(Piece::Link(address.to_owned(), format!("https://{address}")));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Plain(rest.to_owned()));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Line;

    #[test]
    fn text_in_a_line_is_escaped() {
        let line = Line::read("Of `a<b>` & more: <https://example.org/x>.");
        assert_eq!(
            line.to_string(),
            "Of <code>a&#60;b&#62;</code> &#38; more: <a href=\"https://example.org/x\">example.org/x</a>."
        );
    }

    #[test]
    fn a_schema_is_described_in_text() {
        for (schema, text) in [
            (json!({"type": ["string", "null"], "maxLength": 9}), "string or null, at most 9 characters"),
            (
                json!({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 4}),
                "list of integer, 1 to 4 items",
            ),
            (
                json!({"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/A"}]}),
                "<a href=\"#schema-A\">A</a> or null",
            ),
            (json!({"type": "string", "enum": ["a", "b"]}), "<code>a</code> or <code>b</code>"),
            (json!({"type": "string", "format": "uuid"}), "UUID"),
            (json!({}), "anything"),
        ] {
            assert_eq!(Line::of(&schema).to_string(), text);
        }
    }
}
