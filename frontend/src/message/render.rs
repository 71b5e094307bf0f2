//! Renders a message as the element that it is on the page.

use tallybook_nodes::Element;
use tallybook_protocol::Role;

use super::{answer::answer, question::question, view::View};

/// Renders a message.
pub(crate) fn render(view: View<'_>) -> Element {
    match view.entry.role {
        Role::User => question(view),
        Role::Assistant => answer(view),
    }
}
