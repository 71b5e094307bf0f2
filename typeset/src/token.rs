//! Tokens of code: the pieces that get a color, and their kinds. `code` and `lexicon` find them.

use std::ops::Range;

/// The kind of a token. The style sheet sets a color for each kind, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A comment.
    Comment,
    /// A string, a character, a regular expression.
    String,
    /// A number, or a constant that is a keyword, such as `true`.
    Literal,
    /// A keyword of the language, or a tag of a markup language.
    Keyword,
    /// A type.
    Type,
    /// The name of a function, where it is defined or called.
    Function,
    /// A key, an attribute, or a variable with a sigil such as `$`.
    Name,
    /// A line that a patch adds.
    Added,
    /// A line that a patch removes.
    Removed,
}

impl Kind {
    /// All kinds, in the order of their values.
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

    /// Returns the name in the style sheet, as in `::highlight(code-comment)`.
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

/// A piece of code that has a color.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The kind of the token.
    pub kind: Kind,
    /// The position in the code, in bytes.
    pub range: Range<usize>,
}
