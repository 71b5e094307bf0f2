//! Fences: the lines of backticks or tildes that open and close a block, and what the word after them says of it.

/// The shortest run of marks that is a fence.
pub(super) const SHORTEST: usize = 3;

/// What opened a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    /// A backtick or a tilde.
    pub(super) mark: char,
    /// How many; the closing fence has at least as many.
    pub(super) len: usize,
}

/// What a block may hold, by the word after its opening fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A call.
    Tool,
    /// A call or data.
    Json,
    /// The result of a call, which only a server can know.
    Result,
    /// Something else.
    Code,
}

/// Words that models write after a fence, and what they mean.
const WORDS: [(&str, Kind); 22] = [
    ("", Kind::Json),
    ("json", Kind::Json),
    ("jsonc", Kind::Json),
    ("json5", Kind::Json),
    ("tool", Kind::Tool),
    ("tools", Kind::Tool),
    ("tool_call", Kind::Tool),
    ("tool_calls", Kind::Tool),
    ("tool-call", Kind::Tool),
    ("tool call", Kind::Tool),
    ("toolcall", Kind::Tool),
    ("tool_use", Kind::Tool),
    ("tool_code", Kind::Tool),
    ("function", Kind::Tool),
    ("function_call", Kind::Tool),
    ("function_calls", Kind::Tool),
    ("tool_result", Kind::Result),
    ("tool_results", Kind::Result),
    ("tool-result", Kind::Result),
    ("tool result", Kind::Result),
    ("tool_output", Kind::Result),
    ("tool_response", Kind::Result),
];

impl Kind {
    /// What the whole word says.
    pub(super) fn of(word: &str) -> Self {
        let word = word.trim().to_lowercase();
        WORDS.iter().find(|(known, _)| *known == word).map_or(Self::Code, |(_, kind)| *kind)
    }

    /// Whether the word may still become one that matters.
    pub(super) fn is_open(beginning: &str) -> bool {
        let beginning = beginning.trim().to_lowercase();
        WORDS.iter().any(|(known, _)| known.starts_with(&beginning))
    }
}

/// Looks for the closing fence, line by line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClosingLine {
    /// The line of the opening fence.
    Opening,
    /// Nothing but blanks so far.
    Indent,
    /// This many marks, after blanks.
    Marks(usize),
    /// Marks enough, then blanks.
    Closing,
    /// Another line.
    Other,
}

impl ClosingLine {
    /// Takes the next character; says whether it ends the line that closes the block.
    pub(super) fn push(&mut self, c: char, fence: Fence) -> bool {
        let closes = c == '\n' && self.closes(fence);
        *self = match (*self, c) {
            (_, '\n') | (Self::Indent, ' ' | '\t' | '\r') => Self::Indent,
            (Self::Opening, _) => Self::Opening,
            (Self::Indent, c) if c == fence.mark => Self::Marks(1),
            (Self::Marks(count), c) if c == fence.mark => Self::Marks(count + 1),
            (Self::Marks(_) | Self::Closing, ' ' | '\t' | '\r') if self.closes(fence) => Self::Closing,
            _ => Self::Other,
        };
        closes
    }

    /// Whether the line would close the block if it ended here.
    pub(super) fn closes(self, fence: Fence) -> bool {
        match self {
            Self::Marks(count) => count >= fence.len,
            Self::Closing => true,
            Self::Opening | Self::Indent | Self::Other => false,
        }
    }
}
