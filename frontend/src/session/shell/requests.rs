//! Requests of a session and the streams that answer them.

use std::time::Duration;

use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::{Conversation, Window};
use uuid::Uuid;

use super::{
    super::{
        connection::Ticket,
        effect::Request,
        input::{Creation, Input, Response},
        state::State,
        storage::forget_sent,
        unsent::UnsentMessage,
    },
    Session,
    tasks::Tasks,
};
use crate::{
    api::{self, ApiError, EventStream},
    browser::{self, StreamPlace},
};

/// Pauses before further attempts to delete a conversation whose first message was refused.
const DELETE_AGAIN_AFTER: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(15), Duration::from_mins(1)];

impl Session {
    /// Performs a request. Its results become inputs of the session.
    pub(super) async fn perform_request(self, ticket: Ticket, request: Request) {
        let respond = |response| self.feed(Input::Response(ticket, response));
        match request {
            Request::Create(message) => self.create(ticket, message).await,
            Request::Send(uuid, message) => {
                let sent = api::send_message(uuid, &message.to_request()).await;
                if sent.is_ok() && self.is_gone() {
                    return forget_sent(Some(uuid), &message);
                }
                self.open(ticket, sent).await;
            }
            Request::Regenerate(uuid, id, model) => self.open(ticket, api::regenerate(uuid, id, model).await).await,
            Request::Continue(uuid, model) => self.open(ticket, api::continue_turn(uuid, model).await).await,
            Request::Decide(uuid, decisions) => match api::decide(uuid, decisions).await.transpose() {
                Some(opened) => self.open(ticket, opened).await,
                None => respond(Response::DecisionsStored),
            },
            Request::Select(uuid, id, window) => {
                respond(Response::Selected(api::select_message(uuid, id, window).await));
            }
            Request::Load(uuid, window) => {
                let found = match self.sent_with_page().await {
                    Some(conversation) => Ok(Some(*conversation)),
                    None => api::find_conversation(uuid, window).await,
                };
                if let (Ok(Some(found)), false) = (&found, self.is_gone()) {
                    self.models.learn(Some(uuid), found.summary.model.clone());
                }
                respond(Response::Loaded(found));
            }
            Request::Join(uuid, after) => self.join(ticket, uuid, after).await,
            // `carry_out` waits for these itself.
            Request::Tick | Request::CrowdedPause | Request::HiddenPause => {}
        }
    }

    /// Creates a conversation, sends its first message and subscribes to the answer. If the server refuses the message,
    /// the conversation is deleted again.
    async fn create(self, ticket: Ticket, message: UnsentMessage) {
        let respond = |created| self.feed(Input::Response(ticket, Response::Created(created)));
        let off = self.tools.chosen_for_new_chat();
        let created = match api::create_conversation(self.models.chosen_for_new_chat(), off.clone()).await {
            Ok(created) => created,
            Err(error) => return respond(Err(error)),
        };
        if self.state.try_with_value(State::is_stop_wanted) == Some(true) {
            spawn_local(delete_unused(created.uuid));
            return respond(Ok(Creation::Stopped));
        }
        let sent = match api::send_message(created.uuid, &message.to_request()).await {
            Err(error) if error.is_refusal() => {
                spawn_local(delete_unused(created.uuid));
                return respond(Err(error));
            }
            sent => sent,
        };
        if self.is_gone() {
            if sent.is_ok() {
                forget_sent(None, &message);
            }
            return;
        }
        self.models.learn(Some(created.uuid), created.model);
        self.tools.became(created.uuid, off);
        match sent {
            Ok(stream) => {
                respond(Ok(Creation::Accepted(created.uuid)));
                self.listen_if_free(ticket, stream).await;
            }
            Err(_) => respond(Ok(Creation::Unknown(created.uuid))),
        }
    }

    /// Returns the conversation that the document contains, the first time that it is requested.
    async fn sent_with_page(self) -> Option<Box<Conversation>> {
        self.tasks.try_update_value(Tasks::take_initial).flatten()?.await.ok()
    }

    /// Returns `true` if the session's component is unmounted.
    fn is_gone(self) -> bool {
        self.state.is_disposed()
    }

    async fn join(self, ticket: Ticket, uuid: Uuid, after: Option<String>) {
        let respond = |response| self.feed(Input::Response(ticket, response));
        let Some(place) = StreamPlace::take().await else { return respond(Response::Crowded) };
        match api::join(uuid, after.as_deref()).await {
            Ok(Some(stream)) => {
                respond(Response::Joined(Ok(true)));
                self.listen(ticket, stream, place).await;
            }
            Ok(None) => respond(Response::Joined(Ok(false))),
            Err(error) => respond(Response::Joined(Err(error))),
        }
    }

    async fn open(self, ticket: Ticket, opened: Result<EventStream, ApiError>) {
        match opened {
            Ok(stream) => {
                self.feed(Input::Response(ticket, Response::Started(Ok(()))));
                self.listen_if_free(ticket, stream).await;
            }
            Err(error) => self.feed(Input::Response(ticket, Response::Started(Err(error)))),
        }
    }

    /// Reads a stream if this browser may have another one. Otherwise closes it, to free the connection for requests.
    /// The turn continues either way.
    async fn listen_if_free(self, ticket: Ticket, stream: EventStream) {
        if let Some(place) = StreamPlace::take().await {
            return self.listen(ticket, stream, place).await;
        }
        drop(stream);
        self.feed(Input::Response(ticket, Response::Crowded));
    }

    /// Reads a stream until it breaks or the turn ends. `_place` counts it as one of the streams of this browser until
    /// then.
    async fn listen(self, ticket: Ticket, mut stream: EventStream, _place: StreamPlace) {
        while let Some(events) = stream.next().await {
            let is_over = events.iter().any(|(_, event)| event.is_terminal());
            let events = Input::Response(ticket, Response::Events(events));
            if is_over {
                // The session continues at once, while the server still has to close the stream.
                spawn_local(async move { stream.finish().await });
                return self.feed(events);
            }
            self.feed(events);
        }
        self.feed(Input::Response(ticket, Response::Interrupted));
    }
}

/// Deletes a conversation that has no message. Repeats that while the server cannot be reached or has trouble: otherwise,
/// the list would keep a conversation that the user did not mean to create. Keeps it if the user has written in it
/// meanwhile.
async fn delete_unused(uuid: Uuid) {
    let mut pauses = DELETE_AGAIN_AFTER.into_iter();
    while api::delete_conversation(uuid).await.is_err_and(|error| error.may_succeed_later()) {
        let Some(pause) = pauses.next() else { return };
        browser::sleep(pause).await;
        let found = api::find_conversation(uuid, Window::default()).await;
        if found.is_ok_and(|found| found.is_none_or(|found| !found.messages.is_empty())) {
            return;
        }
    }
}
