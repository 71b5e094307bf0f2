//! Splits a message into text and items, in the order in which they happened. Offsets come from outside and are not
//! trusted: they are clamped to the text and rounded down to the start of a character.

use std::ops::Range;

use super::{
    Item, ItemKey,
    layout::{Share, floor_offset},
};

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// A range of the message's text, in bytes. It has more than white space.
    Text(Range<usize>),
    /// Items without text between them. There is at least one.
    Items(Vec<ItemKey>),
    /// The answer's plan, including the text and items of its steps.
    Plan,
}

/// Returns the segments of one share of a message, in order. Items at the same offset keep their order.
pub(super) fn segments(text: &str, share: &Share<'_>) -> Vec<Segment> {
    let Range { start, end } = share.text;
    let place = |item: &Item| (floor_offset(text, item.offset()).clamp(start, end), item.key());
    let mut placed: Vec<(usize, ItemKey)> = share.items.iter().map(place).collect();
    placed.sort_by_key(|&(offset, _)| offset);
    let mut pieces = Vec::new();
    let mut start = start;
    for (offset, key) in placed {
        push_text(&mut pieces, text, start..offset);
        if let Some(Segment::Items(keys)) = pieces.last_mut() {
            keys.push(key);
        } else {
            pieces.push(Segment::Items(vec![key]));
        }
        start = offset;
    }
    push_text(&mut pieces, text, start..end);
    pieces
}

fn push_text(pieces: &mut Vec<Segment>, text: &str, range: Range<usize>) {
    if !text[range.clone()].trim().is_empty() {
        pieces.push(Segment::Text(range));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tallybook_protocol::ToolCallId;

    use super::{Segment, Share};
    use crate::transcript::{Item, ItemKey, tests::finished_call};

    fn segments(text: &str, items: &[Item]) -> Vec<Segment> {
        super::segments(text, &Share { text: 0..text.len(), items })
    }

    fn call(id: i64, offset: i64) -> Item {
        finished_call(id, |call| call.offset = offset)
    }

    fn items(ids: &[i64]) -> Segment {
        Segment::Items(ids.iter().map(|id| ItemKey::Call(ToolCallId(*id))).collect())
    }

    #[test]
    fn text_and_items_alternate_as_they_happened() {
        let calls = [call(1, 6), call(2, 6), call(3, 11)];
        let expected = [Segment::Text(0..6), items(&[1, 2]), Segment::Text(6..11), items(&[3])];
        assert_eq!(segments("First.Then.", &calls), expected);
    }

    #[test]
    fn white_space_between_and_after_items_is_not_a_segment() {
        assert_eq!(segments("\n\n", &[call(1, 0), call(2, 2)]), [items(&[1, 2])]);
        // The blank line before the next step's text has arrived, and the text has not.
        assert_eq!(segments("One.\n\n", &[call(1, 4)]), [Segment::Text(0..4), items(&[1])]);
        assert_eq!(segments("One.\n\nTwo.", &[call(1, 4)]), [Segment::Text(0..4), items(&[1]), Segment::Text(4..10)]);
    }

    #[test]
    fn offsets_inside_a_character_round_down_and_wild_ones_are_clamped() {
        let calls = [call(1, 4), call(2, i64::MAX), call(3, i64::MIN)];
        let [first, second, third] = [1, 2, 3].map(|id| items(&[id]));
        let expected = [third, Segment::Text(0..3), first, Segment::Text(3..6), second];
        assert_eq!(segments("計算", &calls), expected);
    }

    proptest! {
        #[test]
        fn no_text_and_no_item_is_lost(text in "[a計🙂]{0,20}", offsets in proptest::collection::vec(-5i64..120, 0..6)) {
            let calls: Vec<Item> = (0..).zip(&offsets).map(|(id, &offset)| call(id, offset)).collect();
            let pieces = segments(&text, &calls);
            let joined: String = pieces.iter().filter_map(|piece| match piece {
                Segment::Text(range) => Some(&text[range.clone()]),
                Segment::Items(_) | Segment::Plan => None,
            }).collect();
            prop_assert_eq!(joined, text);
            let placed: usize = pieces.iter().map(|piece| match piece {
                Segment::Text(_) | Segment::Plan => 0,
                Segment::Items(keys) => keys.len(),
            }).sum();
            prop_assert_eq!(placed, calls.len());
        }
    }
}
