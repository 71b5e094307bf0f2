//! Cuts Markdown into its top-level blocks, so that each can be drawn apart and a text that grows is drawn anew only
//! where it grows.
//!
//! Markdown's blocks are decided line by line: once a later block has begun on a whole line, those before it stay what
//! they are. The exception are link definitions, which may follow their use; a text that is complete is therefore cut
//! once more as a whole.
//!
//! A paragraph has no such end in sight, and drawing it costs what all of it costs, so one that is very long is cut too.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use pulldown_cmark::{Event, Parser, Tag};

use crate::{OPTIONS, headings::Headings, math};

/// So many footnotes of a text have links back and forth.
const MAX_NOTES: usize = 100;
/// A paragraph longer than twice this, in bytes, goes on in a new one at the end of a sentence.
const LONG_PARAGRAPH: usize = 8 * 1024;

/// One top-level block: a paragraph, a list, a table, ….
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Where it begins in the text, in bytes.
    pub(crate) start: usize,
    /// Its source, up to the next block.
    pub(crate) source: String,
    /// The links and footnotes defined in the text, when this block could use any.
    pub(crate) definitions: Arc<Definitions>,
    /// The headings that its beginning belongs to.
    pub(crate) headings: Headings,
    /// The fence of code that is still being written.
    pub(crate) open_fence: Option<Fence>,
}

impl Block {
    /// Where it begins in the text, in bytes. No two blocks of a text begin at one place.
    pub fn start(&self) -> usize {
        self.start
    }

    fn new(start: usize, source: &str, definitions: &Arc<Definitions>, headings: Headings) -> Self {
        let definitions = if source.contains('[') { Arc::clone(definitions) } else { Arc::default() };
        Self { start, source: source.to_owned(), definitions, headings, open_fence: None }
    }
}

/// A fence at the beginning of a text, after which all is code that is still being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    /// Where the code begins, in bytes.
    pub(crate) code: usize,
}

impl Fence {
    /// The fence that opens at the beginning of `text` and is not closed in it. Only one at the margin counts: what is
    /// indented is left to the parser. After CommonMark 0.31, section 4.5.
    fn open_in(text: &str) -> Option<Self> {
        let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = |line: &str| line.len() - line.trim_start_matches(mark).len();
        let code = text.find('\n')? + 1;
        let (head, body) = text.split_at(code);
        let opening = length(head);
        if opening < 3 || (mark == '`' && head[opening..].contains('`')) {
            return None;
        }
        let closes = |line: &str| {
            let words = line.trim_start_matches(' ');
            line.len() - words.len() <= 3
                && length(words) >= opening
                && words.trim_start_matches(mark).bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
        };
        if body.contains(mark) && body.lines().any(closes) { None } else { Some(Self { code }) }
    }
}

/// What is defined in a text for all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Definitions {
    /// Addresses by label, as `[label]: address "title"` defines them.
    links: BTreeMap<String, Definition>,
    /// Footnotes, in the order of their definitions.
    pub(crate) notes: Vec<Note>,
}

/// A footnote, as `[^label]: words` defines it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) label: String,
    /// Where its definition begins in the text, in bytes.
    pub(crate) defined: usize,
    /// Where it is referred to first; known when the text is complete.
    pub(crate) referenced: Option<usize>,
}

/// Where a label leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) address: String,
    pub(crate) title: String,
}

impl Definitions {
    /// What `label` leads to. Labels are alike when they differ only in case and in the length of white space.
    pub(crate) fn find(&self, label: &str) -> Option<&Definition> {
        if self.links.is_empty() { None } else { self.links.get(&normalized(label)) }
    }
}

fn normalized(label: &str) -> String {
    label.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// A text in blocks, which may still grow.
#[derive(Clone, Debug, Default)]
pub struct Document {
    blocks: Vec<Block>,
    /// So many blocks at the beginning are settled: more text changes nothing in them.
    settled: usize,
    /// Where the first block that is not settled begins.
    settled_end: usize,
    /// The links defined in the settled blocks.
    definitions: Arc<Definitions>,
    /// The headings that the first block that is not settled belongs to.
    headings: Headings,
}

impl Document {
    /// A complete text.
    pub fn complete(text: &str) -> Self {
        let mut document = Self::default();
        document.update(text, true);
        document
    }

    /// The blocks, in order. Together their sources are the text.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Takes the text as it is now. While it grows, settled blocks are neither read nor changed; when it is `complete`,
    /// all of it is cut anew. Gives the number of blocks that are certainly as they were.
    pub fn update(&mut self, text: &str, complete: bool) -> usize {
        if complete || !self.continues_in(text) {
            *self = Self::default();
        }
        let kept = self.settled;
        self.blocks.truncate(kept);
        let tail = &text[self.settled_end..];
        if !complete && let Some(fence) = Fence::open_in(tail) {
            let mut block = Block::new(self.settled_end, tail, &Arc::default(), self.headings);
            block.open_fence = Some(fence);
            self.blocks.push(block);
            return kept;
        }
        let cuts = cut(tail, self.headings);
        let growing = if complete { 0 } else { first_growing(tail, &cuts) };
        let settled_bytes = cuts.starts.get(growing).copied().unwrap_or(0);

        let mut known = Arc::clone(&self.definitions);
        for (position, label, definition) in cuts.definitions {
            if complete || position < settled_bytes {
                Arc::make_mut(&mut known).links.entry(normalized(&label)).or_insert(definition);
            }
        }
        for (position, label) in cuts.notes {
            let is_settled = complete || position < settled_bytes;
            if is_settled && known.notes.len() < MAX_NOTES && known.notes.iter().all(|note| note.label != label) {
                let note = Note { label, defined: self.settled_end + position, referenced: None };
                Arc::make_mut(&mut known).notes.push(note);
            }
        }
        for (position, label) in cuts.references.into_iter().filter(|_| complete) {
            let notes = &mut Arc::make_mut(&mut known).notes;
            if let Some(note) = notes.iter_mut().find(|note| note.label == label) {
                note.referenced.get_or_insert(position);
            }
        }
        let ends = cuts.starts.iter().skip(1).copied().chain([tail.len()]);
        for ((&start, end), &headings) in cuts.starts.iter().zip(ends).zip(&cuts.headings) {
            self.blocks.push(Block::new(self.settled_end + start, &tail[start..end], &known, headings));
        }
        self.headings = cuts.headings.get(growing).copied().unwrap_or(self.headings);
        self.settled += growing;
        self.settled_end += settled_bytes;
        self.definitions = known;
        kept
    }

    fn continues_in(&self, text: &str) -> bool {
        self.blocks[..self.settled]
            .iter()
            .all(|block| text.get(block.start..block.start + block.source.len()) == Some(&*block.source))
    }
}

/// The first block that more text could change: the last one that begins on a whole line, or within a long paragraph.
/// What begins on the line that is still being written may turn out to belong to the one before.
fn first_growing(text: &str, cuts: &Cuts) -> usize {
    let whole_lines = text.rfind('\n').map_or(0, |at| at + 1);
    let by_line = cuts.starts.iter().rposition(|start| *start < whole_lines).unwrap_or(0);
    by_line.max(cuts.last_within_paragraph)
}

#[derive(Default)]
struct Cuts {
    /// Where blocks begin; the first is 0. Empty only without text.
    starts: Vec<usize>,
    /// The headings that each of them belongs to.
    headings: Vec<Headings>,
    /// The last block that goes on with a long paragraph; 0 when none does.
    last_within_paragraph: usize,
    /// Definitions with the place where each stands, in that order, so that the first of a label counts.
    definitions: Vec<(usize, String, Definition)>,
    /// Footnotes and references to them, each with the place where it begins.
    notes: Vec<(usize, String)>,
    references: Vec<(usize, String)>,
}

fn cut(text: &str, mut open: Headings) -> Cuts {
    if text.trim().is_empty() {
        return Cuts::default();
    }
    let steadied = math::steadied(text);
    let parser = Parser::new_ext(&steadied, OPTIONS);
    let mut definitions: Vec<_> = parser
        .reference_definitions()
        .iter()
        .map(|(label, link)| {
            let title = link.title.as_deref().unwrap_or_default().to_owned();
            (link.span.start, label.to_owned(), Definition { address: link.dest.to_string(), title })
        })
        .collect();
    definitions.sort_by_key(|&(position, ..)| position);

    let (mut starts, mut headings) = (Vec::new(), Vec::new());
    let mut last_within_paragraph = 0;
    let (mut notes, mut references) = (Vec::new(), Vec::new());
    let mut depth = 0_usize;
    for (event, range) in parser.into_offset_iter() {
        match &event {
            Event::Start(Tag::FootnoteDefinition(label)) => notes.push((range.start, label.to_string())),
            Event::FootnoteReference(label) => references.push((range.start, label.to_string())),
            _ => {}
        }
        if depth == 0 {
            // From the beginning of its line: indentation is part of what a block is.
            let line = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
            let start = if starts.is_empty() { 0 } else { line };
            if starts.last().is_none_or(|last| *last < start) {
                starts.push(start);
                headings.push(open);
            }
            if matches!(event, Event::Start(Tag::Paragraph)) {
                let mut rest = range;
                while let Some(next) = end_of_sentence(text, rest.clone()) {
                    last_within_paragraph = starts.len();
                    starts.push(next);
                    headings.push(open);
                    rest.start = next;
                }
            }
        }
        if let Event::Start(Tag::Heading { level, .. }) = &event {
            open.begin(*level);
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    if starts.is_empty() {
        // Nothing but definitions.
        starts.push(0);
        headings.push(open);
    }
    Cuts { starts, headings, last_within_paragraph, definitions, notes, references }
}

/// Where a long paragraph is cut, if it is long. What is found does not change when the paragraph grows, and what
/// follows begins with a letter, so that it is a paragraph too.
fn end_of_sentence(text: &str, paragraph: Range<usize>) -> Option<usize> {
    let from = text.ceil_char_boundary(paragraph.start + LONG_PARAGRAPH);
    let to = text.floor_char_boundary(from + LONG_PARAGRAPH);
    if to >= paragraph.end {
        return None;
    }
    let places = || text[from..to].char_indices().filter(|(_, c)| c.is_alphabetic()).map(|(at, _)| from + at);
    let sentence = places().find(|&at| {
        let before = &text[from..at];
        let words = before.trim_end();
        words.ends_with(['。', '！', '？']) || (words.len() < before.len() && words.ends_with(['.', '!', '?']))
    });
    sentence.or_else(|| places().find(|&at| text[from..at].ends_with(char::is_whitespace))).or_else(|| places().next())
}
