//! How much of the conversation is here: its newest messages, and those before them as the reader asks for them.

use leptos::prelude::*;
use tallybook_protocol::{Conversation, Window};
use uuid::Uuid;

use super::Session;
use crate::{
    api::{self, ApiError},
    data::MESSAGES_AT_ONCE,
    transcript::Transcript,
};

/// How it stands with the messages before those that are here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Loading {
    /// Nobody waits for them.
    Idle,
    /// They are on their way.
    Running,
    /// They could not be had, for this reason.
    Failed(String),
}

impl Session {
    /// Loads messages that come before the first one here, and calls `drawing` just before they are drawn. Does nothing
    /// when there are none, or while some are on their way.
    pub(crate) fn load_earlier(self, drawing: impl FnOnce() + 'static) {
        let first = self.known.with_value(|known| known.first().filter(|_| known.has_earlier()));
        let (Some(uuid), Some(first)) = (self.uuid.get_value(), first) else { return };
        if self.earlier.get_untracked() == Loading::Running {
            return;
        }
        self.earlier.set(Loading::Running);
        self.spawn(async move {
            let window = Window { limit: Some(MESSAGES_AT_ONCE), before: Some(first), from: None };
            match api::find_conversation(uuid, window).await {
                Ok(Some(page)) => {
                    self.known.update_value(|known| known.put_before(first, page));
                    drawing();
                    self.draw();
                    // By the next frame they are in their place, and only then there may be need of more.
                    request_animation_frame(move || {
                        self.earlier.try_set(Loading::Idle);
                    });
                }
                Ok(None) => self.earlier.set(Loading::Failed(self.text.not_found_conversation().to_owned())),
                Err(error) => self.earlier.set(Loading::Failed(error.message(self.text))),
            }
        });
    }

    /// What is here, as it is stored: what was loaded stays loaded, as long as it belongs to the branch that is shown.
    pub(super) async fn find_stored(self, uuid: Uuid) -> Result<Option<Conversation>, ApiError> {
        api::find_conversation(uuid, window_from(self.known.with_value(Transcript::first))).await
    }
}

/// The newest messages, and back to the message `from`.
pub(super) fn window_from(from: Option<i64>) -> Window {
    Window { limit: Some(MESSAGES_AT_ONCE), from, before: None }
}
