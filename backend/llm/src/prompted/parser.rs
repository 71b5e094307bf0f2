//! Finds tool calls in text while it streams in, and passes the remaining text on. Each character is processed once, in
//! the same way wherever the text is split, so any split gives the same result. `block` interprets the content of
//! blocks, and `call` recognizes the JSON of calls.
//!
//! Text is held back only while it may turn out to begin a call:
//! - the indentation of a line
//! - a fence with a word that announces calls
//! - a tag or mark
//! - JSON whose first key may belong to a call
//!
//! Text in ordinary code blocks, ordinary JSON and reasoning never counts as a call, even if it looks like one: there,
//! the model is quoting.

use std::sync::Arc;

use tallybook_tools::ToolSpec;

use super::{
    block::{Block, Marks, Verdict},
    call::{self, Call, Position},
    fence::{self, ClosingLine, Fence, Kind},
    first_key::FirstKey,
    json::{JsonScan, Progress},
    marked::Marked,
    tag::{Tag, TagKind},
};
use crate::limits::{MAX_BLOCKS, MAX_HELD_BYTES, MAX_OPENING_BYTES};

/// A piece of the parsed text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Text for the user; never empty.
    Text(String),
    /// A call for the agent.
    Call(Call),
}

/// A parser of one answer.
pub(crate) struct Parser {
    tools: Arc<[ToolSpec]>,
    state: State,
    /// Number of calls found so far.
    calls: usize,
    /// `true` if all further text and calls are ignored.
    over: bool,
    ready: Vec<Piece>,
}

/// Position of the parser in the text. Text in `held` was not passed on yet.
#[derive(Debug)]
enum State {
    /// In an ordinary line.
    Line,
    /// At the beginning of a line, after white space only.
    Start { held: String },
    /// After marks that may become a fence.
    Marks { held: String, fence: Fence, stands: FencePosition },
    /// After a fence, in the word after it.
    Word { held: String, fence: Fence, stands: FencePosition, word: String },
    /// In text that may become a tag, from byte `from` on.
    Tag { held: String, from: usize, stands: FencePosition },
    /// In a block that may be a call.
    Block(Box<Block>),
    /// After a mark, in text that may be a call.
    Marked(Box<Marked>),
    /// In reasoning. `matched` is the number of bytes of the closing tag that were read.
    Reasoning { closing: &'static str, matched: usize },
    /// In an ordinary block, which is passed on at once.
    Code { fence: Fence, line: ClosingLine },
    /// In JSON that may be a call.
    Json { held: String, scan: JsonScan, lead: FirstKey },
    /// In ordinary JSON, which is passed on at once. `blank` is `true` while the line contains only white space.
    Data { scan: JsonScan, blank: bool },
    /// After a call, on its last line.
    Rest,
}

/// The position of a fence. A fence after text in its line counts only if a known word follows it directly. Otherwise
/// it is code in a line, or the end of such code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FencePosition {
    AtStart,
    AfterWords,
}

impl Parser {
    pub(crate) fn new(tools: Arc<[ToolSpec]>) -> Self {
        Self { tools, state: State::Start { held: String::new() }, calls: 0, over: false, ready: Vec::new() }
    }

    /// Takes the next portion of the answer and returns the pieces that are certain.
    pub(crate) fn push(&mut self, text: &str) -> Vec<Piece> {
        for c in text.chars() {
            let state = std::mem::replace(&mut self.state, State::Line);
            self.state = self.step(state, c);
        }
        std::mem::take(&mut self.ready)
    }

    /// Ends the answer. A block that was not closed counts if its calls are complete. If the answer was truncated
    /// (`cut_off`), such a block does not count, because more calls or arguments may be missing.
    pub(crate) fn end(&mut self, cut_off: bool) -> Vec<Piece> {
        match std::mem::replace(&mut self.state, State::Line) {
            State::Start { held }
            | State::Marks { held, .. }
            | State::Word { held, .. }
            | State::Tag { held, .. }
            | State::Json { held, .. } => self.text(&held),
            State::Block(block) => match block.end(cut_off, &self.tools) {
                Some(calls) => self.found(calls),
                None => self.text(&block.text()),
            },
            State::Marked(marked) => self.text(&marked.text()),
            State::Line | State::Reasoning { .. } | State::Code { .. } | State::Data { .. } | State::Rest => {}
        }
        std::mem::take(&mut self.ready)
    }

    fn step(&mut self, state: State, c: char) -> State {
        match state {
            State::Line => self.in_line(c),
            State::Start { held } => self.at_start(held, c),
            State::Marks { mut held, mut fence, stands } => {
                if c == fence.mark && held.len() < MAX_OPENING_BYTES {
                    held.push(c);
                    fence.len += 1;
                    return State::Marks { held, fence, stands };
                }
                let may_open = stands == FencePosition::AtStart || !c.is_whitespace();
                if fence.len >= fence::SHORTEST && c != fence.mark && may_open {
                    return self.in_word(held, fence, stands, String::new(), c);
                }
                self.text(&held);
                self.step(State::Line, c)
            }
            State::Word { held, fence, stands, word } => self.in_word(held, fence, stands, word, c),
            State::Tag { held, from, stands } => self.in_tag(held, from, stands, c),
            State::Block(block) => self.in_block(block, c),
            State::Marked(marked) => self.in_marked(marked, c),
            State::Reasoning { closing, matched } => self.in_reasoning(closing, matched, c),
            // Not a fence, but code in a line: the line of a backtick fence contains no further backticks.
            State::Code { fence, line: ClosingLine::Opening } if c == '`' && fence.mark == '`' => {
                self.step(State::Line, c)
            }
            State::Code { fence, mut line } => {
                self.character(c);
                if line.push(c, fence) { line_start() } else { State::Code { fence, line } }
            }
            State::Json { held, scan, lead } => self.in_json(held, scan, lead, c),
            State::Data { mut scan, blank } => match scan.push(c) {
                Progress::More => {
                    self.character(c);
                    State::Data { scan, blank: c == '\n' || (blank && is_blank(c)) }
                }
                Progress::Broken if blank => self.step(line_start(), c),
                Progress::Done | Progress::Broken => self.step(State::Line, c),
            },
            State::Rest if c == '\n' => line_start(),
            State::Rest if is_blank(c) || matches!(c, '`' | '~' | ',' | ';') => State::Rest,
            State::Rest => self.step(line_start(), c),
        }
    }

    fn in_line(&mut self, c: char) -> State {
        match c {
            '`' => State::Marks {
                held: c.to_string(),
                fence: Fence { mark: c, len: 1 },
                stands: FencePosition::AfterWords,
            },
            '<' | '[' => State::Tag { held: c.to_string(), from: 0, stands: FencePosition::AfterWords },
            _ => {
                self.character(c);
                if c == '\n' { line_start() } else { State::Line }
            }
        }
    }

    fn at_start(&mut self, mut held: String, c: char) -> State {
        match c {
            ' ' | '\t' if held.len() < MAX_OPENING_BYTES => {
                held.push(c);
                State::Start { held }
            }
            '`' | '~' => {
                held.push(c);
                State::Marks { held, fence: Fence { mark: c, len: 1 }, stands: FencePosition::AtStart }
            }
            '<' | '[' => {
                held.push(c);
                State::Tag { from: held.len() - 1, held, stands: FencePosition::AtStart }
            }
            '{' => self.in_json(held, JsonScan::new(), FirstKey::Opening, c),
            _ => {
                self.text(&held);
                self.step(State::Line, c)
            }
        }
    }

    fn in_word(&mut self, mut held: String, fence: Fence, stands: FencePosition, mut word: String, c: char) -> State {
        let ordinary = match stands {
            FencePosition::AtStart => State::Code { fence, line: ClosingLine::Opening },
            FencePosition::AfterWords => State::Line,
        };
        if matches!(c, '{' | '[' | '\n') {
            let kind = Kind::of(&word);
            if kind == Kind::Tool || kind == Kind::Json {
                if c == '\n' {
                    held.push(c);
                    return State::Block(Box::new(Block::fenced(kind, fence, held, ClosingLine::Indent)));
                }
                return self.in_block(Box::new(Block::fenced(kind, fence, held, ClosingLine::Opening)), c);
            }
            if kind == Kind::Result {
                self.result_begins();
            }
            self.text(&held);
            return self.step(ordinary, c);
        }
        word.push(c);
        let is_mark = c == '`' && fence.mark == '`';
        if is_mark || held.len() > MAX_OPENING_BYTES || !Kind::is_open(&word) {
            self.text(&held);
            return self.step(ordinary, c);
        }
        held.push(c);
        State::Word { held, fence, stands, word }
    }

    fn in_tag(&mut self, mut held: String, from: usize, stands: FencePosition, c: char) -> State {
        let before = held.len();
        held.push(c);
        let written = &held[from..];
        let Some(tag) = Tag::of(written) else {
            if Tag::is_open(written) {
                return State::Tag { held, from, stands };
            }
            if stands == FencePosition::AtStart && &held[from..before] == "[" {
                // Not a mark, but possibly a list.
                held.truncate(from);
                let state = self.in_json(held, JsonScan::new(), FirstKey::Opening, '[');
                return self.step(state, c);
            }
            self.text(&held[..before]);
            return self.step(State::Line, c);
        };
        match tag.holds {
            TagKind::Calls | TagKind::Function => State::Block(Box::new(Block::tagged(tag, held))),
            TagKind::Marked => State::Marked(Box::new(Marked::new(held))),
            TagKind::Reasoning => {
                self.text(&held);
                State::Reasoning { closing: tag.closing, matched: 0 }
            }
            TagKind::Result => {
                self.result_begins();
                self.text(&held);
                State::Line
            }
        }
    }

    fn in_reasoning(&mut self, closing: &'static str, matched: usize, c: char) -> State {
        self.character(c);
        let matched = match closing.as_bytes().get(matched) {
            Some(byte) if char::from(*byte) == c => matched + 1,
            _ => usize::from(c == '<'),
        };
        if matched == closing.len() { State::Line } else { State::Reasoning { closing, matched } }
    }

    fn in_marked(&mut self, mut marked: Box<Marked>, c: char) -> State {
        match marked.push(c, &self.tools) {
            Verdict::Open => State::Marked(marked),
            Verdict::Calls(calls) => {
                self.found(calls);
                State::Rest
            }
            Verdict::Ordinary => {
                self.text(&marked.text());
                State::Line
            }
            // A mark within text is ordinary text. Only the last character may begin something else.
            Verdict::Code => {
                marked.body.pop();
                let held = marked.text();
                self.text(&held);
                self.step(if is_at_start(&held) { line_start() } else { State::Line }, c)
            }
        }
    }

    /// Handles the beginning of a result. A model that continues after its calls invents their results and bases its
    /// next calls on them. So everything after the result is ignored.
    fn result_begins(&mut self) {
        self.over |= self.calls > 0;
    }

    fn in_block(&mut self, mut block: Box<Block>, c: char) -> State {
        match block.push(c, &self.tools) {
            Verdict::Open => State::Block(block),
            Verdict::Calls(calls) => {
                self.found(calls);
                if c == '\n' { line_start() } else { State::Rest }
            }
            Verdict::Ordinary => {
                self.text(&block.text());
                if c == '\n' { line_start() } else { State::Line }
            }
            Verdict::Code => match block.marks {
                Marks::Fence(fence, line) => {
                    // The text of the block is read again as code, to find where the code block closes. The text
                    // contains no closing fence yet, so the state afterwards is still within the block.
                    self.text(&block.opening);
                    block.body.chars().fold(State::Code { fence, line }, |state, c| self.step(state, c))
                }
                // A tag within text is ordinary text. Only the undecided end is read again: reading all held text again
                // would take quadratic time.
                Marks::Tag(_) => {
                    let undecided = block.take_undecided();
                    let held = block.text();
                    self.text(&held);
                    let state = if is_at_start(&held) { line_start() } else { State::Line };
                    undecided.chars().fold(state, |state, c| self.step(state, c))
                }
            },
        }
    }

    fn in_json(&mut self, mut held: String, mut scan: JsonScan, mut lead: FirstKey, c: char) -> State {
        match scan.push(c) {
            Progress::More => {
                held.push(c);
                if lead.push(c) && held.len() <= MAX_HELD_BYTES {
                    return State::Json { held, scan, lead };
                }
                self.text(&held);
                State::Data { scan, blank: is_at_start(&held) }
            }
            Progress::Done => {
                held.push(c);
                if let Some(calls) = call::find(&held, Position::Anywhere, &self.tools) {
                    self.found(calls);
                    return State::Rest;
                }
                self.text(&held);
                State::Line
            }
            Progress::Broken => {
                self.text(&held);
                let state = if is_at_start(&held) { line_start() } else { State::Line };
                self.step(state, c)
            }
        }
    }

    fn found(&mut self, calls: Vec<Call>) {
        if self.over {
            return;
        }
        let left = MAX_BLOCKS.saturating_sub(self.calls);
        let calls = calls.into_iter().take(left);
        let before = self.ready.len();
        self.ready.extend(calls.map(Piece::Call));
        self.calls += self.ready.len() - before;
        self.over = self.calls >= MAX_BLOCKS;
    }

    fn character(&mut self, c: char) {
        self.text(c.encode_utf8(&mut [0; 4]));
    }

    /// Passes text on, unless a call came before it. A model that does not stop after a call reports results that it
    /// has invented. It can write its text in the next step, when it knows the real results.
    fn text(&mut self, text: &str) {
        if self.calls > 0 || self.over || text.is_empty() {
            return;
        }
        if let Some(Piece::Text(last)) = self.ready.last_mut() {
            last.push_str(text);
        } else {
            self.ready.push(Piece::Text(text.to_owned()));
        }
    }
}

fn line_start() -> State {
    State::Start { held: String::new() }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r')
}

/// Returns `true` if text after this text begins a line, ignoring white space.
fn is_at_start(text: &str) -> bool {
    text.rsplit_once('\n').is_some_and(|(_, line)| line.chars().all(is_blank))
}
