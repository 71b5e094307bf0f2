//! The pieces of an answer, each found by its beginning.

use tallybook_protocol::ToolCallId;

use super::{
    super::{Item, ItemKey, Places},
    call_start, delta, folded, start,
};

#[test]
fn each_piece_is_found_by_its_beginning() {
    let transcript = folded([start(1), delta(0, "One."), call_start(1, 4), call_start(2, 4), delta(4, "Two.")]);
    let entry = &transcript.entries()[1];
    let places = Places::of(entry);
    assert_eq!((places.end_of(0), places.end_of(4), places.end_of(2)), (Some(4), Some(8), None));
    let [first, second] = [1, 2].map(|id| ItemKey::Call(ToolCallId(id)));
    let keys = |first| places.run(first, entry).into_iter().map(Item::key).collect::<Vec<_>>();
    assert_eq!((keys(first), keys(second)), (vec![first, second], Vec::new()));
}
