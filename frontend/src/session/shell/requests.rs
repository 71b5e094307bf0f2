//! Requests of a session and the streams that answer them. This code is in the WASM chunk with messages, because a new chat
//! sends no such request before the user writes.

use futures_util::{FutureExt as _, future::LocalBoxFuture};
use leptos::{
    prelude::*,
    task::spawn_local,
    wasm_split::{SplitLoaderError, wasm_split},
};
use tallybook_protocol::{Conversation, NewMessage};
use uuid::Uuid;

use super::{
    super::{
        effect::Request,
        input::{Answer, Input, Made},
        reader::Ticket,
        storage::forget_sent,
    },
    Session,
};
use crate::{
    api::{self, ApiError, EventStream},
    browser::StreamPlace,
};

/// Performs a request. Its results become inputs of the session.
#[wasm_split(messages, wasm_split_path = ::leptos::wasm_split, fallible)]
#[allow(clippy::unnecessary_wraps, reason = "the error is that the chunk could not be loaded")]
pub(super) fn perform(
    session: Session,
    ticket: Ticket,
    request: Request,
) -> Result<LocalBoxFuture<'static, ()>, SplitLoaderError> {
    Ok(session.perform(ticket, request).boxed_local())
}

impl Session {
    async fn perform(self, ticket: Ticket, request: Request) {
        let answer = |answer| self.feed(Input::Answer(ticket, answer));
        match request {
            Request::Make(message) => self.create(ticket, message).await,
            Request::Send(uuid, message) => {
                let sent = api::send_message(uuid, &message).await;
                if sent.is_ok() && self.is_gone() {
                    return forget_sent(Some(uuid), &message);
                }
                self.open(ticket, sent).await;
            }
            Request::Regenerate(uuid, id, model) => self.open(ticket, api::regenerate(uuid, id, model).await).await,
            Request::Continue(uuid) => self.open(ticket, api::continue_turn(uuid).await).await,
            Request::Decide(uuid, decisions) => match api::decide(uuid, decisions).await.transpose() {
                Some(opened) => self.open(ticket, opened).await,
                None => answer(Answer::Noted),
            },
            Request::Select(uuid, id, window) => {
                answer(Answer::Selected(api::select_message(uuid, id, window).await));
            }
            Request::Find(uuid, window) => {
                let found = match self.sent_with_page().await {
                    Some(conversation) => Ok(Some(*conversation)),
                    None => api::find_conversation(uuid, window).await,
                };
                if let (Ok(Some(found)), false) = (&found, self.is_gone()) {
                    self.models.learn(Some(uuid), found.summary.model.clone());
                }
                answer(Answer::Found(found));
            }
            Request::Join(uuid, after) => self.join(ticket, uuid, after).await,
            // `carry_out` waits for these itself.
            Request::Second | Request::CrowdedPause | Request::HiddenPause => {}
        }
    }

    /// Creates a conversation, sends its first message and subscribes to the answer. If the server refuses the message, the
    /// conversation is deleted again.
    async fn create(self, ticket: Ticket, message: NewMessage) {
        let answer = |made| self.feed(Input::Answer(ticket, Answer::Made(made)));
        let off = self.tools.chosen_for_new_chat();
        let made = match api::create_conversation(self.models.chosen_for_new_chat(), off.clone()).await {
            Ok(made) => made,
            Err(error) => return answer(Err(error)),
        };
        if self.state.try_with_value(|state| state.is_stop_wanted) == Some(true) {
            let _ = api::delete_conversation(made.uuid).await;
            return answer(Ok(Made::Stopped));
        }
        let sent = api::send_message(made.uuid, &message).await;
        if let Err(error @ ApiError::Refused { .. }) = sent {
            // If the deletion fails, the list shows an empty conversation.
            let _ = api::delete_conversation(made.uuid).await;
            return answer(Err(error));
        }
        if self.is_gone() {
            if sent.is_ok() {
                forget_sent(None, &message);
            }
            return;
        }
        self.models.learn(Some(made.uuid), made.model);
        self.tools.became(made.uuid, off);
        match sent {
            Ok(stream) => {
                answer(Ok(Made::Taken(made.uuid)));
                self.listen_if_free(ticket, stream).await;
            }
            Err(_) => answer(Ok(Made::Unknown(made.uuid))),
        }
    }

    /// Returns the conversation that the document contains, the first time that it is requested.
    async fn sent_with_page(self) -> Option<Box<Conversation>> {
        self.underway.try_update_value(|underway| underway.coming.take()).flatten()?.await.ok()
    }

    /// Returns `true` if the session's component is unmounted.
    fn is_gone(self) -> bool {
        self.state.is_disposed()
    }

    async fn join(self, ticket: Ticket, uuid: Uuid, after: Option<String>) {
        let answer = |answer| self.feed(Input::Answer(ticket, answer));
        let Some(place) = StreamPlace::take().await else { return answer(Answer::Crowded) };
        match api::join(uuid, after.as_deref()).await {
            Ok(Some(stream)) => {
                answer(Answer::Joined(Ok(true)));
                self.listen(ticket, stream, place).await;
            }
            Ok(None) => answer(Answer::Joined(Ok(false))),
            Err(error) => answer(Answer::Joined(Err(error))),
        }
    }

    async fn open(self, ticket: Ticket, opened: Result<EventStream, ApiError>) {
        match opened {
            Ok(stream) => {
                self.feed(Input::Answer(ticket, Answer::Opened(Ok(()))));
                self.listen_if_free(ticket, stream).await;
            }
            Err(error) => self.feed(Input::Answer(ticket, Answer::Opened(Err(error)))),
        }
    }

    /// Reads a stream if this browser may have another one. Otherwise closes it, to free the connection for requests. The
    /// turn continues either way.
    async fn listen_if_free(self, ticket: Ticket, stream: EventStream) {
        if let Some(place) = StreamPlace::take().await {
            return self.listen(ticket, stream, place).await;
        }
        drop(stream);
        self.feed(Input::Answer(ticket, Answer::Crowded));
    }

    /// Reads a stream until it breaks or the turn ends. `_place` counts it as one of the streams of this browser until then.
    async fn listen(self, ticket: Ticket, mut stream: EventStream, _place: StreamPlace) {
        while let Some(events) = stream.next().await {
            let is_over = events.iter().any(|(_, event)| event.is_terminal());
            let events = Input::Answer(ticket, Answer::Events(events));
            if is_over {
                // The session continues at once, while the server still has to close the stream.
                spawn_local(async move { stream.finish().await });
                return self.feed(events);
            }
            self.feed(events);
        }
        self.feed(Input::Answer(ticket, Answer::Broke));
    }
}
