//! Finds a phrase in the messages on the page. Messages are searched as displayed. Tool calls are searched by their
//! content, because most of them are collapsed. Uses the document; `phrase` compares the texts.

use leptos::prelude::document;
use tallybook_protocol::{MessageId, ToolCallId};
use wasm_bindgen::JsCast;
use web_sys::{Element, Node, Range};

use crate::{
    goal::element_id,
    highlight::{self, Mark},
    json,
    phrase::{MAX_PLACES, Phrase},
    transcript::{Call, CallText, Entry, Transcript},
};

/// Maximum depth of the elements whose text is searched.
const MAX_DEPTH: u32 = 64;

/// Elements of a message that are searched, in the order of the page.
const SEARCHED: &str = ".bubble-text, .prose, .tool[id^=call-]";

/// Elements that do not start a new paragraph.
const INLINE: [&str; 19] = [
    "A", "ABBR", "B", "BDI", "CODE", "DEL", "EM", "I", "INPUT", "KBD", "LABEL", "MARK", "S", "SMALL", "SPAN", "STRONG",
    "SUB", "SUP", "U",
];

/// A match of the phrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) message: MessageId,
    /// The call with the match; `None` for a match in the message's own text.
    pub(crate) call: Option<ToolCallId>,
    /// Index of the match among those of the message's own text, or of the call, counted from 0.
    pub(crate) nth: usize,
}

/// Finds all matches of the phrase, at most [`MAX_PLACES`], and highlights those in the text of messages.
pub(crate) fn find(transcript: &Transcript, phrase: &Phrase) -> Vec<Match> {
    let (mut places, mut ranges) = (Vec::new(), Vec::new());
    for entry in transcript.entries() {
        let Some(message) = document().get_element_by_id(&element_id(entry.id)) else { continue };
        let before = ranges.len();
        for searched in all(&message, SEARCHED) {
            if let Some(call) = call_of(&searched, entry) {
                let count: usize = texts_of(call).iter().map(|text| phrase.places(text).len()).sum();
                places.extend((0..count).map(|nth| Match { message: entry.id, call: Some(call.id), nth }));
            } else {
                let first = ranges.len();
                ranges.extend(ranges_in(&searched, phrase));
                places.extend((first..ranges.len()).map(|at| Match {
                    message: entry.id,
                    call: None,
                    nth: at - before,
                }));
            }
        }
        if places.len() >= MAX_PLACES {
            places.truncate(MAX_PLACES);
            break;
        }
    }
    highlight::show(Mark::Place, &ranges);
    places
}

/// Returns the matches of the phrase in the own text of a message, or in an expanded call, given the element.
pub(crate) fn ranges_of(place: &Element, phrase: &Phrase) -> Vec<Range> {
    let searched = if place.class_list().contains("tool") { ".tool-text" } else { ".bubble-text, .prose" };
    all(place, searched).iter().flat_map(|searched| ranges_in(searched, phrase)).collect()
}

fn all(place: &Element, selector: &str) -> Vec<Element> {
    let Ok(found) = place.query_selector_all(selector) else { return Vec::new() };
    (0..found.length()).filter_map(|at| found.get(at)?.dyn_into().ok()).collect()
}

fn call_of<'a>(element: &Element, entry: &'a Entry) -> Option<&'a Call> {
    let id = element.id().strip_prefix("call-")?.parse().ok()?;
    entry.call(ToolCallId(id)).map(|call| &**call)
}

/// Returns the texts of a call as its details show them.
fn texts_of(call: &Call) -> Vec<String> {
    let mut texts = Vec::new();
    for input in call.proposed.iter().chain([&call.input]) {
        match json::rows(&input.text).filter(|_| input.is_whole()) {
            Some(rows) => texts.extend(rows.into_iter().flat_map(|row| [row.key, row.value])),
            None => texts.push(json::readable(&input.text)),
        }
    }
    texts.extend(call.output.iter().map(|output: &CallText| json::readable_output(&output.text)));
    texts.extend(call.error.iter().map(|error| error.text.to_string()));
    texts
}

/// Text without a break, and the nodes that it comes from. Each node has the offset of its text in UTF-16 units.
#[derive(Default)]
struct Paragraph {
    text: String,
    nodes: Vec<(u32, Node)>,
    units: u32,
}

impl Paragraph {
    fn push(&mut self, node: Node) {
        let text = node.text_content().unwrap_or_default();
        self.nodes.push((self.units, node));
        self.units += text.chars().map(|c| if c.len_utf16() == 2 { 2 } else { 1 }).sum::<u32>();
        self.text.push_str(&text);
    }

    /// Ends the paragraph, and adds the matches of the phrase in it.
    fn end(&mut self, phrase: &Phrase, ranges: &mut Vec<Range>) {
        let Self { text, nodes, .. } = std::mem::take(self);
        let node_at = |unit: u32| {
            let next = nodes.partition_point(|(start, _)| *start <= unit);
            nodes.get(next.checked_sub(1)?)
        };
        ranges.extend(phrase.places(&text).into_iter().filter_map(|place| {
            let (start, first) = node_at(place.start)?;
            let (end, last) = node_at(place.end.checked_sub(1)?)?;
            let range = Range::new().ok()?;
            range.set_start(first, place.start - start).ok()?;
            range.set_end(last, place.end - end).ok()?;
            Some(range)
        }));
    }
}

fn ranges_in(place: &Element, phrase: &Phrase) -> Vec<Range> {
    let (mut paragraph, mut ranges) = (Paragraph::default(), Vec::new());
    add_texts(place, phrase, &mut paragraph, &mut ranges, MAX_DEPTH);
    paragraph.end(phrase, &mut ranges);
    ranges
}

fn add_texts(place: &Node, phrase: &Phrase, paragraph: &mut Paragraph, ranges: &mut Vec<Range>, depth: u32) {
    let mut next = place.first_child();
    while let Some(node) = next {
        next = node.next_sibling();
        if node.node_type() == Node::TEXT_NODE {
            paragraph.push(node);
        } else if let Some(element) = node.dyn_ref::<Element>().filter(|_| depth > 0)
            && element.tag_name() != "BUTTON"
        {
            let is_inline = INLINE.contains(&element.tag_name().as_str());
            if !is_inline {
                paragraph.end(phrase, ranges);
            }
            add_texts(element, phrase, paragraph, ranges, depth - 1);
            if !is_inline {
                paragraph.end(phrase, ranges);
            }
        }
    }
}
