//! Carrying out what a session decides: requests, the streams that answer them, what is drawn, and where the focus goes.
//! What is decided, and what is kept of it, is elsewhere.

use std::time::Duration;

use leptos::{prelude::*, task::tick};
use tallybook_protocol::{MessageId, Window};

use super::{
    super::{
        effect::{Effect, Request},
        input::{Answer, Input},
        reader::Ticket,
        shown::Step,
        storage::kept_draft,
    },
    Session, requests,
};
use crate::{
    api::{self, ApiError},
    browser,
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

    /// Performs a request, or waits. The code of requests is loaded with that of messages: a new chat has neither until
    /// the user writes.
    async fn wait_for(self, ticket: Ticket, request: Request) {
        let pause = match request {
            Request::Second => Some(Duration::from_secs(1)),
            Request::CrowdedPause => Some(CROWDED_PAUSE),
            Request::HiddenPause => Some(HIDDEN_PAUSE),
            _ => None,
        };
        if let Some(pause) = pause {
            browser::sleep(pause).await;
            return self.feed(Input::Answer(ticket, Answer::Second));
        }
        let failure = unreachable(&request);
        match requests::perform(self, ticket, request).await {
            Ok(performed) => performed.await,
            Err(_) => self.feed(Input::Answer(ticket, failure)),
        }
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

/// Returns the result of a request whose code could not be loaded.
fn unreachable(request: &Request) -> Answer {
    let error = ApiError::Unreachable;
    match request {
        Request::Make(_) => Answer::Made(Err(error)),
        Request::Select(..) => Answer::Selected(Err(error)),
        Request::Find(..) => Answer::Found(Err(error)),
        Request::Join(..) => Answer::Joined(Err(error)),
        _ => Answer::Opened(Err(error)),
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
