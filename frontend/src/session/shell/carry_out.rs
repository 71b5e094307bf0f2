//! Carrying out what a session decides: requests, the streams that answer them, what is drawn, and where the focus goes.
//! What is decided, and what is kept of it, is elsewhere.

use std::time::Duration;

use leptos::{
    prelude::*,
    task::{spawn_local, tick},
};
use tallybook_protocol::{Conversation, MessageId, NewMessage, Window};
use uuid::Uuid;

use super::{
    super::{
        effect::{Effect, Request},
        input::{Answer, Input, Made},
        reader::Ticket,
        shown::Step,
        storage::{forget_sent, kept_draft},
    },
    Session,
};
use crate::{
    api::{self, ApiError, EventStream},
    browser::{self, StreamPlace},
    data::MESSAGES_AT_ONCE,
    in_turn::in_next_frame,
    scroll,
    task::spawn,
};

/// How often a hidden tab looks whether the turn that it follows is over.
const HIDDEN_PAUSE: Duration = Duration::from_secs(10);
/// Interval at which a turn is polled while the tabs of this browser hold as many streams as they may.
const CROWDED_PAUSE: Duration = Duration::from_secs(2);

impl Session {
    /// Does it.
    pub(super) fn carry_out(self, effect: Effect) {
        match effect {
            Effect::Read(ticket, request) => {
                self.let_go();
                let reading = spawn(self.wait_for(ticket, request));
                self.underway.update_value(|underway| underway.reading = Some(reading));
            }
            Effect::LetGo => self.let_go(),
            Effect::Stop(ticket, uuid) => {
                self.spawn(async move { self.feed(Input::Stopped(ticket, api::stop(uuid).await)) });
            }
            Effect::LoadEarlier(ticket, uuid, first, from) => {
                self.spawn(async move {
                    let window = Window { limit: Some(MESSAGES_AT_ONCE), before: Some(first), from };
                    let page = api::find_conversation(uuid, window).await;
                    self.feed(Input::Earlier(ticket, first, Box::new(page)));
                });
            }
            Effect::DrawEarlier(ticket) => {
                scroll::keep_place();
                self.spawn(async move {
                    self.drawing.draw_earlier().await;
                    browser::next_frame().await;
                    // What comes in within a frame would be seen before it is put in its place in the next.
                    browser::sleep(Duration::ZERO).await;
                    self.feed(Input::Drawn(ticket));
                });
            }
            Effect::LoadCall(id) => {
                self.spawn(async move { self.feed(Input::Call(id, Box::new(api::find_tool_call(id).await))) });
            }
            Effect::Draw => self.drawing.draw(),
            Effect::DrawSoon => self.drawing.draw_soon(),
            Effect::Became(uuid) => self.ways.became.run(uuid),
            Effect::OpenNewChat => self.ways.open_new_chat.run(()),
            Effect::AdoptDraft => self.feed(Input::Adopted(kept_draft(None))),
            Effect::Reveal(goal) => self.revealed.set(Some(goal)),
            Effect::FocusVersion(wanted, step) => {
                self.spawn(focus_version(wanted, step));
            }
        }
    }

    async fn wait_for(self, ticket: Ticket, request: Request) {
        let answer = |answer| self.feed(Input::Answer(ticket, answer));
        match request {
            Request::Make(message) => self.make(ticket, message).await,
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
            Request::Second => {
                browser::sleep(Duration::from_secs(1)).await;
                answer(Answer::Second);
            }
            Request::CrowdedPause => {
                browser::sleep(CROWDED_PAUSE).await;
                answer(Answer::Second);
            }
            Request::HiddenPause => {
                browser::sleep(HIDDEN_PAUSE).await;
                answer(Answer::Second);
            }
        }
    }

    /// Makes a conversation, sends its first message and follows the answer. If the message is refused, nothing is left of the
    /// conversation.
    async fn make(self, ticket: Ticket, message: NewMessage) {
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
            // What is not deleted now is an empty conversation, which the list shows.
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

    /// The conversation that came with the page, the first time that it is asked for.
    async fn sent_with_page(self) -> Option<Box<Conversation>> {
        self.underway.try_update_value(|underway| underway.coming.take()).flatten()?.await.ok()
    }

    /// Whether its component has gone away.
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

    /// Reads a stream if this browser may have another one; else closes it, so that the connection is free for requests. The turn
    /// continues either way.
    async fn listen_if_free(self, ticket: Ticket, stream: EventStream) {
        if let Some(place) = StreamPlace::take().await {
            return self.listen(ticket, stream, place).await;
        }
        drop(stream);
        self.feed(Input::Answer(ticket, Answer::Crowded));
    }

    /// Reads a stream until it breaks off or the turn is over. It holds its place among the streams of this browser until then.
    async fn listen(self, ticket: Ticket, mut stream: EventStream, _place: StreamPlace) {
        while let Some(events) = stream.next().await {
            let is_over = events.iter().any(|(_, event)| event.is_terminal());
            let events = Input::Answer(ticket, Answer::Events(events));
            if is_over {
                // What follows may be waited for at once, and the stream is still to be closed by the server.
                spawn_local(async move { stream.finish().await });
                return self.feed(events);
            }
            self.feed(events);
        }
        self.feed(Input::Answer(ticket, Answer::Broke));
    }

    /// Waits for nothing any more.
    pub(super) fn let_go(self) {
        if let Some(reading) = self.underway.try_update_value(|underway| underway.reading.take()).flatten() {
            reading.abort();
        }
    }

    /// Runs `task` until it ends or the component goes away.
    fn spawn(self, task: impl Future<Output = ()> + 'static) {
        let handle = spawn(task);
        self.underway.update_value(|underway| underway.tasks.push(handle));
    }
}

/// After whatever follows the newest text has had its turn in this frame.
async fn focus_version(wanted: MessageId, step: Step) {
    tick().await;
    in_next_frame(move || {
        if !browser::focus(&step.button(wanted)) {
            browser::focus(&step.back().button(wanted));
        }
    });
}
