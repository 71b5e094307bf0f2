//! Footnotes and references to them, with links in both directions.
//!
//! The blocks of a text are parsed separately, and the parser recognizes a reference only if its footnote is defined.
//! So each block is parsed with definitions of the footnotes that it may refer to in front of it.

use std::fmt::Write as _;

use tallybook_nodes::{Element, Node, element};

use crate::{Labels, blocks::Note};

/// Returns definitions of the footnotes that `source` seems to refer to. A thematic break follows them, so that
/// `source` does not become part of the last definition.
pub(crate) fn head(source: &str, notes: &[Note]) -> String {
    let mut head = String::new();
    if !notes.is_empty() && source.contains("[^") {
        for note in notes.iter().filter(|note| source.contains(&format!("[^{}]", note.label))) {
            let _ = writeln!(head, "[^{}]: x", note.label);
        }
        if !head.is_empty() {
            head.push_str("\n***\n\n");
        }
    }
    head
}

/// The footnotes of a text, for one of its blocks.
#[derive(Clone, Copy, Default)]
pub(crate) struct Footnotes<'a> {
    pub(crate) notes: &'a [Note],
    /// Prefix of the IDs.
    pub(crate) name: &'a str,
    /// Start of the block in the text, in bytes.
    pub(crate) start: usize,
}

impl Footnotes<'_> {
    fn find(&self, label: &str) -> Option<(usize, &Note)> {
        self.notes.iter().enumerate().find(|(_, note)| note.label == label)
    }

    /// Builds a reference at the offset `begin` in the block. The footnote links back to its first reference.
    pub(crate) fn reference(&self, label: &str, begin: usize, labels: &Labels) -> Element {
        let mut link = element("a").with("aria-label", format!("{} {label}", labels.footnote)).with_text(label);
        if let Some((at, note)) = self.find(label) {
            link = link.with("href", format!("#{}-note-{at}", self.name));
            if note.referenced == Some(self.start + begin) {
                link = link.with("id", format!("{}-ref-{at}", self.name));
            }
        }
        element("sup").with("class", "footnote-ref").with_children(vec![link.into()])
    }

    /// Builds a footnote at the offset `begin` in the block. If several have the same label, the first one counts.
    pub(crate) fn note(&self, label: &str, begin: usize, words: Vec<Node>, labels: &Labels) -> Element {
        let known = self.find(label).filter(|(_, note)| note.defined == self.start + begin);
        let mark = match known {
            Some((at, Note { referenced: Some(_), .. })) => element("a")
                .with("href", format!("#{}-ref-{at}", self.name))
                .with("aria-label", format!("{} {label}", labels.footnote_back)),
            _ => element("span"),
        };
        let mut note = element("div").with("class", "footnote");
        if let Some((at, _)) = known {
            note = note.with("id", format!("{}-note-{at}", self.name));
        }
        let mark = mark.with("class", "footnote-mark").with_text(label);
        note.with_children(vec![mark.into(), element("div").with("dir", "auto").with_children(words).into()])
    }
}
