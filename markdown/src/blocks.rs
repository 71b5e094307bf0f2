//! Splits Markdown into its top-level blocks. Each block can be drawn separately, so a growing text is redrawn only at
//! its end.
//!
//! Markdown's blocks are determined line by line. Once a later block has started on a complete line, the blocks before
//! it no longer change. Link definitions are the exception, because they may follow their use. So a complete text is
//! split again as a whole.
//!
//! A paragraph can grow without limit, and redrawing it costs as much as its full length. So very long paragraphs are
//! split, too.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use pulldown_cmark::{Event, Parser, Tag};

use crate::{OPTIONS, headings::Headings, math};

/// Maximum number of footnotes with links to and from their references.
const MAX_NOTES: usize = 100;
/// A paragraph that is longer than twice this, in bytes, is split at the end of a sentence.
const LONG_PARAGRAPH: usize = 8 * 1024;

/// A top-level block: a paragraph, a list, a table, ….
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Start of the block in the text, in bytes.
    pub(crate) start: usize,
    /// Source of the block, up to the next block.
    pub(crate) source: String,
    /// Links and footnotes that are defined in the text; empty if this block cannot use any.
    pub(crate) definitions: Arc<Definitions>,
    /// The headings above the start of the block.
    pub(crate) headings: Headings,
    /// The fence of the code, if the block is code that is still being written.
    pub(crate) open_fence: Option<Fence>,
}

impl Block {
    /// Returns the start of the block in the text, in bytes. It is unique within the text.
    pub fn start(&self) -> usize {
        self.start
    }

    fn new(start: usize, source: &str, definitions: &Arc<Definitions>, headings: Headings) -> Self {
        let definitions = if source.contains('[') { Arc::clone(definitions) } else { Arc::default() };
        Self { start, source: source.to_owned(), definitions, headings, open_fence: None }
    }
}

/// A fence at the start of a text, after which everything is code that is still being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    /// Start of the code, in bytes.
    pub(crate) code: usize,
}

impl Fence {
    /// Returns the fence that opens at the start of `text` and is not closed in it. Ignores indented fences, which the
    /// parser handles. Follows CommonMark 0.31, section 4.5.
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

/// Definitions that apply to a whole text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Definitions {
    /// Addresses by label, as `[label]: address "title"` defines them.
    links: BTreeMap<String, Definition>,
    /// Footnotes, in the order of their definitions.
    pub(crate) notes: Vec<Note>,
}

/// A footnote, defined with `[^label]: words`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) label: String,
    /// Start of its definition in the text, in bytes.
    pub(crate) defined: usize,
    /// Position of its first reference; set once the text is complete.
    pub(crate) referenced: Option<usize>,
}

/// Target of a link label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) address: String,
    pub(crate) title: String,
}

impl Definitions {
    /// Returns the target of a label. Labels match regardless of case and of the amount of white space.
    pub(crate) fn find(&self, label: &str) -> Option<&Definition> {
        if self.links.is_empty() { None } else { self.links.get(&normalized(label)) }
    }
}

fn normalized(label: &str) -> String {
    label.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// A text, split into blocks, that may still grow.
#[derive(Clone, Debug, Default)]
pub struct Document {
    blocks: Vec<Block>,
    /// Number of settled blocks, from the start. More text does not change them.
    settled: usize,
    /// Start of the first block that is not settled.
    settled_end: usize,
    /// Definitions in the settled blocks.
    definitions: Arc<Definitions>,
    /// The headings above the first block that is not settled.
    headings: Headings,
}

impl Document {
    /// Splits a complete text.
    pub fn complete(text: &str) -> Self {
        let mut document = Self::default();
        document.update(text, true);
        document
    }

    /// Returns the blocks, in order. Their sources together are the text.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Replaces the text. While the text grows, settled blocks are neither parsed nor changed. If the text is
    /// `complete`, all of it is split again. Returns the number of blocks that are certainly unchanged.
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

/// Returns the first block that more text could change: the last one that starts on a complete line or within a long
/// paragraph. A block that starts on the line that is still being written may turn out to belong to the block before.
fn first_growing(text: &str, cuts: &Cuts) -> usize {
    let whole_lines = text.rfind('\n').map_or(0, |at| at + 1);
    let by_line = cuts.starts.iter().rposition(|start| *start < whole_lines).unwrap_or(0);
    by_line.max(cuts.last_within_paragraph)
}

#[derive(Default)]
struct Cuts {
    /// Starts of the blocks; the first is 0. Empty only if the text is empty.
    starts: Vec<usize>,
    /// The headings above each block.
    headings: Vec<Headings>,
    /// The last block that continues a long paragraph; 0 if there is none.
    last_within_paragraph: usize,
    /// Definitions with their positions, in order. The first definition of a label counts.
    definitions: Vec<(usize, String, Definition)>,
    /// Footnotes and references to them, with their positions.
    notes: Vec<(usize, String)>,
    references: Vec<(usize, String)>,
}

fn cut(text: &str, mut open: Headings) -> Cuts {
    if text.trim().is_empty() {
        return Cuts::default();
    }
    let with_neutral_line_starts = math::with_neutral_line_starts(text);
    let parser = Parser::new_ext(&with_neutral_line_starts, OPTIONS);
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
            // Starts at the beginning of the line, because indentation is part of the block.
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
        // The text has only definitions.
        starts.push(0);
        headings.push(open);
    }
    Cuts { starts, headings, last_within_paragraph, definitions, notes, references }
}

/// Returns the position at which to split a paragraph; `None` if it is not long. The position does not change when the
/// paragraph grows. The rest starts with a letter, so it is a paragraph, too.
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
