//! Messages before those that were opened first, and what all cost together.

use tallybook_protocol::MessageId;

use super::{
    super::{Transcript, fold},
    PER_ANSWER, call_end, call_start, delta, ids, part, start, version,
};

#[test]
fn the_total_usage_needs_more_than_one_answer() {
    assert_eq!(Transcript::default().usage(), None);
    assert_eq!(Transcript::from(part(1..=1)).usage(), None);
    assert_eq!(Transcript::from(part(1..=2)).usage(), Some([PER_ANSWER; 2].into_iter().sum()));
    assert_eq!(Transcript::from(part(3..=3)).usage(), Some([PER_ANSWER; 3].into_iter().sum()));
    let mut uncounted = part(3..=3);
    uncounted.messages.iter_mut().for_each(|message| message.usage = None);
    assert_eq!(Transcript::from(uncounted).usage(), Some([PER_ANSWER; 2].into_iter().sum()));
}

#[test]
fn earlier_messages_come_in_front_and_the_cost_of_all_stays_the_same() {
    let whole = Transcript::from(part(1..=9));
    let mut transcript = Transcript::from(part(7..=9));
    assert!(transcript.has_earlier());
    assert_eq!(transcript.usage(), whole.usage());
    transcript.prepend(MessageId(70), part(4..=6));
    assert_eq!((transcript.first(), transcript.has_earlier()), (Some(MessageId(40)), true));
    assert_eq!(transcript.usage(), whole.usage());
    // Heard again, it changes nothing.
    let once = transcript.clone();
    assert!(!transcript.prepend(MessageId(70), part(4..=6)));
    assert_eq!(transcript, once);
    transcript.prepend(MessageId(40), part(1..=3));
    assert_eq!(transcript, whole);
}

#[test]
fn earlier_messages_of_what_is_shown_no_more_stay_out() {
    let mut transcript = Transcript::from(part(7..=9));
    // The first message that is here is being changed.
    transcript.split_off(MessageId(70));
    transcript.prepend(MessageId(70), part(4..=6));
    assert_eq!((ids(&transcript), transcript.has_earlier()), (vec![], true));
    // Its new version stands after what is not here.
    fold(&mut transcript, version(Some(61), 100, 101, &[70, 100], &[]));
    transcript.prepend(MessageId(70), part(4..=6));
    assert_eq!((ids(&transcript), transcript.has_earlier()), (vec![100, 101], true));
    transcript.prepend(MessageId(100), part(4..=6));
    assert_eq!(ids(&transcript), [40, 41, 50, 51, 60, 61, 100, 101]);
    // Another beginning of the whole conversation has nothing before it.
    fold(&mut transcript, version(None, 110, 111, &[10, 110], &[]));
    assert_eq!((ids(&transcript), transcript.has_earlier()), (vec![110, 111], false));
}

#[test]
fn a_refresh_keeps_earlier_messages() {
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
fn a_turn_continues_while_earlier_messages_arrive() {
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
fn what_changed_is_found_without_looking_at_the_rest() {
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
