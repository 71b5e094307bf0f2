//! A message to be rendered, and how it is shown.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use tallybook_protocol::{ContextTruncation, MessageId, MessageStatus};

use super::clocks::Clocks;
use crate::{
    browser::LocalTime,
    language::Language,
    transcript::{Entry, ExpandAll, ItemKey, Toggles},
};

/// The user's changes to a message's view, and the actions that the page offers for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and they occur in every combination")]
pub(crate) struct Live {
    /// `true` if the message is part of an open conversation, and something can be done with it.
    pub(crate) has_actions: bool,
    /// The items that the user opened and closed.
    pub(crate) toggles: Toggles,
    /// The user's last command to open or close everything in the conversation.
    pub(crate) expand_all: ExpandAll,
    /// `true` on the server, which also writes the calls of closed groups: a browser without scripts could not open
    /// them.
    pub(crate) draws_all: bool,
    /// Groups of calls that were opened at some time, by their first item. Calls in the others are not drawn.
    pub(crate) opened_groups: BTreeSet<ItemKey>,
    /// `true` if a long question is shown in full.
    pub(crate) is_unfolded: bool,
    /// `true` while the form that edits a question is in its place.
    pub(crate) is_edited: bool,
    /// The action for an incomplete answer; `None` while a turn runs or if another message follows.
    pub(crate) recovery: Option<Recovery>,
    /// `true` while the turn is being stopped.
    pub(crate) is_stopping: bool,
    /// `true` if there is more than one model to choose from.
    pub(crate) has_models: bool,
    /// `true` if the explanation of the answer was asked for.
    pub(crate) is_explained: bool,
    /// `true` while the field for the reason of a bad rating is open.
    pub(crate) is_reason_asked: bool,
    /// `true` while the menu shows the actions of this message.
    pub(crate) is_menu_open: bool,
    /// The outcome of the last press on a copy button, for a moment.
    pub(crate) copied: Option<CopyOutcome>,
    /// The part of the conversation that the model of the newest answer received, if this is the first message in it.
    pub(crate) context: Option<ContextTruncation>,
    /// The times in the message, as its user writes them.
    pub(crate) times: Arc<Times>,
    /// When this message was first drawn, in milliseconds since 1970. It stands for the time of a message that has just
    /// been heard of.
    pub(crate) heard_ms: i64,
    /// The running parts, with their starts.
    pub(crate) clocks: Clocks,
}

/// Times as the user writes them, by milliseconds since 1970. The server does not know how its users write times, so it
/// has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// The times of messages.
    pub(crate) full: BTreeMap<i64, LocalTime>,
    /// Times of day at which calls started and ended.
    pub(crate) of_day: BTreeMap<i64, String>,
}

/// Address of the folder with the user's own files.
pub(crate) const OWN_FILES: &str = "/api/files";

/// A message to be rendered.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    /// ID from which the element IDs are made.
    pub(crate) id: MessageId,
    /// The message's content.
    pub(crate) entry: &'a Entry,
    /// Language of labels.
    pub(crate) text: Language,
    /// Address of the folder with the files of messages.
    pub(crate) files: &'a str,
    /// `None` on a page without scripts, on which calls open by themselves and nothing else can be done.
    pub(crate) live: Option<&'a Live>,
}

impl View<'_> {
    /// Returns `true` for a page without scripts. Only the server writes such pages, so the browser's program has no
    /// code for them.
    pub(super) fn is_printed(self) -> bool {
        cfg!(feature = "ssr") && self.live.is_none()
    }
}

/// The outcome of a press on a copy button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CopyOutcome {
    pub(crate) copied: Copied,
    /// `false` if the browser refused: some allow it only right after a press, and the code may have arrived later.
    pub(crate) is_done: bool,
}

/// Something that was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    /// The text of an answer.
    Answer,
    /// The text of the user's own message.
    Question,
    /// The address of a message.
    Link,
}

/// The action for an incomplete answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// Resume it where it was cut off.
    Continue,
    /// Regenerate it: it has no complete step to resume from.
    Retry,
    /// Ask for what did not fit.
    AskForRest,
}

impl Recovery {
    /// Returns what can be done about an answer; `None` if it is complete.
    pub(crate) fn of(entry: &Entry) -> Option<Self> {
        match () {
            () if entry.status == MessageStatus::Complete && entry.is_cut_short() => Some(Self::AskForRest),
            () if !entry.is_cut_off() => None,
            () if entry.calls().next().is_none() && entry.plan.is_none() => Some(Self::Retry),
            () => Some(Self::Continue),
        }
    }
}
