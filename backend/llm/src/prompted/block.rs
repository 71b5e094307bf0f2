//! A fenced or tagged block that may hold calls. It is held back until it is known whether it holds any.

use std::{borrow::Cow, ops::Range};

use tallybook_tools::ToolSpec;

use super::{
    call::{self, Call, Position},
    fence::{ClosingLine, Fence, Kind},
    first_key::FirstKey,
    json::{JsonScan, Progress},
    tag::{Tag, TagKind},
    xml,
};
use crate::limits::MAX_HELD_BYTES;

/// The held part of a block.
#[derive(Debug)]
pub(crate) struct Block {
    position: Position,
    pub(crate) marks: Marks,
    /// The opening fence or tag, with the text that is held back before it and the word after it.
    pub(crate) opening: String,
    pub(crate) body: String,
    line: ClosingLine,
    phase: Phase,
    /// Positions of the complete values in the body.
    values: Vec<Range<usize>>,
}

/// The marks before and after a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marks {
    /// Fences. The second value shows whether the body starts on a line of its own or on the line of the fence.
    Fence(Fence, ClosingLine),
    /// A pair of tags.
    Tag(&'static Tag),
}

impl Marks {
    /// Returns the character at this position of the closing mark; `None` beyond its end.
    fn closing_at(self, place: usize) -> Option<char> {
        match self {
            Self::Fence(fence, _) => (place < fence.len).then_some(fence.mark),
            Self::Tag(tag) => tag.closing.as_bytes().get(place).copied().map(char::from),
        }
    }
}

#[derive(Debug)]
enum Phase {
    /// Before the first value.
    Before,
    /// In a value that starts at `from`.
    Value { from: usize, scan: JsonScan, lead: FirstKey },
    /// After a value.
    After,
    /// In calls that consist of tags and start at `from`. They end with the block's own closing tag.
    Xml { from: usize },
    /// In the closing mark. It need not be on a line of its own, because JSON contains no such marks outside of
    /// strings.
    Closing(usize),
    /// From this position on, the text is not JSON, but the block is marked as a call. It ends with its closing line or
    /// tag.
    Broken { from: usize },
}

/// The state of a block after another character.
pub(crate) enum Verdict {
    /// The block is not complete.
    Open,
    /// The block is closed and holds these calls.
    Calls(Vec<Call>),
    /// The block is closed and holds no calls.
    Ordinary,
    /// The block is not closed, but it cannot hold a call.
    Code,
}

impl Block {
    pub(crate) fn fenced(kind: Kind, fence: Fence, opening: String, first_line: ClosingLine) -> Self {
        let position = if kind == Kind::Tool { Position::ToolBlock } else { Position::Anywhere };
        Self::new(position, Marks::Fence(fence, first_line), opening, first_line)
    }

    pub(crate) fn tagged(tag: &'static Tag, opening: String) -> Self {
        let mut block = Self::new(Position::ToolBlock, Marks::Tag(tag), opening, ClosingLine::Opening);
        if tag.holds == TagKind::Function {
            block.phase = Phase::Xml { from: 0 };
        }
        block
    }

    fn new(position: Position, marks: Marks, opening: String, line: ClosingLine) -> Self {
        Self { position, marks, opening, body: String::new(), line, phase: Phase::Before, values: Vec::new() }
    }

    /// Returns the complete held text, as the model wrote it.
    pub(crate) fn text(&self) -> String {
        format!("{}{}", self.opening, self.body)
    }

    /// Removes and returns the end of the body that must be parsed again, after the block's tag turned out to be
    /// ordinary text. This is the last character, which may begin another block. If the body contains tags, it is
    /// everything from the first of them on.
    pub(crate) fn take_undecided(&mut self) -> String {
        match self.phase {
            Phase::Xml { from } if !self.is_function() => self.body.split_off(from),
            _ => self.body.pop().map(String::from).unwrap_or_default(),
        }
    }

    /// Returns `true` if the block's tag is the beginning of its call.
    fn is_function(&self) -> bool {
        matches!(self.marks, Marks::Tag(tag) if tag.holds == TagKind::Function)
    }

    pub(crate) fn push(&mut self, c: char, tools: &[ToolSpec]) -> Verdict {
        let at = self.body.len();
        self.body.push(c);
        let closed = match self.marks {
            Marks::Fence(fence, _) => self.line.push(c, fence),
            Marks::Tag(tag) => c == '>' && self.body.ends_with(tag.closing),
        };
        if self.body.len() > MAX_HELD_BYTES {
            return Verdict::Code;
        }
        match &mut self.phase {
            Phase::Value { scan, lead, from } => match scan.push(c) {
                // A block that is marked as a call may have any first key.
                Progress::More if lead.push(c) || self.position == Position::ToolBlock => Verdict::Open,
                Progress::More => Verdict::Code,
                Progress::Done => {
                    self.values.push(*from..self.body.len());
                    self.phase = Phase::After;
                    Verdict::Open
                }
                Progress::Broken => {
                    let from = *from;
                    self.broken(from, closed, tools)
                }
            },
            Phase::Broken { .. } if closed => self.verdict(tools),
            Phase::Broken { .. } => Verdict::Open,
            Phase::Closing(count) if self.marks.closing_at(*count) == Some(c) => {
                *count += 1;
                if self.marks.closing_at(*count).is_some() { Verdict::Open } else { self.verdict(tools) }
            }
            Phase::Xml { from } => {
                let from = *from;
                if closed {
                    return xml::find(&self.xml(from), tools).map_or(Verdict::Ordinary, Verdict::Calls);
                }
                if self.may_be_xml(from) { Verdict::Open } else { Verdict::Code }
            }
            Phase::Before if c == '<' && matches!(self.marks, Marks::Tag(_)) => {
                self.phase = Phase::Xml { from: at };
                Verdict::Open
            }
            Phase::Before | Phase::After if matches!(c, '{' | '[') => {
                let (mut scan, mut lead) = (JsonScan::new(), FirstKey::Opening);
                scan.push(c);
                lead.push(c);
                self.phase = Phase::Value { from: at, scan, lead };
                Verdict::Open
            }
            Phase::Before | Phase::After if matches!(c, ' ' | '\t' | '\r' | '\n') => Verdict::Open,
            Phase::Before => Verdict::Code,
            Phase::After if matches!(c, ',' | ';') => Verdict::Open,
            Phase::After if self.marks.closing_at(0) == Some(c) => {
                self.phase = Phase::Closing(1);
                Verdict::Open
            }
            Phase::After | Phase::Closing(_) => self.broken(at, closed, tools),
        }
    }

    /// Returns the calls that consist of tags, without the block's own closing tag.
    fn xml(&self, from: usize) -> Cow<'_, str> {
        match self.marks {
            Marks::Tag(tag) if tag.holds == TagKind::Function => Cow::Owned(format!("{}{}", xml::FUNCTION, self.body)),
            Marks::Tag(tag) => {
                let text = &self.body[from..];
                Cow::Borrowed(text.strip_suffix(tag.closing).unwrap_or(text))
            }
            Marks::Fence(..) => Cow::Borrowed(&self.body[from..]),
        }
    }

    /// Returns `true` if a body of tags may still become a call.
    fn may_be_xml(&self, from: usize) -> bool {
        if self.is_function() { xml::may_continue(&self.body) } else { xml::may_begin(&self.body[from..]) }
    }

    /// Returns the calls that count although the answer ended within the block; `None` if there are none.
    pub(crate) fn end(&self, cut_off: bool, tools: &[ToolSpec]) -> Option<Vec<Call>> {
        if let Phase::Xml { from } = self.phase {
            return if cut_off { None } else { xml::find(&self.xml(from), tools) };
        }
        let complete = match self.phase {
            Phase::After | Phase::Closing(_) => !cut_off,
            // Only the end of its closing line is missing.
            Phase::Broken { .. } => matches!(self.marks, Marks::Fence(fence, _) if self.line.closes(fence)),
            Phase::Before | Phase::Value { .. } | Phase::Xml { .. } => false,
        };
        if complete { self.calls(tools) } else { None }
    }

    fn broken(&mut self, from: usize, closed: bool, tools: &[ToolSpec]) -> Verdict {
        if self.position == Position::Anywhere {
            return Verdict::Code;
        }
        self.phase = Phase::Broken { from };
        if closed { self.verdict(tools) } else { Verdict::Open }
    }

    fn verdict(&self, tools: &[ToolSpec]) -> Verdict {
        self.calls(tools).map_or(Verdict::Ordinary, Verdict::Calls)
    }

    /// Returns the calls, if every value is a call; otherwise `None`.
    fn calls(&self, tools: &[ToolSpec]) -> Option<Vec<Call>> {
        let mut calls = Vec::new();
        for value in &self.values {
            let value = &self.body[value.clone()];
            let found = call::find(value, self.position, tools);
            calls.extend(found.or_else(|| self.salvage(value, tools).map(|call| vec![call]))?);
        }
        if let Phase::Broken { from } = self.phase {
            let text = self.body[from..].trim_end();
            let text = match self.marks {
                Marks::Fence(fence, _) => text.trim_end_matches(fence.mark),
                Marks::Tag(tag) => text.strip_suffix(tag.closing).unwrap_or(text),
            };
            calls.extend(self.salvage(text.trim_end(), tools));
        }
        Some(calls).filter(|calls| !calls.is_empty())
    }

    fn salvage(&self, text: &str, tools: &[ToolSpec]) -> Option<Call> {
        if self.position == Position::ToolBlock { call::salvage(text, tools) } else { None }
    }
}
