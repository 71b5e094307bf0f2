//! Parses calls in Python's form, as Llama writes them after its mark: `add.call(a=2, b=3)`. Accepts only literals.
//! Numbers keep their digits.

use std::{iter::Peekable, str::Chars};

use serde_json::{Value, value::RawValue};

use crate::limits::MAX_REPLAYED_DEPTH;

/// Text that Llama writes between a tool's name and the arguments.
const METHOD: &str = ".call";

/// Returns the tool's name before the arguments, and `true` if the text certainly is a tool call.
pub(crate) fn name(head: &str) -> (&str, bool) {
    let head = head.trim();
    head.strip_suffix(METHOD).map_or((head, false), |name| (name, true))
}

/// A search for the end of the arguments, character by character.
#[derive(Debug, Default)]
pub(crate) struct ArgumentsScan {
    depth: usize,
    string: Option<char>,
    escaped: bool,
}

impl ArgumentsScan {
    /// Takes the next character, from the opening parenthesis on. Returns `Some(true)` if it completes the arguments,
    /// `Some(false)` if the text cannot be arguments, and `None` otherwise.
    pub(crate) fn push(&mut self, c: char) -> Option<bool> {
        if let Some(mark) = self.string {
            match c {
                // This limits the effect of an unbalanced quotation mark.
                '\n' => return Some(false),
                _ if self.escaped => self.escaped = false,
                '\\' => self.escaped = true,
                _ if c == mark => self.string = None,
                _ => {}
            }
            return None;
        }
        match c {
            '"' | '\'' => self.string = Some(c),
            '(' | '[' | '{' => self.depth += 1,
            ')' | ']' | '}' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    return Some(c == ')');
                }
            }
            _ => {}
        }
        None
    }
}

/// Converts keyword arguments, with their parentheses, to a JSON object. Returns `None` if a value isn't a literal, or
/// if the text isn't a list of keyword arguments.
pub(crate) fn object(arguments: &str) -> Option<String> {
    let inner = arguments.trim().strip_prefix('(')?.strip_suffix(')')?;
    let mut reader = Reader { rest: inner.chars().peekable() };
    let fields = reader.list(None, |reader| {
        let key = reader.word();
        reader.take('=').filter(|()| !key.is_empty())?;
        Some(format!("{}:{}", Value::from(key), reader.value(0)?))
    })?;
    Some(format!("{{{fields}}}"))
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Option<String> {
        let depth = depth + 1;
        if depth > MAX_REPLAYED_DEPTH {
            return None;
        }
        match self.next_visible()? {
            mark @ ('"' | '\'') => self.string(mark).map(|text| Value::from(text).to_string()),
            mark @ ('[' | '(') => {
                let closing = if mark == '[' { ']' } else { ')' };
                self.rest.next();
                Some(format!("[{}]", self.list(Some(closing), |reader| reader.value(depth))?))
            }
            '{' => {
                self.rest.next();
                let field = |reader: &mut Self| {
                    let mark = reader.next_visible().filter(|c| matches!(*c, '"' | '\''))?;
                    let key = reader.string(mark)?;
                    reader.take(':')?;
                    Some(format!("{}:{}", Value::from(key), reader.value(depth)?))
                };
                Some(format!("{{{}}}", self.list(Some('}'), field)?))
            }
            _ => literal(&self.word()),
        }
    }

    /// Reads elements that are separated by commas, up to the closing mark or the end. Returns `None` if anything else
    /// comes between them.
    fn list(&mut self, closing: Option<char>, element: impl Fn(&mut Self) -> Option<String>) -> Option<String> {
        let mut elements = Vec::new();
        loop {
            if self.next_visible() == closing {
                self.rest.next();
                return Some(elements.join(","));
            }
            elements.push(element(self)?);
            match self.next_visible() {
                Some(',') => {
                    self.rest.next();
                }
                next if next == closing => {}
                _ => return None,
            }
        }
    }

    fn string(&mut self, mark: char) -> Option<String> {
        let mut text = String::new();
        self.take(mark)?;
        loop {
            match self.rest.next()? {
                c if c == mark => return Some(text),
                '\\' => match self.rest.next()? {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    c @ ('\\' | '"' | '\'') => text.push(c),
                    'x' => text.push(self.code(2)?),
                    'u' => text.push(self.code(4)?),
                    'U' => text.push(self.code(8)?),
                    // Python keeps the backslash of an unknown escape.
                    c => text.extend(['\\', c]),
                },
                c => text.push(c),
            }
        }
    }

    /// Reads the character with the code in this number of hexadecimal digits.
    fn code(&mut self, digits: usize) -> Option<char> {
        let code = self.rest.by_ref().take(digits).try_fold(0u32, |code, c| Some((code << 4) | c.to_digit(16)?))?;
        char::from_u32(code)
    }

    /// Reads a name, a number or a keyword.
    fn word(&mut self) -> String {
        self.next_visible();
        let mut word = String::new();
        while let Some(c) = self.rest.next_if(|c| c.is_alphanumeric() || matches!(*c, '_' | '.' | '+' | '-')) {
            word.push(c);
        }
        word
    }

    fn take(&mut self, c: char) -> Option<()> {
        self.next_visible().filter(|next| *next == c)?;
        self.rest.next().map(|_| ())
    }

    fn next_visible(&mut self) -> Option<char> {
        while self.rest.next_if(|c| c.is_whitespace()).is_some() {}
        self.rest.peek().copied()
    }
}

/// Converts a keyword or a number to JSON; `None` for other words.
fn literal(word: &str) -> Option<String> {
    let json = match word {
        "True" | "true" => "true".to_owned(),
        "False" | "false" => "false".to_owned(),
        "None" | "null" => "null".to_owned(),
        number => number.replace('_', ""),
    };
    // Python allows numbers without a digit before or after the point.
    let json = match json.strip_prefix('.') {
        Some(digits) => format!("0.{digits}"),
        None if json.ends_with('.') => format!("{json}0"),
        None => json,
    };
    serde_json::from_str::<&RawValue>(&json).is_ok().then_some(json)
}

#[cfg(test)]
mod tests {
    use super::{ArgumentsScan, object};

    #[test]
    fn keyword_arguments_become_an_object() {
        for (written, expected) in [
            ("()", "{}"),
            ("(a=2, b=3)", r#"{"a":2,"b":3}"#),
            ("( a = 0.1000000000000000000001 ,b=1e400,)", r#"{"a":0.1000000000000000000001,"b":1e400}"#),
            ("(a=.5, b=1_000, c=-5.)", r#"{"a":0.5,"b":1000,"c":-5.0}"#),
            (r#"(q='it\'s "so"', r="a\n\x41\u3042\d")"#, r#"{"q":"it's \"so\"","r":"a\nAあ\\d"}"#),
            (
                "(a=True, b=False, c=None, d=[1, (2, 'x')], e={'k': [], \"l\": {}})",
                r#"{"a":true,"b":false,"c":null,"d":[1,[2,"x"]],"e":{"k":[],"l":{}}}"#,
            ),
        ] {
            assert_eq!(object(written).as_deref(), Some(expected), "{written}");
        }
    }

    #[test]
    fn anything_else_is_not_guessed() {
        let deep = format!("(a={}{})", "[".repeat(100), "]".repeat(100));
        for written in
            ["(1, 2)", "(a)", "(a=b)", "(a=b())", "(a=1+2)", "(a=1 b=2)", "(=1)", "(a='x)", "(a=[1)", "a=1", &deep]
        {
            assert_eq!(object(written), None, "{written}");
        }
    }

    #[test]
    fn arguments_end_with_their_parenthesis() {
        for (text, expected) in [
            ("(a=')', b=[(1)]) more", Some((true, 16))),
            ("(a=\"\\\")\") more", Some((true, 9))),
            ("(a=[1]", None),
            ("(a='\n')", Some((false, 5))),
            ("[]", Some((false, 2))),
        ] {
            let mut scan = ArgumentsScan::default();
            let end = text.chars().enumerate().find_map(|(at, c)| scan.push(c).map(|whole| (whole, at + 1)));
            assert_eq!(end, expected, "{text:?}");
        }
    }
}
