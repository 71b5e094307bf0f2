//! How much of the conversation is here: its newest messages, and those before them as the reader asks for them.

use std::time::Duration;

use leptos::prelude::*;
use tallybook_protocol::{Conversation, Earlier, MessageId, Window};
use uuid::Uuid;

use super::{Loading, Session};
use crate::{
    api::{self, ApiError},
    browser,
    data::MESSAGES_AT_ONCE,
    transcript::Transcript,
};

/// So many earlier messages are drawn in one frame, so that none takes long.
const DRAWN_AT_ONCE: usize = 5;

impl Session {
    /// Loads messages that come before the first one here, and calls `drawing` each time just before some of them are
    /// drawn. Does nothing when there are none, or while some are on their way.
    pub(crate) fn load_earlier(self, drawing: impl Fn() + 'static) {
        let first = self.known.with_value(|known| known.first().filter(|_| known.has_earlier()));
        let (Some(uuid), Some(first)) = (self.uuid.get_value(), first) else { return };
        if self.earlier.get_untracked() == Loading::Running {
            return;
        }
        self.earlier.set(Loading::Running);
        self.spawn(async move {
            let window = Window { limit: Some(MESSAGES_AT_ONCE), before: Some(first), from: None };
            let loading = match api::find_conversation(uuid, window).await {
                Ok(Some(page)) => {
                    self.prepend(first, page, drawing).await;
                    Loading::Idle
                }
                Ok(None) => Loading::Failed(self.text.not_found_conversation().to_owned()),
                Err(error) => Loading::Failed(error.message(self.text)),
            };
            self.earlier.set(loading);
        });
    }

    /// Shows what leads up to the message `first`, some of it in each frame. When this returns all of it is in its place,
    /// and only then there may be need of more.
    async fn prepend(self, mut first: MessageId, mut page: Conversation, drawing: impl Fn()) {
        loop {
            let part = take_newest(&mut page, DRAWN_AT_ONCE);
            let before = part.messages.first().map_or(first, |message| message.id);
            if self.known.try_update_value(|known| known.prepend(first, part)) != Some(true) {
                return;
            }
            drawing();
            self.draw();
            browser::next_frame().await;
            // What comes in within a frame would be seen before it is put in its place in the next.
            browser::sleep(Duration::ZERO).await;
            if page.messages.is_empty() {
                return;
            }
            first = before;
        }
    }

    /// What is here, as it is stored: what was loaded stays loaded, as long as it belongs to the branch that is shown.
    pub(super) async fn find_stored(self, uuid: Uuid) -> Result<Option<Conversation>, ApiError> {
        api::find_conversation(uuid, window_from(self.known.with_value(Transcript::first))).await
    }
}

/// The newest messages of `page`, which keeps what comes before them.
fn take_newest(page: &mut Conversation, count: usize) -> Conversation {
    let messages = page.messages.split_off(page.messages.len().saturating_sub(count));
    let left = page.messages.iter();
    let earlier = Earlier {
        count: page.earlier.map_or(0, |earlier| earlier.count) + i64::try_from(left.len()).unwrap_or(i64::MAX),
        usage: left.filter_map(|message| message.usage).chain(page.earlier.map(|earlier| earlier.usage)).sum(),
    };
    let earlier = Some(earlier).filter(|earlier| earlier.count > 0);
    Conversation { summary: page.summary.clone(), messages, earlier, active_message_id: page.active_message_id }
}

/// The newest messages, and back to the message `from`.
pub(super) fn window_from(from: Option<MessageId>) -> Window {
    Window { limit: Some(MESSAGES_AT_ONCE), from, before: None }
}
