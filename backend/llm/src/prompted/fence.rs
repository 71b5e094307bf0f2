//! Code fences: the lines of backticks or tildes that open and close a block, and the meaning of the word after them.

/// Minimum number of marks in a fence.
pub(crate) const SHORTEST: usize = 3;

/// The fence that opened a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    /// A backtick or a tilde.
    pub(crate) mark: char,
    /// Number of marks. The closing fence has at least as many.
    pub(crate) len: usize,
}

/// The possible content of a block, by the word after its opening fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A call.
    Tool,
    /// A call or data.
    Json,
    /// The result of a call. Only the server can know it, so the model invented it.
    Result,
    /// Something else.
    Code,
}

/// Words that models write after a fence, with their meanings.
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
    /// Returns the meaning of the complete word.
    pub(crate) fn of(word: &str) -> Self {
        let word = word.trim().to_lowercase();
        WORDS.iter().find(|(known, _)| *known == word).map_or(Self::Code, |(_, kind)| *kind)
    }

    /// Returns `true` if the word may be the beginning of a known word.
    pub(crate) fn is_open(beginning: &str) -> bool {
        let beginning = beginning.trim().to_lowercase();
        WORDS.iter().any(|(known, _)| known.starts_with(&beginning))
    }
}

/// State of the search for the closing fence, line by line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosingLine {
    /// In the line of the opening fence.
    Opening,
    /// In a line that contains only white space so far.
    Indent,
    /// After this many marks, with only white space before them.
    Marks(usize),
    /// After enough marks, and white space after them.
    Closing,
    /// In any other line.
    Other,
}

impl ClosingLine {
    /// Takes the next character. Returns `true` if it ends the line that closes the block.
    pub(crate) fn push(&mut self, c: char, fence: Fence) -> bool {
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

    /// Returns `true` if the line would close the block if it ended here.
    pub(crate) fn closes(self, fence: Fence) -> bool {
        match self {
            Self::Marks(count) => count >= fence.len,
            Self::Closing => true,
            Self::Opening | Self::Indent | Self::Other => false,
        }
    }
}
