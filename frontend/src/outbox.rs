//! Sends the queued messages of conversations that the user left while an answer was being written, as long as the
//! page is open. For the open conversation, its session sends them (`session`). Each message has a client-generated
//! ID, so the server stores it once, however often it is sent.

use std::time::Duration;

use futures_channel::oneshot;
use futures_util::{
    FutureExt as _,
    future::{AbortHandle, LocalBoxFuture},
};
use leptos::{
    prelude::*,
    wasm_split::{SplitLoaderError, wasm_split},
};
use tallybook_protocol::{FeedKind, Window};
use uuid::Uuid;

use crate::{
    api::{self, ApiError},
    browser,
    feed::{Feed, News},
    session::{Due, Queue, UnsentMessage, keep_queue, kept_queue},
    task::spawn,
};

/// Maximum number of conversations that are attended to. In others, the messages wait until the conversation is
/// opened.
const MAX_ATTENDED: usize = 10;
/// Interval at which a conversation is polled while no feed reports its events, as in a hidden tab.
const POLL_INTERVAL: Duration = Duration::from_secs(10);
/// The newest messages of a conversation, which show how its last answer ended.
const NEWEST: Window = Window { limit: Some(2), before: None, from: None };

/// The conversations that the user left with queued messages.
#[derive(Clone, Copy)]
pub(crate) struct Outbox {
    attended: StoredValue<Vec<Attended>>,
}

/// The task that sends the queued messages of a conversation.
struct Attended {
    conversation: Uuid,
    task: AbortHandle,
    /// Ends the pause before the next poll.
    wake: Option<oneshot::Sender<()>>,
}

impl Outbox {
    /// Creates an outbox. `feed` reports the ends of turns.
    pub(crate) fn new(feed: Feed) -> Self {
        let outbox = Self { attended: StoredValue::default() };
        feed.subscribe(move |news| match news {
            News::Missed => outbox.wake(|_| true),
            News::Event(event) if event.kind == FeedKind::TurnEnded => {
                outbox.wake(|conversation| conversation == event.conversation_id);
            }
            News::Event(_) => {}
        });
        on_cleanup(move || {
            outbox.attended.try_update_value(|attended| attended.drain(..).for_each(|left| left.task.abort()));
        });
        outbox
    }

    /// Starts to send the queued messages of a conversation that the user leaves.
    pub(crate) fn attend(self, conversation: Uuid) {
        self.release(Some(conversation));
        let has_room = self.attended.try_with_value(|attended| attended.len() < MAX_ATTENDED);
        if has_room != Some(true) {
            return;
        }
        let task = spawn(async move {
            if let Ok(work) = work(self, conversation).await {
                work.await;
            }
            self.attended.try_update_value(|attended| attended.retain(|held| held.conversation != conversation));
        });
        self.attended.update_value(|attended| attended.push(Attended { conversation, task, wake: None }));
    }

    /// Stops sending for a conversation, because the session that opens it takes its queue.
    pub(crate) fn release(self, conversation: Option<Uuid>) {
        self.attended.try_update_value(|attended| {
            for held in attended.extract_if(.., |held| Some(held.conversation) == conversation) {
                held.task.abort();
            }
        });
    }

    fn wake(self, is_meant: impl Fn(Uuid) -> bool) {
        self.attended.try_update_value(|attended| {
            for held in attended.iter_mut().filter(|held| is_meant(held.conversation)) {
                // If the task is not in a pause, its next poll is after the event anyway.
                if let Some(wake) = held.wake.take() {
                    let _ = wake.send(());
                }
            }
        });
    }

    async fn work(self, conversation: Uuid) {
        loop {
            let woken = self.pause(conversation);
            let queue = kept_queue(conversation);
            let due = match api::find_conversation(conversation, NEWEST).await {
                Ok(Some(found)) => queue.due(&found),
                Err(ApiError::Unreachable) => Due::Wait,
                Ok(None) | Err(_) => Due::End,
            };
            match due {
                Due::Send(message) => match api::send_message(conversation, &message.to_request()).await {
                    Ok(_) => {
                        forget(conversation, &message);
                        continue;
                    }
                    // Another tab was faster, or the server cannot be reached.
                    Err(ApiError::Unreachable | ApiError::Refused { status: 409, .. }) => {}
                    Err(_) => return,
                },
                Due::Wait => {}
                Due::Hold => return keep_queue(conversation, &Queue { is_held: true, ..queue }),
                Due::End => return,
            }
            browser::within(POLL_INTERVAL, woken).await;
        }
    }

    /// Returns a future that completes as soon as the feed reports the conversation.
    fn pause(self, conversation: Uuid) -> oneshot::Receiver<()> {
        let (wake, woken) = oneshot::channel();
        self.attended.try_update_value(|attended| {
            if let Some(held) = attended.iter_mut().find(|held| held.conversation == conversation) {
                held.wake = Some(wake);
            }
        });
        woken
    }
}

/// Sends the queued messages of a conversation. The code is in the chunk with messages, which any visit that queues a
/// message has loaded.
#[wasm_split(messages, wasm_split_path = ::leptos::wasm_split, fallible)]
#[allow(clippy::unnecessary_wraps, reason = "the error is that the chunk could not be loaded")]
fn work(outbox: Outbox, conversation: Uuid) -> Result<LocalBoxFuture<'static, ()>, SplitLoaderError> {
    Ok(outbox.work(conversation).boxed_local())
}

/// Removes a message that has arrived from the queue.
fn forget(conversation: Uuid, message: &UnsentMessage) {
    let mut queue = kept_queue(conversation);
    if let Some(id) = &message.client_message_id {
        queue.remove(id);
    }
    keep_queue(conversation, &Queue { is_sending: false, ..queue });
}
