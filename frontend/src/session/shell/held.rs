//! Inputs that wait until the code that handles them has loaded: the reducer is in the WASM chunk with messages, because
//! neither a new chat nor a conversation that is only read needs it. What the user writes and sends is shown at once.

use std::{
    collections::VecDeque,
    mem::{discriminant, replace},
};

use leptos::prelude::*;

use super::{
    super::{
        input::{Action, Input},
        shown::{Loading, Place},
        state::{State, joined},
        storage::{Elsewhere, Kept, keep_draft},
        unsent::UnsentMessage,
    },
    Session,
};
use crate::feed::News;

/// Maximum number of inputs that wait. Users do not act so often while they wait.
const MAX_HELD: usize = 100;

/// Inputs in their order.
#[derive(Default)]
pub(crate) struct Held(VecDeque<Input>);

impl Held {
    /// Adds an input. Only the newest input of a kind is needed, unless the user acted.
    pub(crate) fn push(&mut self, input: Input) {
        match (&input, self.0.back_mut()) {
            (Input::User(Action::Write(_)), Some(last @ Input::User(Action::Write(_)))) => {
                *last = input;
                return;
            }
            (Input::User(_), _) => {}
            (Input::Elsewhere(change), _) => self.0.retain(
                |held| !matches!(held, Input::Elsewhere(earlier) if discriminant(earlier) == discriminant(change)),
            ),
            _ => self.0.retain(|held| discriminant(held) != discriminant(&input)),
        }
        if self.0.len() < MAX_HELD {
            self.0.push_back(input);
        }
    }

    pub(crate) fn has_user_action(&self) -> bool {
        self.0.iter().any(|input| matches!(input, Input::User(_)))
    }

    pub(crate) fn next(&mut self) -> Option<Input> {
        self.0.pop_front()
    }
}

impl Session {
    /// Holds an input back. Loads the code that handles it, unless nothing has happened yet that needs it.
    pub(super) fn hold(self, input: Input) {
        let Some(uuid) = self.state.try_with_value(State::uuid) else { return };
        let may_change = uuid.is_some() && self.may_change_conversation(&input);
        let input = match input {
            Input::News(News::Event(event)) if Some(event.conversation_id) != uuid => return,
            // The conversation is loaded again then.
            Input::News(_) => Input::News(News::Missed),
            input => input,
        };
        let has_acted = self.held.try_with_value(Held::has_user_action).unwrap_or_default();
        match &input {
            Input::User(Action::Write(text)) if !has_acted => return self.write_early(text),
            Input::Elsewhere(Elsewhere::Draft(text)) if !has_acted => return self.set_early(text),
            Input::User(action) => self.show_early(action),
            _ => {}
        }
        let is_needed = may_change || matches!(input, Input::User(_)) || !self.can_wait();
        self.held.try_update_value(|held| held.push(input));
        if is_needed {
            self.want_code();
        }
    }

    /// Returns `true` if after this input the conversation may differ from what the server rendered.
    fn may_change_conversation(self, input: &Input) -> bool {
        match input {
            Input::News(News::Event(event)) => event.kind.changes_messages(),
            // What the server rendered is older than the first connection by a moment only, and the list shows whether
            // an answer was added meanwhile.
            Input::News(News::Missed) => self.has_connected.try_update_value(|has| replace(has, true)) == Some(true),
            Input::Hidden(is_hidden) => !is_hidden,
            Input::Leaving(is_leaving) => *is_leaving,
            Input::Elsewhere(change) => !matches!(change, Elsewhere::Draft(_)),
            _ => false,
        }
    }

    /// Returns `true` for a new chat or an idle conversation without anything to send, to upload or to edit.
    fn can_wait(self) -> bool {
        self.was_idle && self.kept.try_with_value(Kept::has_only_text) == Some(true)
    }

    /// Sets the text of the message field, and keeps it, as the reducer would.
    fn write_early(self, text: &str) {
        self.set_early(text);
        self.keep_early(text);
    }

    /// Sets the text of the message field.
    fn set_early(self, text: &str) {
        self.state.update_value(|state| text.clone_into(&mut state.draft));
        self.draft.set(text.to_owned());
        self.kept.update_value(|kept| text.clone_into(&mut kept.draft));
    }

    /// Keeps a text as the draft, in case the code that handles inputs never loads.
    fn keep_early(self, text: &str) {
        self.kept.update_value(|kept| {
            text.clone_into(&mut kept.draft);
            keep_draft(kept.conversation, text);
        });
    }

    /// Shows what the user writes and chooses, and the first message of a chat.
    fn show_early(self, action: &Action) {
        let is_first = self.place.with_untracked(|place| matches!(place, Place::NewChat | Place::Loading(_)))
            && self.unstored.with_untracked(Option::is_none)
            && self.files.with_untracked(Vec::is_empty);
        let sent = match action {
            Action::Write(text) => {
                self.draft.set(text.clone());
                let sent = self.unstored.with_untracked(|sent| sent.as_ref().map(|sent| sent.content.clone()));
                return self.keep_early(&joined(&sent.unwrap_or_default(), text));
            }
            Action::PlanFirst(plans_first) => return self.next.update(|next| next.1 = *plans_first),
            Action::LoadEarlier => return self.earlier.set(Loading::Running),
            Action::ChooseNext(model) => return self.next.update(|next| next.0.clone_from(model)),
            Action::SendDraft(_) => self.draft.get_untracked(),
            Action::Send(text, _) => text.clone(),
            _ => return,
        };
        if !is_first || sent.trim().is_empty() {
            return;
        }
        match action {
            Action::SendDraft(_) => self.draft.set(String::new()),
            // Until it is sent, it is kept as a draft.
            _ if self.draft.with_untracked(String::is_empty) => self.keep_early(&sent),
            _ => {}
        }
        self.unstored.set(Some(UnsentMessage { content: sent, ..UnsentMessage::default() }));
    }
}
