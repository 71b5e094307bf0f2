//! The end of an answer: the reason why it waits, or why it ended early, and the button that continues it.

use std::borrow::Cow;

use tallybook_nodes::Element;
use tallybook_protocol::{MessageStatus, PlanStepId};

use super::{
    clocks::{Clock, Clocks, is_silent},
    parts::{element, paragraph, span, spinner},
    view::{Recovery, View},
};
use crate::{
    format,
    language::Language,
    transcript::{Entry, Segment, Tally},
    waiting::Waiting,
};

/// After this many seconds of waiting, the page says how many.
const COUNT_AFTER_SECS: u64 = 3;
/// After this many seconds, the page says that the wait is long.
pub(crate) const LONG_WAIT_SECS: u64 = 9;

/// Renders the button for what can be done.
pub(super) fn recovery_button(recovery: Recovery, text: Language) -> Element {
    let (name, label) = match recovery {
        Recovery::Continue => ("continue", text.continue_answer()),
        Recovery::Retry => ("retry", text.try_again()),
        Recovery::AskForRest => ("ask-for-rest", text.ask_for_rest()),
    };
    element("button")
        .with("type", "button")
        .with("class", "button small recovery-action")
        .with("data-testid", name)
        .with("data-action", name)
        .with_text(label)
}

/// Renders what is below the text; `None` for an answer that simply ended, or is being written.
pub(super) fn ending(view: View<'_>) -> Option<Element> {
    let (entry, text) = (view.entry, view.text);
    match entry.status {
        // A step that is worked on shows it.
        MessageStatus::Streaming if entry.step_at_work().is_none() && is_silent(entry, &entry.segments()) => {
            Some(silence(view, None))
        }
        MessageStatus::Stopped => Some(paragraph("note", text.stopped(Tally::of(entry)))),
        MessageStatus::Interrupted if entry.error.is_none() => Some(paragraph("note", text.interrupted())),
        MessageStatus::Interrupted | MessageStatus::Failed => Some(failure(entry, text)),
        MessageStatus::Complete => note(entry, text).map(|note| paragraph("note", note)),
        MessageStatus::Streaming | MessageStatus::AwaitingApproval | MessageStatus::Unknown => None,
    }
}

/// Renders what an answer waits for while nothing of it comes, and for how long.
pub(super) fn silence(view: View<'_>, step: Option<PlanStepId>) -> Element {
    let text = view.text;
    let waiting = Waiting::of(view.entry.activity.as_ref());
    let clocks = view.live.map(|live| &live.clocks);
    let passed = clocks.map_or(0, |clocks| clocks.seconds(Clock::Silence(step)));
    // Apart from what is announced: a count that is read out every second would be no help.
    let count = match &waiting {
        Waiting::Provider { seconds, attempt, attempts, .. } => {
            let waited = clocks.map_or(0, Clocks::waiting_seconds);
            Some(text.retrying(seconds.saturating_sub(waited), *attempt, *attempts))
        }
        Waiting::Call { bytes, .. } => Some(format::size(text, *bytes)),
        Waiting::Model => (passed >= COUNT_AFTER_SECS).then(|| text.waited(passed)),
    };
    let words = text.waiting(&waiting, passed >= LONG_WAIT_SECS);
    paragraph("thinking", "")
        .with_child(spinner())
        .with_child(element("span").with("role", "status").with_text(words))
        .with_child(span("thinking-seconds", count.unwrap_or_default()))
}

/// Returns what the user must know of an answer that ended but may not be as it should be.
fn note(entry: &Entry, text: Language) -> Option<Cow<'static, str>> {
    match entry.stop_reason.as_deref() {
        Some("refusal") => Some(text.model_refused().into()),
        Some("max_tokens") => Some(text.length_limit().into()),
        Some("step_limit") => Some(text.step_limit().into()),
        Some("client_calls") => Some(text.client_tool_calls().into()),
        Some(reason) if entry.is_cut_short() => Some(text.cut_off_because(reason).into()),
        // What was said before its calls is not an answer.
        _ => match entry.segments().last() {
            Some(Segment::Text(_)) => None,
            Some(Segment::Items(_) | Segment::Plan) | None => Some(text.no_output().into()),
        },
    }
}

fn failure(entry: &Entry, text: Language) -> Element {
    let said = entry.error.clone().filter(|error| !error.is_empty());
    let failure = element("div").with("class", "failure").with("role", "alert");
    match entry.error_code.as_deref().and_then(|code| text.turn_error(code)) {
        // The server's own words, in English, are a detail of the page's.
        Some(words) => failure
            .with_child(element("p").with_text(words))
            .with_child_if_any(said.map(|said| paragraph("failure-detail", said).with("lang", "en"))),
        None => failure.with_child(element("p").with_text(said.unwrap_or_else(|| text.failed().to_owned()))),
    }
}
