//! A fenced block that may hold calls, held back until it is known whether it does.

use std::ops::Range;

use super::{
    call::{self, Call, Place},
    fence::{ClosingLine, Fence, Kind},
    json::{JsonScan, Progress},
    parser::{Lead, MOST_HELD},
};
use crate::tools::ToolSpec;

/// What is held of a block.
#[derive(Debug)]
pub(super) struct Block {
    place: Place,
    pub(super) fence: Fence,
    /// The opening fence with what stands before it and the word after it.
    pub(super) opening: String,
    /// Whether the body begins on a line of its own, or on the fence's.
    pub(super) first_line: ClosingLine,
    pub(super) body: String,
    line: ClosingLine,
    phase: Phase,
    /// The complete values in the body.
    values: Vec<Range<usize>>,
}

#[derive(Debug)]
enum Phase {
    /// Before the first value.
    Before,
    /// In a value that began here.
    Value { from: usize, scan: JsonScan, lead: Lead },
    /// After a value.
    After,
    /// In the closing fence. It need not stand on a line of its own: outside of a string, JSON has no such marks.
    Closing(usize),
    /// What follows from here is no JSON, in a block that says it holds a call: it ends with its closing line.
    Broken { from: usize },
}

/// What one more character says of a block.
pub(super) enum Verdict {
    /// Nothing yet.
    Open,
    /// It is closed and holds these calls.
    Calls(Vec<Call>),
    /// It is closed and holds none.
    Ordinary,
    /// It is not closed, and holds no call.
    Code,
}

impl Block {
    pub(super) fn new(kind: Kind, fence: Fence, opening: String, first_line: ClosingLine) -> Self {
        let place = if kind == Kind::Tool { Place::ToolBlock } else { Place::Anywhere };
        Self {
            place,
            fence,
            opening,
            first_line,
            body: String::new(),
            line: first_line,
            phase: Phase::Before,
            values: Vec::new(),
        }
    }

    /// All of it, as the model wrote it.
    pub(super) fn text(&self) -> String {
        format!("{}{}", self.opening, self.body)
    }

    pub(super) fn push(&mut self, c: char, tools: &[ToolSpec]) -> Verdict {
        let at = self.body.len();
        self.body.push(c);
        let closed = self.line.push(c, self.fence);
        if self.body.len() > MOST_HELD {
            return Verdict::Code;
        }
        match &mut self.phase {
            Phase::Value { scan, lead, from } => match scan.push(c) {
                // A block that says it holds a call is believed, whatever its first key.
                Progress::More if lead.push(c) || self.place == Place::ToolBlock => Verdict::Open,
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
            Phase::Closing(count) if c == self.fence.mark => {
                *count += 1;
                if *count < self.fence.len { Verdict::Open } else { self.verdict(tools) }
            }
            Phase::Before | Phase::After if matches!(c, '{' | '[') => {
                let (mut scan, mut lead) = (JsonScan::new(), Lead::Opening);
                scan.push(c);
                lead.push(c);
                self.phase = Phase::Value { from: at, scan, lead };
                Verdict::Open
            }
            Phase::Before | Phase::After if matches!(c, ' ' | '\t' | '\r' | '\n') => Verdict::Open,
            Phase::Before => Verdict::Code,
            Phase::After if matches!(c, ',' | ';') => Verdict::Open,
            Phase::After if c == self.fence.mark => {
                self.phase = Phase::Closing(1);
                Verdict::Open
            }
            Phase::After | Phase::Closing(_) => self.broken(at, closed, tools),
        }
    }

    /// The answer ended within the block: the calls that count all the same.
    pub(super) fn end(&self, cut_off: bool, tools: &[ToolSpec]) -> Option<Vec<Call>> {
        let complete = match self.phase {
            Phase::After | Phase::Closing(_) => !cut_off,
            // Only its line's end is missing.
            Phase::Broken { .. } => self.line.closes(self.fence),
            Phase::Before | Phase::Value { .. } => false,
        };
        if complete { self.calls(tools) } else { None }
    }

    fn broken(&mut self, from: usize, closed: bool, tools: &[ToolSpec]) -> Verdict {
        if self.place == Place::Anywhere {
            return Verdict::Code;
        }
        self.phase = Phase::Broken { from };
        if closed { self.verdict(tools) } else { Verdict::Open }
    }

    fn verdict(&self, tools: &[ToolSpec]) -> Verdict {
        self.calls(tools).map_or(Verdict::Ordinary, Verdict::Calls)
    }

    /// The calls, if every value is one.
    fn calls(&self, tools: &[ToolSpec]) -> Option<Vec<Call>> {
        let mut calls = Vec::new();
        for value in &self.values {
            let value = &self.body[value.clone()];
            let found = call::find(value, self.place, tools);
            calls.extend(found.or_else(|| self.salvage(value, tools).map(|call| vec![call]))?);
        }
        if let Phase::Broken { from } = self.phase {
            let text = self.body[from..].trim_end().trim_end_matches(self.fence.mark).trim_end();
            calls.extend(self.salvage(text, tools));
        }
        Some(calls).filter(|calls| !calls.is_empty())
    }

    fn salvage(&self, text: &str, tools: &[ToolSpec]) -> Option<Call> {
        if self.place == Place::ToolBlock { call::salvage(text, tools) } else { None }
    }
}
