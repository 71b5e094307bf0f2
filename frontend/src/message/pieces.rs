//! The pieces of an answer, or of a step of its plan: Markdown, and tool calls and reasoning between.

use tallybook_nodes::Node;

use super::{calls, parts::prose, view::View};
use crate::transcript::Segment;

/// Renders a piece of an answer, or of a step of its plan.
pub(super) fn piece(view: View<'_>, piece: &Segment) -> Option<Node> {
    match piece {
        Segment::Text(range) => Some(prose(view, range).into()),
        Segment::Items(keys) => Some(calls::item_run(view, keys).into()),
        // Its steps have pieces of their own.
        Segment::Plan => None,
    }
}
