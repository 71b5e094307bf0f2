//! Finds all pieces of an answer at once. Each piece of a growing answer needs its own place whenever some text comes in.

use std::collections::HashMap;

use super::{Entry, Item, ItemKey, Segment};

/// The pieces of an answer, by what keeps a piece the same one while its text grows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// Where the text ends that begins at a byte.
    ends: HashMap<usize, usize>,
    /// The places among the answer's items of the run that begins with an item.
    runs: HashMap<ItemKey, Vec<usize>>,
}

impl Places {
    pub(crate) fn of(entry: &Entry) -> Self {
        let items: HashMap<ItemKey, usize> = entry.items.iter().map(Item::key).zip(0..).collect();
        let mut places = Self::default();
        for piece in entry.all_segments() {
            match piece {
                Segment::Text(range) => {
                    places.ends.insert(range.start, range.end);
                }
                Segment::Items(keys) => {
                    if let Some(first) = keys.first() {
                        places.runs.insert(*first, keys.iter().filter_map(|key| items.get(key).copied()).collect());
                    }
                }
                Segment::Plan => {}
            }
        }
        places
    }

    /// Where the text that begins at `start` ends.
    pub(crate) fn end_of(&self, start: usize) -> Option<usize> {
        self.ends.get(&start).copied()
    }

    /// The items of the run that begins with `first`.
    pub(crate) fn run<'a>(&self, first: ItemKey, entry: &'a Entry) -> Vec<&'a Item> {
        let places = self.runs.get(&first).map(Vec::as_slice).unwrap_or_default();
        places.iter().filter_map(|place| entry.items.get(*place)).collect()
    }
}
