//! Applies approval events to a transcript: requests, votes of reviewing models, and decisions.

use std::sync::Arc;

use tallybook_protocol::{ApprovalDecided, ApprovalRequested, Decision, ToolCallReview, ToolCallStatus};

use super::{Call, CallText, Decided, Item, Transcript};

pub(super) fn requested(transcript: &mut Transcript, asked: ApprovalRequested) {
    if transcript.find_call(asked.tool_call_id).is_some() {
        asked.reviews.into_iter().for_each(|review| reviewed(transcript, review));
    } else if let Some(entry) = transcript.streaming_target() {
        entry.items.push(Item::Call(Arc::new(asked.into())));
    }
}

pub(super) fn decided(transcript: &mut Transcript, event: ApprovalDecided) {
    let (id, input) = (event.tool_call_id, event.input.clone());
    let decided = Decided::from(event);
    let is_news = |call: &Arc<Call>| {
        call.awaits_decision() || call.decided.as_ref().is_none_or(|known| known.lacks_reason_of(&decided))
    };
    if !transcript.find_call(id).is_some_and(is_news) {
        return;
    }
    transcript.change_call(id, |call| {
        if call.awaits_decision() {
            call.status = match decided.decision {
                Decision::Approve => ToolCallStatus::Pending,
                Decision::Deny => ToolCallStatus::Denied,
            };
        }
        if let Some(input) = &input {
            call.take_input(CallText::input(input, None));
        }
        call.decided = Some(decided);
    });
}

pub(super) fn reviewed(transcript: &mut Transcript, review: ToolCallReview) {
    let is_known = |call: &Arc<Call>| call.reviews.contains(&review);
    if transcript.find_call(review.tool_call_id).is_none_or(is_known) {
        return;
    }
    transcript.change_call(review.tool_call_id, |call| {
        match call.reviews.iter_mut().find(|held| held.model == review.model) {
            Some(held) => *held = review,
            None => call.reviews.push(review),
        }
    });
}
