//! Checks the first key of JSON while it streams in. `call` knows which keys a call may have.

use super::call;

/// State of the check of a JSON value's first key, which shows whether the value may be a call.
#[derive(Debug)]
pub(crate) enum FirstKey {
    /// Before the key.
    Opening,
    /// In the key.
    Key(String),
    /// The key is known. `true` if the value may be a call.
    Decided(bool),
}

impl FirstKey {
    /// Takes the next character. Returns `true` while a call is still possible.
    pub(crate) fn push(&mut self, c: char) -> bool {
        match self {
            Self::Opening if matches!(c, '{' | '[' | ' ' | '\t' | '\n' | '\r') => {}
            Self::Opening if c == '"' => *self = Self::Key(String::new()),
            Self::Opening => *self = Self::Decided(false),
            Self::Key(key) if c == '"' => *self = Self::Decided(call::may_begin_call(key, true)),
            Self::Key(key) => {
                key.push(c);
                if !call::may_begin_call(key, false) {
                    *self = Self::Decided(false);
                }
            }
            Self::Decided(_) => {}
        }
        !matches!(self, Self::Decided(false))
    }
}
