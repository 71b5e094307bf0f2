//! Cuts a message into the order in which things happened: text, tool calls, more text. Offsets come from outside, so
//! none is trusted: they are clamped to the text and rounded down to a character's start.

use std::ops::Range;

use super::Call;

/// One piece of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// A stretch of the message's text, in bytes; never only white space.
    Text(Range<usize>),
    /// Tool calls with no text between them, by their row ids; never empty.
    Calls(Vec<i64>),
}

/// The pieces of a message with `text` and `calls`, in order. Calls at one offset keep the order they are given in.
pub fn segments(text: &str, calls: &[Call]) -> Vec<Segment> {
    let mut placed: Vec<(usize, i64)> = calls.iter().map(|call| (boundary(text, call.offset), call.id)).collect();
    placed.sort_by_key(|&(offset, _)| offset);
    let mut pieces = Vec::new();
    let mut start = 0;
    for (offset, id) in placed {
        push_text(&mut pieces, text, start..offset);
        if let Some(Segment::Calls(ids)) = pieces.last_mut() {
            ids.push(id);
        } else {
            pieces.push(Segment::Calls(vec![id]));
        }
        start = offset;
    }
    push_text(&mut pieces, text, start..text.len());
    pieces
}

fn push_text(pieces: &mut Vec<Segment>, text: &str, range: Range<usize>) {
    if !text[range.clone()].trim().is_empty() {
        pieces.push(Segment::Text(range));
    }
}

fn boundary(text: &str, offset: i64) -> usize {
    let offset = usize::try_from(offset.max(0)).unwrap_or(usize::MAX).min(text.len());
    text.floor_char_boundary(offset)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tallybook_protocol::{RawJson, ToolCallStatus};

    use super::{Segment, segments};
    use crate::transcript::Call;

    fn call(id: i64, offset: i64) -> Call {
        Call {
            id,
            name: "add".to_owned(),
            input: RawJson::from_text("{}"),
            offset,
            status: ToolCallStatus::Success,
            output: None,
            error: None,
            duration_ms: None,
        }
    }

    #[test]
    fn text_and_calls_alternate_as_they_happened() {
        let calls = [call(1, 6), call(2, 6), call(3, 11)];
        let expected = [Segment::Text(0..6), Segment::Calls(vec![1, 2]), Segment::Text(6..11), Segment::Calls(vec![3])];
        assert_eq!(segments("First.Then.", &calls), expected);
    }

    #[test]
    fn white_space_between_calls_is_no_paragraph() {
        assert_eq!(segments("\n\n", &[call(1, 0), call(2, 2)]), [Segment::Calls(vec![1, 2])]);
    }

    #[test]
    fn offsets_inside_a_character_round_down_and_wild_ones_are_clamped() {
        let calls = [call(1, 4), call(2, i64::MAX), call(3, i64::MIN)];
        let [first, second, third] = [1, 2, 3].map(|id| Segment::Calls(vec![id]));
        let expected = [third, Segment::Text(0..3), first, Segment::Text(3..6), second];
        assert_eq!(segments("計算", &calls), expected);
    }

    proptest! {
        #[test]
        fn no_text_and_no_call_is_lost(text in "[a計🙂]{0,20}", offsets in proptest::collection::vec(-5i64..120, 0..6)) {
            let calls: Vec<Call> = (0..).zip(&offsets).map(|(id, &offset)| call(id, offset)).collect();
            let pieces = segments(&text, &calls);
            let joined: String = pieces.iter().filter_map(|piece| match piece {
                Segment::Text(range) => Some(&text[range.clone()]),
                Segment::Calls(_) => None,
            }).collect();
            prop_assert_eq!(joined, text);
            let placed: usize = pieces.iter().map(|piece| match piece {
                Segment::Text(_) => 0,
                Segment::Calls(ids) => ids.len(),
            }).sum();
            prop_assert_eq!(placed, calls.len());
        }
    }
}
