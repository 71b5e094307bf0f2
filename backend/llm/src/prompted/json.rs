//! Finds the end of a JSON value, character by character, while it streams in. It only checks whether the text is
//! well-formed so far; `call` interprets the value. It stores no text, so text that is passed on need not be held back
//! for it.

/// The state of the value after another character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The value is incomplete.
    More,
    /// This character completed the value.
    Done,
    /// With this character, the text isn't valid JSON.
    Broken,
}

/// A check of an object or a list, from its first character on.
#[derive(Debug)]
pub(crate) struct JsonScan {
    /// The open brackets. Memory grows only with the nesting depth.
    open: Vec<Bracket>,
    expect: Expect,
    inside: Inside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bracket {
    Object,
    List,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    Colon,
    CommaOrEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Structure,
    Text {
        escaped: bool,
        is_key: bool,
    },
    /// A number, `true`, `false`, `null`, or one of JavaScript's additional literals. The parser of the complete value
    /// checks the spelling.
    Word,
}

impl JsonScan {
    pub(crate) fn new() -> Self {
        Self { open: Vec::new(), expect: Expect::Value, inside: Inside::Structure }
    }

    /// Takes the next character. Do not call it after [`Progress::Done`] or [`Progress::Broken`].
    pub(crate) fn push(&mut self, c: char) -> Progress {
        match self.inside {
            Inside::Text { escaped: true, is_key } => self.inside = Inside::Text { escaped: false, is_key },
            Inside::Text { escaped: false, is_key } => match c {
                '\\' => self.inside = Inside::Text { escaped: true, is_key },
                '"' => {
                    self.inside = Inside::Structure;
                    self.expect = if is_key { Expect::Colon } else { Expect::CommaOrEnd };
                }
                // A line end in a string isn't valid JSON. This limits the effect of an unbalanced quotation mark.
                c if c < ' ' => return Progress::Broken,
                _ => {}
            },
            Inside::Word if is_word(c) => {}
            Inside::Word => {
                self.inside = Inside::Structure;
                self.expect = Expect::CommaOrEnd;
                return self.structure(c);
            }
            Inside::Structure => return self.structure(c),
        }
        Progress::More
    }

    fn structure(&mut self, c: char) -> Progress {
        match (c, self.expect) {
            (' ' | '\t' | '\n' | '\r', _) => {}
            ('{', Expect::Value | Expect::ValueOrEnd) => self.begin(Bracket::Object, Expect::KeyOrEnd),
            ('[', Expect::Value | Expect::ValueOrEnd) => self.begin(Bracket::List, Expect::ValueOrEnd),
            // The value must be an object or a list; this type does not check a lone word or string.
            _ if self.open.is_empty() => return Progress::Broken,
            ('"', Expect::Value | Expect::ValueOrEnd) => self.inside = Inside::Text { escaped: false, is_key: false },
            ('"', Expect::Key | Expect::KeyOrEnd) => self.inside = Inside::Text { escaped: false, is_key: true },
            ('-' | '0'..='9' | 't' | 'f' | 'n' | 'N' | 'I', Expect::Value | Expect::ValueOrEnd) => {
                self.inside = Inside::Word;
            }
            (':', Expect::Colon) => self.expect = Expect::Value,
            (',', Expect::CommaOrEnd) => {
                let in_object = self.open.last() == Some(&Bracket::Object);
                self.expect = if in_object { Expect::Key } else { Expect::Value };
            }
            ('}', Expect::KeyOrEnd | Expect::CommaOrEnd) => return self.end(Bracket::Object),
            (']', Expect::ValueOrEnd | Expect::CommaOrEnd) => return self.end(Bracket::List),
            _ => return Progress::Broken,
        }
        Progress::More
    }

    fn begin(&mut self, bracket: Bracket, expect: Expect) {
        self.open.push(bracket);
        self.expect = expect;
    }

    fn end(&mut self, bracket: Bracket) -> Progress {
        if self.open.pop() != Some(bracket) {
            return Progress::Broken;
        }
        self.expect = Expect::CommaOrEnd;
        if self.open.is_empty() { Progress::Done } else { Progress::More }
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{JsonScan, Progress};

    /// Returns the final state, and the number of characters read.
    fn scan(text: &str) -> (Progress, usize) {
        let mut scan = JsonScan::new();
        for (at, c) in text.chars().enumerate() {
            match scan.push(c) {
                Progress::More => {}
                end => return (end, at + 1),
            }
        }
        (Progress::More, text.chars().count())
    }

    #[test]
    fn values_end_at_their_last_bracket() {
        for text in [r#"{"a":[1,-2.5e+9,{"b":null}],"c":"}\"]\\"}"#, "[]", "{ }", "[[ ], {}]", "[true\n,\tfalse\r\n]"] {
            assert_eq!(scan(&format!("{text} more")), (Progress::Done, text.chars().count()), "{text}");
        }
    }

    #[test]
    fn invalid_json_is_detected_at_once() {
        for text in ["[l", "{'", "{a", "[1,]", "{\"a\":1,}", "{\"a\" 1", "[1 2", "{]", "[}", "[\"a\n", "1", "{\"a\":}"]
        {
            assert_eq!(scan(text), (Progress::Broken, text.chars().count()), "{text:?}");
        }
        assert_eq!(scan(r#"{"a": "b"#).0, Progress::More);
    }

    proptest! {
        #[test]
        fn json_written_by_serde_is_complete_at_its_end(texts in proptest::collection::vec(".*", 0..4), deep in 0usize..30) {
            let mut value = serde_json::json!({"texts": texts, "n": 1e300});
            for _ in 0..deep {
                value = serde_json::json!([{"x": value}]);
            }
            for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
                prop_assert_eq!(scan(&text), (Progress::Done, text.chars().count()));
            }
        }
    }
}
