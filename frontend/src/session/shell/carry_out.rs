//! Carries out the effects of a session. Requests to the server are in `requests`.

use std::time::Duration;

use leptos::{prelude::*, task::tick};
use tallybook_protocol::{MessageId, Window};

use super::{
    super::{
        connection::Ticket,
        effect::{Effect, Request},
        input::{Input, Response},
        shown::Step,
        storage::kept_draft,
    },
    Session,
    tasks::Tasks,
    uploads::delete_file,
};
use crate::{api, browser, data::MESSAGES_AT_ONCE, mount_schedule::in_next_frame, scroll, task::spawn};

/// Interval at which a hidden tab polls the turn that it follows.
const HIDDEN_PAUSE: Duration = Duration::from_secs(10);
/// Interval at which a turn is polled while the tabs of this browser hold as many streams as they may.
const CROWDED_PAUSE: Duration = Duration::from_secs(2);

impl Session {
    /// Carries out an effect.
    pub(super) fn carry_out(self, effect: Effect) {
        match effect {
            Effect::Perform(ticket, request) => {
                self.tasks.try_update_value(Tasks::abort_request);
                let performing = spawn(self.perform(ticket, request));
                self.tasks.update_value(|tasks| tasks.perform(performing));
            }
            Effect::Abort => drop(self.tasks.try_update_value(Tasks::abort_request)),
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
                    // The next messages must arrive after this frame, so that they are placed before they are visible.
                    browser::sleep(Duration::ZERO).await;
                    self.feed(Input::Drawn(ticket));
                });
            }
            Effect::LoadCall(id) => {
                self.spawn(async move { self.feed(Input::Call(id, Box::new(api::find_tool_call(id).await))) });
            }
            Effect::Draw => self.drawing.draw(),
            Effect::DrawSoon => self.drawing.draw_soon(),
            Effect::ReportCreated(uuid) => self.callbacks.on_created.run(uuid),
            Effect::OpenNewChat => self.callbacks.open_new_chat.run(()),
            Effect::AdoptDraft => {
                let (draft, files) = kept_draft(None);
                self.feed(Input::Adopted(draft, files));
            }
            Effect::Upload(key) => self.start_upload(&key),
            Effect::ForgetFile(key) => self.forget_file(&key),
            Effect::DeleteFile(id) => delete_file(id),
            Effect::Reveal(goal) => self.revealed.set(Some(goal)),
            Effect::FocusVersion(wanted, step) => {
                self.spawn(focus_version(wanted, step));
            }
        }
    }

    /// Performs a request, or waits.
    async fn perform(self, ticket: Ticket, request: Request) {
        let pause = match request {
            Request::Tick => Some(Duration::from_secs(1)),
            Request::CrowdedPause => Some(CROWDED_PAUSE),
            Request::HiddenPause => Some(HIDDEN_PAUSE),
            _ => None,
        };
        if let Some(pause) = pause {
            browser::sleep(pause).await;
            return self.feed(Input::Response(ticket, Response::Tick));
        }
        self.perform_request(ticket, request).await;
    }

    /// Runs `task` until it ends or the component is unmounted.
    fn spawn(self, task: impl Future<Output = ()> + 'static) {
        let handle = spawn(task);
        self.tasks.update_value(|tasks| tasks.add(handle));
    }
}

/// Moves the focus to a version's button, after the thread has scrolled in this frame.
async fn focus_version(wanted: MessageId, step: Step) {
    tick().await;
    in_next_frame(move || {
        if !browser::focus(&step.button(wanted)) {
            browser::focus(&step.back().button(wanted));
        }
    });
}
