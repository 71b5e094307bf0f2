//! Renders messages as nodes: a pure function of what is known of a message and of how the user left it. The server writes the
//! nodes as HTML, for the page, for a shared conversation and for a playback without scripts. The browser adopts that HTML,
//! and updates only what changes.
//!
//! - `answer` and `question` are the two kinds of messages; `footer` is the line below each.
//! - `calls` has the lines of tool calls and reasoning, and how finished ones fold together; `plan` has the steps of a plan.
//! - `ending` says what an answer waits for, or how it ended.
//! - `printed` has what is in an opened call on a page without scripts.
//!
//! Some parts are slots, which other code fills: Markdown, which is drawn while it grows, and parts that are mounted when they
//! are used, such as the form that edits a message. `components::message` attaches behavior: a press is found by the attribute
//! `data-action` of what was pressed.

mod answer;
mod calls;
mod clocks;
mod ending;
mod footer;
mod html;
mod parts;
mod plan;
mod printed;
mod question;
#[cfg(all(test, feature = "ssr"))]
mod tests;

use clocks::Clock;

pub(crate) use calls::{call_details_id, reasoning_id};
pub(crate) use clocks::Clocks;
pub(crate) use ending::WayOn;
pub(crate) use footer::{ACTION_WHEN_IDLE, Copied};
pub(crate) use html::write_html;
pub(crate) use parts::{Slot, Stretches};
#[cfg(feature = "ssr")]
pub(crate) use printed::{Room, write_printed};
pub(crate) use question::is_long;
use std::collections::BTreeSet;

use tallybook_nodes::Element;
use tallybook_protocol::{ContextTruncation, MessageId, Role};

use crate::{
    goal,
    language::Language,
    transcript::{Entry, ExpandAll, ItemKey, Toggles},
};

/// What the user did with a message, and what the page offers for it now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and they occur in every combination")]
pub(crate) struct Live {
    /// `true` if the message is part of an open conversation, and something can be done with it.
    pub(crate) has_actions: bool,
    /// What the user opened and closed in the message.
    pub(crate) toggles: Toggles,
    /// The user's last command to open or close everything in the conversation.
    pub(crate) expand_all: ExpandAll,
    /// Groups of calls that were opened at some time, by their first item. Calls in the others are not drawn.
    pub(crate) opened_groups: BTreeSet<ItemKey>,
    /// `true` if a long question is shown in full.
    pub(crate) is_unfolded: bool,
    /// `true` while the form that edits a question is in its place.
    pub(crate) is_edited: bool,
    /// What can be done about an answer that is not complete; `None` while a turn runs or if another message follows.
    pub(crate) way_on: Option<WayOn>,
    /// `true` while the turn is being stopped.
    pub(crate) is_stopping: bool,
    /// `true` if there is more than one model to choose from.
    pub(crate) has_models: bool,
    /// `true` if the explanation of the answer was asked for.
    pub(crate) is_explained: bool,
    /// What was copied a moment ago.
    pub(crate) copied: Option<Copied>,
    /// What the model of the newest answer received of the conversation, if this is the first message that it received in full.
    pub(crate) context: Option<ContextTruncation>,
    /// `true` in a browser, which knows how its user writes times. The server leaves them out.
    pub(crate) has_local_time: bool,
    /// When this message was first drawn, in milliseconds since 1970. It stands for the time of a message that has just been
    /// heard of.
    pub(crate) heard_ms: i64,
    /// What runs, and since when.
    pub(crate) clocks: Clocks,
}

/// A message to be rendered.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    /// By which the elements of the message are named.
    pub(crate) id: MessageId,
    /// What is known of the message.
    pub(crate) entry: &'a Entry,
    /// Language of labels.
    pub(crate) text: Language,
    /// `None` on a page without scripts, on which calls open by themselves and nothing else can be done.
    pub(crate) live: Option<&'a Live>,
}

impl View<'_> {
    /// Returns `true` for a page without scripts. Only the server writes such pages, so the browser's program has no code for them.
    fn is_printed(self) -> bool {
        cfg!(feature = "ssr") && self.live.is_none()
    }

    /// Renders the message.
    pub(crate) fn render(self) -> Element {
        match self.entry.role {
            Role::User => question::question(self),
            Role::Assistant => answer::answer(self),
        }
    }

    /// Returns the element of the message, without content except for a notice before it.
    fn article(self) -> Element {
        let article = parts::element("article").with("class", "message");
        let Some(live) = self.live.filter(|_| !self.is_printed()) else {
            return article.with("data-role", role_name(self.entry.role));
        };
        article
            .with("id", goal::element_id(self.id))
            .with("data-role", role_name(self.entry.role))
            .with("data-status", self.entry.status.as_str())
            .with_child_if_any(live.context.as_ref().map(|context| context_notice(context, self.text)))
    }
}

/// Renders the notice that earlier messages were left out of the model's context, or summarized.
fn context_notice(context: &ContextTruncation, text: Language) -> Element {
    let Some(summary) = &context.summary else {
        return parts::paragraph("told", text.earlier_left_out()).with("data-testid", "told");
    };
    parts::element("details")
        .with("id", "told")
        .with("class", "told")
        .with("data-testid", "told")
        .with_child(parts::element("summary").with_text(text.earlier_summarized()))
        .with_child(parts::element("p").with_text(text.earlier_summary_hint()))
        .with_child(parts::element("blockquote").with("dir", "auto").with_text(summary.as_str()))
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}
