//! An answer: Markdown with tool calls and reasoning between, the plan, how it ended, and the line of actions.

use tallybook_nodes::{Element, Node};

use super::{
    Slot, View, calls, ending, footer,
    parts::{element, paragraph, prose, slot},
    plan,
};
use crate::transcript::Segment;

/// Renders an answer.
pub(super) fn answer(view: View<'_>) -> Element {
    let (entry, text) = (view.entry, view.text);
    let article = view.article().with_child(element("h2").with("class", "visually-hidden").with_text(text.answer()));
    let lacks_plan =
        entry.lacks_plan().then(|| paragraph("note", text.plan_unavailable()).with("data-testid", "plan-lacking"));
    let mut article = article.with_child_if_any(lacks_plan);
    for segment in entry.segments() {
        match segment {
            Segment::Plan => article.children.extend(plan::plan(view)),
            segment => article.children.extend(piece(view, &segment)),
        }
    }
    if view.is_printed() {
        let cut_off = entry.is_cut_off().then(|| paragraph("note", text.shared_cut_off()));
        return article.with_child_if_any(cut_off);
    }
    let Some(live) = view.live else { return article };
    article
        .with_child_if_any(ending::ending(view))
        .with_child_if_any(live.way_on.map(|way_on| ending::way_on_button(way_on, text)))
        .with_child(footer::of_answer(view, live))
        .with_child_if_any(live.is_explained.then(|| slot(view, Slot::Explanation)))
}

/// Renders a piece of an answer, or of a step of its plan.
pub(super) fn piece(view: View<'_>, piece: &Segment) -> Option<Node> {
    match piece {
        Segment::Text(range) => Some(prose(view, range).into()),
        Segment::Items(keys) => Some(calls::item_run(view, keys).into()),
        // Its steps have pieces of their own.
        Segment::Plan => None,
    }
}
