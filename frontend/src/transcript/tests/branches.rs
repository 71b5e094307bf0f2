//! Other versions of questions and answers.

use tallybook_protocol::MessageId;

use super::{
    super::{Transcript, fold},
    end, folded, ids, message_ids, part, snapshot, start, version,
};

#[test]
fn another_version_replaces_a_message_and_all_after_it() {
    let two_turns = [start(1), end(1, "One", vec![]), start(2), end(2, "Two", vec![])];
    for (event, shown, siblings) in [
        // The first answer is regenerated, the second question edited, the first question edited.
        (version(None, 10, 30, &[], &[11, 30]), vec![10, 30], vec![vec![], message_ids(&[11, 30])]),
        (
            version(Some(11), 30, 31, &[20, 30], &[]),
            vec![10, 11, 30, 31],
            vec![vec![], vec![], message_ids(&[20, 30]), vec![]],
        ),
        (version(None, 30, 31, &[10, 30], &[]), vec![30, 31], vec![message_ids(&[10, 30]), vec![]]),
    ] {
        let mut transcript = folded(two_turns.iter().cloned().chain([event.clone()]));
        assert_eq!(ids(&transcript), shown);
        assert_eq!(transcript.entries().iter().map(|entry| entry.siblings.clone()).collect::<Vec<_>>(), siblings);
        // Repeating the event, or the one that it replaced, changes nothing.
        let once = transcript.clone();
        fold(&mut transcript, two_turns[2].clone());
        fold(&mut transcript, event);
        assert_eq!(transcript.entries(), once.entries());
    }
}

#[test]
fn the_old_version_is_removed_before_the_new_one_starts() {
    let mut transcript = folded([start(1), end(1, "One", vec![]), start(2), end(2, "Two", vec![])]);
    transcript.split_off(MessageId(21));
    assert_eq!(ids(&transcript), [10, 11, 20]);
    // The start of the new version was missed, but its place is known.
    fold(&mut transcript, snapshot(3, "Anew", vec![]));
    assert_eq!(ids(&transcript), [10, 11, 20, 31]);
    assert_eq!(transcript.split_off(MessageId(99)), []);
    assert_eq!(ids(&transcript), [10, 11, 20, 31]);
}

#[test]
fn a_failed_version_is_undone_even_if_earlier_messages_were_inserted_meanwhile() {
    let mut transcript = Transcript::from(part(4..=9));
    let cut = transcript.split_off(MessageId(80));
    assert_eq!(cut.len(), 4);
    transcript.prepend(MessageId(40), part(1..=3));
    transcript.restore(cut.clone());
    assert_eq!(transcript, Transcript::from(part(1..=9)));
    transcript.restore(cut);
    assert_eq!(transcript, Transcript::from(part(1..=9)));
}
