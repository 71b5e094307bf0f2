//! Builds a block of the index: columns with the slots of the texts of messages, and the columns of each message.

use chrono::{DateTime, Utc};
use tallybook_protocol::MessageId;

use crate::search::index::pieces::{MAX_TERM_CHARS, SLOTS, fold, slots_at};

/// Maximum number of slots in a column, which is an eighth of all: some 256 pieces, or a kilobyte of English text. So
/// few columns contain the pieces of a word by chance.
const MAX_COLUMN_SLOTS: usize = 512;

/// Maximum length of a column's texts, in characters. A text that repeats itself has few slots.
const MAX_COLUMN_CHARS: usize = 16 * 1024;

/// The slots of some texts.
struct Column {
    slots: Box<[bool; SLOTS]>,
    count: usize,
    chars: usize,
}

impl Column {
    fn new() -> Self {
        Self { slots: Box::new([false; SLOTS]), count: 0, chars: 0 }
    }

    fn is_full(&self) -> bool {
        self.count >= MAX_COLUMN_SLOTS || self.chars >= MAX_COLUMN_CHARS
    }

    fn add(&mut self, text: &[char], at: usize) {
        self.chars += 1;
        for slot in slots_at(text, at) {
            self.count += usize::from(!self.slots[slot]);
            self.slots[slot] = true;
        }
    }
}

/// The columns of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) message: MessageId,
    /// When the message was created.
    pub(crate) at: DateTime<Utc>,
    first: i32,
    last: i32,
}

impl Range {
    /// Size of an encoded range.
    pub(crate) const BYTES: usize = 24;

    /// Encodes ranges as they are stored. The time is in microseconds.
    pub(crate) fn encode(ranges: &[Self]) -> Vec<u8> {
        let encode = |range: &Self| {
            let mut bytes = [0; Self::BYTES];
            bytes[..8].copy_from_slice(&range.message.0.to_le_bytes());
            bytes[8..16].copy_from_slice(&range.at.timestamp_micros().to_le_bytes());
            bytes[16..20].copy_from_slice(&range.first.to_le_bytes());
            bytes[20..].copy_from_slice(&range.last.to_le_bytes());
            bytes
        };
        ranges.iter().flat_map(encode).collect()
    }

    /// Decodes ranges.
    pub(super) fn decode(bytes: &[u8]) -> impl Iterator<Item = Self> {
        bytes.as_chunks::<{ Self::BYTES }>().0.iter().filter_map(|bytes| {
            let long = |from: usize| Some(i64::from_le_bytes(*bytes.get(from..)?.first_chunk()?));
            let short = |from: usize| Some(i32::from_le_bytes(*bytes.get(from..)?.first_chunk()?));
            let at = DateTime::from_timestamp_micros(long(8)?)?;
            Some(Self { message: MessageId(long(0)?), at, first: short(16)?, last: short(20)? })
        })
    }
}

/// A block that is being built.
pub(super) struct Builder {
    columns: i32,
    column: Column,
    /// The bits of each slot, by columns that are complete.
    rows: Vec<Vec<u8>>,
    ranges: Vec<Range>,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self { columns: 0, column: Column::new(), rows: vec![Vec::new(); SLOTS], ranges: Vec::new() }
    }

    /// Adds a message with its texts.
    pub(super) fn add<'t>(&mut self, message: MessageId, at: DateTime<Utc>, texts: impl IntoIterator<Item = &'t str>) {
        if self.column.is_full() {
            self.end_column();
        }
        let first = self.columns;
        for text in texts {
            self.add_text(&fold(text));
        }
        self.ranges.push(Range { message, at, first, last: self.columns });
    }

    fn add_text(&mut self, text: &[char]) {
        let mut at = 0;
        while at < text.len() {
            if self.column.is_full() {
                self.end_column();
                // Each term is in one column as a whole.
                at = at.saturating_sub(MAX_TERM_CHARS);
            }
            self.column.add(text, at);
            at += 1;
        }
    }

    fn end_column(&mut self) {
        let column = std::mem::replace(&mut self.column, Column::new());
        let bit = 1_u8 << (self.columns % 8);
        for (row, is_set) in self.rows.iter_mut().zip(column.slots.iter()) {
            if self.columns % 8 == 0 {
                row.push(0);
            }
            if let Some(byte) = row.last_mut().filter(|_| *is_set) {
                *byte |= bit;
            }
        }
        self.columns += 1;
    }

    /// Returns the bits of each slot, and the columns of each message.
    pub(super) fn finish(mut self) -> (Vec<Vec<u8>>, Vec<Range>) {
        self.end_column();
        (self.rows, self.ranges)
    }
}

/// The columns of a block in which all slots of each term occur, by term.
pub(super) struct Matches(Vec<Vec<u8>>);

impl Matches {
    /// Finds the columns of each term. `bits` returns the bits of a slot.
    pub(super) fn find<'b>(terms: &[Vec<usize>], bits: impl Fn(usize) -> Option<&'b [u8]>) -> Option<Self> {
        let both = |mut all: Vec<u8>, more: &[u8]| {
            all.iter_mut().zip(more).for_each(|(byte, other)| *byte &= other);
            all
        };
        let columns = |slots: &Vec<usize>| {
            let mut slots = slots.iter().map(|slot| bits(*slot));
            let first = slots.next()??.to_vec();
            slots.try_fold(first, |all, more| Some(both(all, more?)))
        };
        terms.iter().map(columns).collect::<Option<_>>().map(Self)
    }

    /// Returns `true` if a message of the block can have all terms.
    pub(super) fn is_possible(&self) -> bool {
        self.0.iter().all(|columns| columns.iter().any(|byte| *byte != 0))
    }

    /// Returns `true` if each term is in one of a message's columns.
    pub(super) fn contain(&self, range: &Range) -> bool {
        let is_set = |columns: &[u8], column: i32| {
            let byte = usize::try_from(column / 8).ok().and_then(|index| columns.get(index));
            byte.is_some_and(|byte| byte & (1 << (column % 8)) != 0)
        };
        self.0.iter().all(|columns| (range.first..=range.last).any(|column| is_set(columns, column)))
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use tallybook_protocol::MessageId;

    use super::{Builder, Matches, Range};
    use crate::search::index::pieces::terms;

    /// Each word of a long text is found in the message that has it, also at the border of two columns.
    #[test]
    fn every_word_of_a_text_is_found_in_its_message() {
        let words: Vec<String> = (0..6000_u32).map(|n| format!("w{:x}x{n}", n.wrapping_mul(2_654_435_761))).collect();
        let mut builder = Builder::new();
        let parts: Vec<&[String]> = words.chunks(1500).collect();
        for (number, words) in (0..).zip(&parts) {
            builder.add(MessageId(number), DateTime::UNIX_EPOCH, [words.join(" ").as_str(), "and an end"]);
        }
        let (rows, ranges) = builder.finish();
        assert!(ranges.last().unwrap().last > 50, "{ranges:?}");
        let mut chance = 0;
        for (range, own) in ranges.iter().zip(&parts) {
            for word in &words {
                let matches =
                    Matches::find(&terms(std::slice::from_ref(word)), |slot| Some(rows[slot].as_slice())).unwrap();
                let is_found = matches.contain(range);
                assert!(is_found || !own.contains(word), "{word}");
                chance += usize::from(is_found && !own.contains(word));
            }
        }
        assert!(chance < 1800, "{chance} of 18000 words are found in messages that do not have them");
    }

    #[test]
    fn terms_can_be_in_several_columns_of_a_message() {
        let mut builder = Builder::new();
        let long = (0..3000).map(|number: u32| number.to_string()).collect::<Vec<_>>().join(" ");
        builder.add(MessageId(1), DateTime::UNIX_EPOCH, ["needle", &long, "haystack"]);
        builder.add(MessageId(2), DateTime::UNIX_EPOCH, ["needle"]);
        let (rows, ranges) = builder.finish();
        let terms = terms(&["NEEDLE".to_owned(), "haystack".to_owned()]);
        let matches = Matches::find(&terms, |slot| Some(rows[slot].as_slice())).unwrap();
        assert!(matches.is_possible() && matches.contain(&ranges[0]));
        assert!(ranges[0].last > ranges[0].first, "{ranges:?}");
    }

    #[test]
    fn ranges_are_the_same_after_they_were_stored() {
        let at = DateTime::UNIX_EPOCH + TimeDelta::microseconds(1_800_000_000_123_456);
        let ranges = [1, i64::MAX].map(|id| Range { message: MessageId(id), at, first: 3, last: 1000 });
        assert_eq!(Range::decode(&Range::encode(&ranges)).collect::<Vec<_>>(), ranges);
    }
}
