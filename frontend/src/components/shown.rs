//! What a message's components read, and what can be done with it.

use leptos::prelude::*;
use tallybook_protocol::MessageId;

use crate::{
    browser,
    components::usage_sheet::ShownUsage,
    session::{DrawnEntry, Session},
    transcript::{Entry, ExpandAll},
};

/// So many of the newest messages fill a window of usual height, and so many a high one, however short they are. Where the one ends
/// stands in `message.css`.
const IN_SIGHT: usize = 8;
const IN_SIGHT_OF_HIGH: usize = 14;

/// A message, as it changes.
pub(crate) type OptionalEntry = ReadSignal<DrawnEntry>;

/// Reads something of a message.
pub(crate) fn read<T: Default>(entry: OptionalEntry, pick: impl Fn(&Entry) -> T) -> T {
    entry.with(|entry| entry.as_ref().map(|entry| pick(entry)).unwrap_or_default())
}

/// Has browsers lay out what the server drew of a message when it comes near, unless it may be in sight from the beginning: until it
/// is alive nobody knows its height.
pub(crate) fn drawn_when_near(id: MessageId, session: Option<Session>) -> Option<&'static str> {
    let session = session.filter(|_| !browser::IS_HERE)?;
    let newer = session
        .transcript
        .with_untracked(|shown| shown.entries().iter().rev().take(IN_SIGHT_OF_HIGH).position(|near| near.id == id));
    match newer {
        Some(0..IN_SIGHT) => None,
        Some(_) => Some("out-of-usual-sight"),
        None => Some(""),
    }
}

/// What a message is shown with. Its components take this, so that a transcript can be read without a session.
#[derive(Clone, Copy)]
pub(crate) struct Shown {
    /// The message, as it changes.
    pub(crate) entry: OptionalEntry,
    /// The reader's last command to open or close everything.
    pub(crate) expand_all: RwSignal<ExpandAll>,
    /// What can be done with it; nothing where it can only be read.
    pub(crate) session: Option<Session>,
}

/// Whose usage is looked at, for all below the pane that shows it.
#[derive(Clone, Copy)]
pub(crate) struct Used(pub(crate) ShownUsage);

/// The answer that is being played again, for all below the pane that shows it.
#[derive(Clone, Copy)]
pub(crate) struct Played(pub(crate) RwSignal<Option<MessageId>>);
