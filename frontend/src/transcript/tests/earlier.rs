//! Earlier messages, and the usage of all answers together.

use tallybook_protocol::MessageId;

use super::{
    super::{Transcript, fold},
    PER_ANSWER, call_end, call_start, delta, ids, part, start, version,
};

#[test]
fn the_usage_of_all_answers_is_known_if_there_are_several() {
    assert_eq!(Transcript::default().usage(), None);
    assert_eq!(Transcript::from(part(1..=1)).usage(), None);
    assert_eq!(Transcript::from(part(1..=2)).usage(), Some([PER_ANSWER; 2].into_iter().sum()));
    assert_eq!(Transcript::from(part(3..=3)).usage(), Some([PER_ANSWER; 3].into_iter().sum()));
    let mut uncounted = part(3..=3);
    uncounted.messages.iter_mut().for_each(|message| message.usage = None);
    assert_eq!(Transcript::from(uncounted).usage(), Some([PER_ANSWER; 2].into_iter().sum()));
}

#[test]
fn inserted_earlier_messages_do_not_change_the_usage() {
    let whole = Transcript::from(part(1..=9));
    let mut transcript = Transcript::from(part(7..=9));
    assert!(transcript.has_earlier());
    assert_eq!(transcript.usage(), whole.usage());
    transcript.prepend(MessageId(70), part(4..=6));
    assert_eq!((transcript.first(), transcript.has_earlier()), (Some(MessageId(40)), true));
    assert_eq!(transcript.usage(), whole.usage());
    // Inserting the same page again changes nothing.
    let once = transcript.clone();
    assert!(!transcript.prepend(MessageId(70), part(4..=6)));
    assert_eq!(transcript, once);
    transcript.prepend(MessageId(40), part(1..=3));
    assert_eq!(transcript, whole);
}

#[test]
fn earlier_messages_of_a_branch_that_is_no_longer_shown_are_ignored() {
    let mut transcript = Transcript::from(part(7..=9));
    // The first loaded message is being edited.
    transcript.split_off(MessageId(70));
    transcript.prepend(MessageId(70), part(4..=6));
    assert_eq!((ids(&transcript), transcript.has_earlier()), (vec![], true));
    // Its new version follows a message that is not loaded.
    fold(&mut transcript, version(Some(61), 100, 101, &[70, 100], &[]));
    transcript.prepend(MessageId(70), part(4..=6));
    assert_eq!((ids(&transcript), transcript.has_earlier()), (vec![100, 101], true));
    transcript.prepend(MessageId(100), part(4..=6));
    assert_eq!(ids(&transcript), [40, 41, 50, 51, 60, 61, 100, 101]);
    // Another version of the conversation's first message has nothing before it.
    fold(&mut transcript, version(None, 110, 111, &[10, 110], &[]));
    assert_eq!((ids(&transcript), transcript.has_earlier()), (vec![110, 111], false));
}

#[test]
fn a_refresh_keeps_the_messages_before_it() {
    let loaded = Transcript::from(part(4..=9));
    for (stored, first) in [
        (part(7..=9), 40),
        (part(7..=10), 40),
        (part(4..=9), 40),
        (part(3..=9), 30),
        // Of another branch.
        (part(10..=11), 100),
    ] {
        let mut transcript = loaded.clone();
        let MessageId(last) = stored.messages.last().unwrap().id;
        let whole = Transcript::from(part(1..=last / 10));
        transcript.refresh(stored);
        assert_eq!((transcript.first(), ids(&transcript).pop()), (Some(MessageId(first)), Some(last)));
        assert_eq!(transcript.usage(), whole.usage());
    }
}

#[test]
fn a_turn_continues_while_earlier_messages_are_inserted() {
    let events = [start(10), delta(0, "Adding. "), call_start(1000, 8), call_end(1000), delta(8, "Three.")];
    let expected = {
        let mut transcript = Transcript::from(part(4..=9));
        events.iter().cloned().for_each(|event| fold(&mut transcript, event));
        transcript
    };
    for at in 0..=events.len() {
        let mut transcript = Transcript::from(part(7..=9));
        let (before, after) = events.split_at(at);
        before.iter().cloned().for_each(|event| fold(&mut transcript, event));
        transcript.prepend(MessageId(70), part(4..=6));
        after.iter().cloned().for_each(|event| fold(&mut transcript, event));
        assert_eq!(transcript, expected, "after {at} events");
    }
}

#[test]
fn only_messages_from_the_first_change_on_count_as_changed() {
    let drawn = Transcript::from(part(1..=9));
    let mut known = drawn.clone();
    assert!(known.changed_since(&drawn).is_empty());
    fold(&mut known, start(10));
    fold(&mut known, delta(0, "One"));
    let changed = |known: &Transcript, drawn: &Transcript| -> Vec<i64> {
        known.changed_since(drawn).iter().map(|entry| entry.id.0).collect()
    };
    assert_eq!(changed(&known, &drawn), [100, 101]);
    let drawn = known.clone();
    fold(&mut known, delta(3, " more"));
    assert_eq!(changed(&known, &drawn), [101]);
}
