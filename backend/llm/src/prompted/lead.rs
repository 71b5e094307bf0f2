//! The first key of JSON while it streams in. Which keys calls have is `call`'s business.

use super::call;

/// The first key of JSON that is being read, which says whether it may be a call.
#[derive(Debug)]
pub(super) enum Lead {
    /// Before the key.
    Opening,
    /// In the key.
    Key(String),
    /// The key is known, and this is what it says.
    Decided(bool),
}

impl Lead {
    /// Takes the next character; says whether a call is still possible.
    pub(super) fn push(&mut self, c: char) -> bool {
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
