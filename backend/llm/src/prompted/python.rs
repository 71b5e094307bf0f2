//! Calls in Python's form, as Llama writes them after its mark: `add.call(a=2, b=3)`. Reads literals only, and keeps the
//! digits of numbers as they were written.

use std::{iter::Peekable, str::Chars};

use serde_json::{Value, value::RawValue};

use crate::limits::MAX_REPLAYED_DEPTH;

/// Separator that Llama writes between a tool's name and the arguments.
const METHOD: &str = ".call";

/// The tool's name before the arguments, and whether the text says that this is a tool call.
pub(super) fn name(head: &str) -> (&str, bool) {
    let head = head.trim();
    head.strip_suffix(METHOD).map_or((head, false), |name| (name, true))
}

/// Finds the end of the arguments, character by character.
#[derive(Debug, Default)]
pub(super) struct ArgumentsScan {
    depth: usize,
    string: Option<char>,
    escaped: bool,
}

impl ArgumentsScan {
    /// Takes the next character, from the opening parenthesis on. `Some` tells whether the arguments are complete with it
    /// (`true`), or cannot be arguments (`false`).
    pub(super) fn push(&mut self, c: char) -> Option<bool> {
        if let Some(mark) = self.string {
            match c {
                // It bounds what an unbalanced quotation mark can do.
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

/// Returns keyword arguments, with their parentheses, as a JSON object; `None` if they are anything but literals.
pub(super) fn object(arguments: &str) -> Option<String> {
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

    /// Reads elements with commas between them up to the closing mark, or to the end.
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
                    // Python keeps the backslash of an escape that it does not know.
                    c => text.extend(['\\', c]),
                },
                c => text.push(c),
            }
        }
    }

    /// The character that so many hexadecimal digits stand for.
    fn code(&mut self, digits: usize) -> Option<char> {
        let code = self.rest.by_ref().take(digits).try_fold(0u32, |code, c| Some((code << 4) | c.to_digit(16)?))?;
        char::from_u32(code)
    }

    /// A name, a number or a keyword.
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

/// A keyword or a number as JSON.
fn literal(word: &str) -> Option<String> {
    let json = match word {
        "True" | "true" => "true".to_owned(),
        "False" | "false" => "false".to_owned(),
        "None" | "null" => "null".to_owned(),
        number => number.replace('_', ""),
    };
    // Python leaves out the zero before or after a point.
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
