//! The data of a message that its components share.

use leptos::prelude::*;
use tallybook_protocol::MessageId;

use crate::{
    browser,
    components::dialogs::usage_sheet::ShownUsage,
    session::{DrawnEntry, Session},
    transcript::{Entry, ExpandAll},
};

/// Number of the newest messages that fill a window of usual height, and a high window. `message.css` has the height
/// between both.
const IN_SIGHT: usize = 8;
const IN_SIGHT_OF_HIGH: usize = 14;

/// A message signal.
pub(crate) type OptionalEntry = ReadSignal<DrawnEntry>;

/// Reads a value of a message.
pub(crate) fn read<T: Default>(entry: OptionalEntry, pick: impl Fn(&Entry) -> T) -> T {
    entry.with(|entry| entry.as_ref().map(|entry| pick(entry)).unwrap_or_default())
}

/// Lets the browser lay out a server-rendered message when it is near the view, unless it may be visible from the
/// start. Its height is unknown until the page is interactive.
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

/// The context of a message. Components take this, so that they also work without a session.
#[derive(Clone, Copy)]
pub(crate) struct ShownMessage {
    /// The message.
    pub(crate) entry: OptionalEntry,
    /// The user's last command to open or close all calls.
    pub(crate) expand_all: RwSignal<ExpandAll>,
    /// The session; `None` for read-only messages.
    pub(crate) session: Option<Session>,
}

/// The answer whose usage is shown. Provided as a context by the pane.
#[derive(Clone, Copy)]
pub(crate) struct Used(pub(crate) ShownUsage);

/// The answer that is being played back. Provided as a context by the pane.
#[derive(Clone, Copy)]
pub(crate) struct Played(pub(crate) RwSignal<Option<MessageId>>);

/// Renders the files of the question that is being edited. Provided as a context by the pane, because the code of files
/// is loaded with other parts of the page, which messages do not depend on.
#[derive(Clone, Copy)]
pub(crate) struct EditedFiles(pub(crate) Callback<Session, AnyView>);
