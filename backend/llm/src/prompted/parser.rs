//! Finds tool calls in text while it streams in, and passes the rest on. Every character is looked at once and in the
//! same way however the text is cut, so any split gives the same answer. What a block holds is `block`'s business, and
//! which JSON is a call is `call`'s.
//!
//! Text is held back only where it may still turn out to begin a call: a line's indentation, a fence with a word that
//! calls are announced by, a tag or mark, and JSON whose first key is one that calls have. Inside an ordinary block of code
//! or piece of JSON nothing is a call, whatever it looks like: there a model quotes. Nor is anything where it thinks.

use std::sync::Arc;

use tallybook_tools::ToolSpec;

use super::{
    block::{Block, Marks, Verdict},
    call::{self, Call, Position},
    fence::{self, ClosingLine, Fence, Kind},
    json::{JsonScan, Progress},
    lead::Lead,
    marked::Marked,
    tag::{Holds, Tag},
};
use crate::limits::{MAX_BLOCKS, MAX_HELD_BYTES, MAX_OPENING_BYTES};

/// What text turns into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// For the reader; never empty.
    Text(String),
    /// For the agent.
    Call(Call),
}

/// Reads one answer.
pub(crate) struct Parser {
    tools: Arc<[ToolSpec]>,
    state: State,
    /// How many calls were found.
    calls: usize,
    /// Nothing that follows counts.
    over: bool,
    ready: Vec<Piece>,
}

/// Where in the text the parser is. What is `held` has not been passed on.
#[derive(Debug)]
enum State {
    /// In a line that is ordinary.
    Line,
    /// At the beginning of a line: blanks so far.
    Start { held: String },
    /// Marks that may become a fence.
    Marks { held: String, fence: Fence, stands: Stands },
    /// A fence, and the word after it.
    Word { held: String, fence: Fence, stands: Stands, word: String },
    /// What may become a tag, from this byte on.
    Tag { held: String, from: usize, stands: Stands },
    /// In a block that may be a call.
    Block(Box<Block>),
    /// After a mark, in what may be a call.
    Marked(Box<Marked>),
    /// In what the model thinks, of whose closing tag so many bytes have come.
    Thought { closing: &'static str, matched: usize },
    /// In an ordinary block, which is passed on as it comes.
    Code { fence: Fence, line: ClosingLine },
    /// In JSON that may be a call.
    Json { held: String, scan: JsonScan, lead: Lead },
    /// In ordinary JSON, which is passed on as it comes; `blank`: the line holds only blanks so far.
    Data { scan: JsonScan, blank: bool },
    /// After a call, on its last line.
    Rest,
}

/// Where a fence stands. After words in its line it counts only when a word of ours follows at once; else it is code in
/// a line, or the end of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stands {
    AtStart,
    AfterWords,
}

impl Parser {
    pub(crate) fn new(tools: Arc<[ToolSpec]>) -> Self {
        Self { tools, state: State::Start { held: String::new() }, calls: 0, over: false, ready: Vec::new() }
    }

    /// Takes the next portion of the answer and gives what is certain now.
    pub(crate) fn push(&mut self, text: &str) -> Vec<Piece> {
        for c in text.chars() {
            let state = std::mem::replace(&mut self.state, State::Line);
            self.state = self.step(state, c);
        }
        std::mem::take(&mut self.ready)
    }

    /// The answer is over. A block that was not closed counts if its calls are complete, unless the answer was
    /// `cut_off`: then more was to come, and half a wish is not carried out.
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
            State::Line | State::Thought { .. } | State::Code { .. } | State::Data { .. } | State::Rest => {}
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
                let may_open = stands == Stands::AtStart || !c.is_whitespace();
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
            State::Thought { closing, matched } => self.in_thought(closing, matched, c),
            // No fence after all, but code in a line: a fence of backticks has none after it.
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
            '`' => State::Marks { held: c.to_string(), fence: Fence { mark: c, len: 1 }, stands: Stands::AfterWords },
            '<' | '[' => State::Tag { held: c.to_string(), from: 0, stands: Stands::AfterWords },
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
                State::Marks { held, fence: Fence { mark: c, len: 1 }, stands: Stands::AtStart }
            }
            '<' | '[' => {
                held.push(c);
                State::Tag { from: held.len() - 1, held, stands: Stands::AtStart }
            }
            '{' => self.in_json(held, JsonScan::new(), Lead::Opening, c),
            _ => {
                self.text(&held);
                self.step(State::Line, c)
            }
        }
    }

    fn in_word(&mut self, mut held: String, fence: Fence, stands: Stands, mut word: String, c: char) -> State {
        let ordinary = match stands {
            Stands::AtStart => State::Code { fence, line: ClosingLine::Opening },
            Stands::AfterWords => State::Line,
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

    fn in_tag(&mut self, mut held: String, from: usize, stands: Stands, c: char) -> State {
        let before = held.len();
        held.push(c);
        let written = &held[from..];
        let Some(tag) = Tag::of(written) else {
            if Tag::is_open(written) {
                return State::Tag { held, from, stands };
            }
            if stands == Stands::AtStart && &held[from..before] == "[" {
                // No mark, but perhaps a list.
                held.truncate(from);
                let state = self.in_json(held, JsonScan::new(), Lead::Opening, '[');
                return self.step(state, c);
            }
            self.text(&held[..before]);
            return self.step(State::Line, c);
        };
        match tag.holds {
            Holds::Calls | Holds::Function => State::Block(Box::new(Block::tagged(tag, held))),
            Holds::Marked => State::Marked(Box::new(Marked::new(held))),
            Holds::Thought => {
                self.text(&held);
                State::Thought { closing: tag.closing, matched: 0 }
            }
            Holds::Result => {
                self.result_begins();
                self.text(&held);
                State::Line
            }
        }
    }

    fn in_thought(&mut self, closing: &'static str, matched: usize, c: char) -> State {
        self.character(c);
        let matched = match closing.as_bytes().get(matched) {
            Some(byte) if char::from(*byte) == c => matched + 1,
            _ => usize::from(c == '<'),
        };
        if matched == closing.len() { State::Line } else { State::Thought { closing, matched } }
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
            // A mark in words is a word. Only the character that said so may begin something else.
            Verdict::Code => {
                marked.body.pop();
                let held = marked.text();
                self.text(&held);
                self.step(if is_at_start(&held) { line_start() } else { State::Line }, c)
            }
        }
    }

    /// A model that goes on after its calls invents their results, and builds the next calls on those.
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
                    // What the block holds so far is read again as code, to know where it closes. It holds no closing
                    // fence yet, so this ends where it began.
                    self.text(&block.opening);
                    block.body.chars().fold(State::Code { fence, line }, |state, c| self.step(state, c))
                }
                // A tag in words is a word. Only what is not decided may begin something else: to look again at all that
                // is held would take the square of its length.
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

    fn in_json(&mut self, mut held: String, mut scan: JsonScan, mut lead: Lead, c: char) -> State {
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

    /// Passes text on. After a call there is nothing to pass on: a model that does not stop there tells of results that
    /// it has invented. What it has to say it says in the next step, when it knows them.
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

/// Whether what follows this text begins a line, blanks aside.
fn is_at_start(text: &str) -> bool {
    text.rsplit_once('\n').is_some_and(|(_, line)| line.chars().all(is_blank))
}
