//! Folding what is decided of a call before it runs: that somebody is asked, what was decided, what reviewing models say.

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

pub(super) fn decided(transcript: &mut Transcript, told: ApprovalDecided) {
    let is_news = |call: &Arc<Call>| call.awaits_decision() || call.decided.is_none();
    if !transcript.find_call(told.tool_call_id).is_some_and(is_news) {
        return;
    }
    transcript.change_call(told.tool_call_id, |call| {
        if call.awaits_decision() {
            call.status = match told.decision {
                Decision::Approve => ToolCallStatus::Pending,
                Decision::Deny => ToolCallStatus::Denied,
            };
        }
        if let Some(input) = &told.input {
            call.take_input(CallText::input(input, None));
        }
        call.decided = Some(Decided { by: told.decided_by, reason: told.reason });
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
