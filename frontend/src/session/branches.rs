//! Writing an answer anew, changing a question in its place, and going from one version to another.

use std::sync::Arc;

use leptos::{prelude::*, task::tick};
use tallybook_protocol::MessageId;

use super::{Phase, Session, earlier::window_from};
use crate::{
    api::{self, ApiError},
    browser,
    conversation_list::Heard,
    transcript::{Entry, Transcript},
};

/// A message of one's own that is being changed in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edited {
    pub(crate) id: MessageId,
    /// What the field begins with.
    pub(crate) text: String,
}

/// Which way from one version to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Older,
    Newer,
}

impl Step {
    /// The version that this leads to.
    pub(crate) fn from(self, at: usize, siblings: &[MessageId]) -> Option<MessageId> {
        let to = match self {
            Self::Older => at.checked_sub(1)?,
            Self::Newer => at + 1,
        };
        siblings.get(to).copied()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Older => "older-version",
            Self::Newer => "newer-version",
        }
    }

    /// What the page calls the button that leads from the version `id`.
    pub(crate) fn button(self, id: MessageId) -> String {
        format!("{}-{id}", self.name())
    }

    fn back(self) -> Self {
        match self {
            Self::Older => Self::Newer,
            Self::Newer => Self::Older,
        }
    }
}

impl Session {
    /// Whether a message is being changed in its place.
    pub(crate) fn is_edited(&self, id: MessageId) -> bool {
        self.edited.with(|edited| edited.as_ref().is_some_and(|edited| edited.id == id))
    }

    /// Sends `content` as another version of a message. Does nothing while a turn runs, or when there is no text in it.
    pub(crate) fn edit(self, id: MessageId, content: &str) {
        self.post(content, Some(id));
    }

    /// Has an answer written anew.
    pub(crate) fn regenerate(self, id: MessageId) {
        let Some(uuid) = self.at_rest() else { return };
        let cut = self.split_off(id);
        self.begins.set_value(true);
        self.phase.set(Phase::Following);
        self.notice.set(None);
        self.spawn_reading(async move {
            match api::regenerate(uuid, id).await {
                Ok(stream) => self.follow(uuid, Some(stream)).await,
                Err(error) => self.restore(cut, &error),
            }
        });
    }

    /// Shows the version that comes before or after the message `id` among `siblings`.
    pub(crate) fn step(self, id: MessageId, siblings: &[MessageId], step: Step) {
        let Some(at) = siblings.iter().position(|sibling| *sibling == id) else { return };
        let Some(wanted) = step.from(at, siblings) else { return };
        let Some(uuid) = self.at_rest() else { return };
        self.notice.set(None);
        // What is above the version stays, and the version itself is to be seen, however much comes after it.
        let first = self.known.with_value(Transcript::first).filter(|first| *first != id).unwrap_or(wanted);
        let window = window_from(Some(first));
        self.spawn(async move {
            let selected = api::select_message(uuid, wanted, window).await;
            if self.phase.get_untracked() != Phase::Idle {
                // A turn began meanwhile, and what is shown now is its branch.
                return;
            }
            match selected {
                Ok(conversation) => {
                    self.known.update_value(|known| known.refresh(conversation));
                    self.draw();
                    // The button that was pressed is gone; the next key should find its like, and so should the eye: after
                    // whatever follows the newest text has had its turn in this frame.
                    tick().await;
                    request_animation_frame(move || {
                        if !browser::focus(&step.button(wanted)) {
                            browser::focus(&step.back().button(wanted));
                        }
                    });
                }
                Err(error) => {
                    self.notice.set(Some(error.message(self.text)));
                    self.catch_up_after(&error);
                }
            }
        });
    }

    /// Takes out a message and what follows, since another version comes in its place, and returns them.
    pub(super) fn split_off(self, id: MessageId) -> Vec<Arc<Entry>> {
        let cut = self.known.try_update_value(|known| known.split_off(id)).unwrap_or_default();
        self.draw();
        cut
    }

    /// Nothing came of what was asked for: what was there is there again.
    pub(super) fn restore(self, cut: Vec<Arc<Entry>>, error: &ApiError) {
        self.known.update_value(|known| known.restore(cut));
        self.draw();
        self.rest(Some(error.message(self.text)));
        self.catch_up_after(error);
    }

    /// Another tab was quicker, and its turn is to be seen here too.
    pub(super) fn catch_up_after(self, error: &ApiError) {
        if matches!(error, ApiError::Refused { status: 409, .. }) {
            self.hear(Heard::Missed);
        }
    }
}
