//! A piece of code that has a colour, and what there is to tell apart. Finding them is for `code` and `lexicon`.

use std::ops::Range;

/// What a token is. The style has a colour for each, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A comment.
    Comment,
    /// A string, a character, a regular expression.
    String,
    /// A number, or a constant that the language has a word for.
    Literal,
    /// A word that belongs to the language, or the tag of a markup language.
    Keyword,
    /// A type.
    Type,
    /// A function where it is defined or called.
    Function,
    /// A key, an attribute, a variable that is marked as one.
    Name,
    /// A line that a patch adds.
    Added,
    /// A line that a patch takes away.
    Removed,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Comment,
        Self::String,
        Self::Literal,
        Self::Keyword,
        Self::Type,
        Self::Function,
        Self::Name,
        Self::Added,
        Self::Removed,
    ];

    /// Its name in the style, as in `::highlight(code-comment)`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Comment => "code-comment",
            Self::String => "code-string",
            Self::Literal => "code-literal",
            Self::Keyword => "code-keyword",
            Self::Type => "code-type",
            Self::Function => "code-function",
            Self::Name => "code-name",
            Self::Added => "code-added",
            Self::Removed => "code-removed",
        }
    }
}

/// A piece of code that has a colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it stands, in bytes.
    pub range: Range<usize>,
}
