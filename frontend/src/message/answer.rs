//! An answer: Markdown with tool calls and reasoning between, the plan, how it ended, and the line of actions.

use tallybook_nodes::Element;

use super::{
    ending, footer,
    parts::{Slot, article, element, paragraph, slot},
    pieces::piece,
    plan,
    view::View,
};
use crate::transcript::Segment;

/// Renders an answer.
pub(super) fn answer(view: View<'_>) -> Element {
    let (entry, text) = (view.entry, view.text);
    let message = article(view).with_child(element("h2").with("class", "visually-hidden").with_text(text.answer()));
    let lacks_plan =
        entry.lacks_plan().then(|| paragraph("note", text.plan_unavailable()).with("data-testid", "plan-lacking"));
    let mut message = message.with_child_if_any(lacks_plan);
    for segment in entry.segments() {
        match segment {
            Segment::Plan => message.children.extend(plan::plan(view)),
            segment => message.children.extend(piece(view, &segment)),
        }
    }
    if view.is_printed() {
        let cut_off = entry.is_cut_off().then(|| paragraph("note", text.shared_cut_off()));
        return message.with_child_if_any(cut_off);
    }
    let Some(live) = view.live else { return message };
    message
        .with_child_if_any(ending::ending(view))
        .with_child_if_any(live.recovery.map(|recovery| ending::recovery_button(recovery, text)))
        .with_child(footer::of_answer(view, live))
        .with_child_if_any(live.is_reason_asked.then(|| slot(view, Slot::Reason)))
        .with_child_if_any(live.is_explained.then(|| slot(view, Slot::Explanation)))
}
