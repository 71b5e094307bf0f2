//! Inputs that wait until the code that handles them has loaded: the reducer is in the WASM chunk with messages, because
//! a new chat needs it only when the user sends something. What the user writes and sends is shown at once.

use std::{collections::VecDeque, mem::discriminant};

use leptos::prelude::*;

use super::{
    super::{
        input::{Action, Input},
        shown::Place,
        state::State,
        storage::{Kept, keep_draft},
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
    fn push(&mut self, input: Input) {
        match (&input, self.0.back_mut()) {
            (Input::User(Action::Write(_)), Some(last @ Input::User(Action::Write(_)))) => {
                *last = input;
                return;
            }
            (Input::User(_) | Input::Elsewhere(_), _) => {}
            _ => self.0.retain(|held| discriminant(held) != discriminant(&input)),
        }
        if self.0.len() < MAX_HELD {
            self.0.push_back(input);
        }
    }

    fn has_user_action(&self) -> bool {
        self.0.iter().any(|input| matches!(input, Input::User(_)))
    }

    pub(crate) fn next(&mut self) -> Option<Input> {
        self.0.pop_front()
    }
}

impl Session {
    /// Holds an input back. Loads the code that handles it, unless the user has done nothing yet that needs it.
    pub(crate) fn hold(self, input: Input) {
        let Some(uuid) = self.state.try_with_value(State::uuid) else { return };
        let input = match input {
            Input::News(News::Event(event)) if Some(event.conversation_id) != uuid => return,
            // The conversation is loaded again then.
            Input::News(_) => Input::News(News::Missed),
            input => input,
        };
        let has_acted = self.held.try_with_value(Held::has_user_action).unwrap_or_default();
        match &input {
            Input::User(Action::Write(text)) if !has_acted => return self.write_early(text),
            Input::User(action) => self.show_early(action),
            _ => {}
        }
        let is_needed = matches!(input, Input::User(_)) || !self.is_blank();
        self.held.try_update_value(|held| held.push(input));
        if let Some(chunks) = self.chunks.filter(|_| is_needed) {
            chunks.load_messages();
        }
    }

    /// Returns `true` for a new chat without anything to send or to upload.
    fn is_blank(self) -> bool {
        self.place.with_untracked(|place| matches!(place, Place::NewChat | Place::Missing))
            && self.kept.try_with_value(Kept::has_only_text) == Some(true)
    }

    /// Sets the text of the message field, and keeps it, as the reducer would.
    fn write_early(self, text: &str) {
        self.state.update_value(|state| text.clone_into(&mut state.draft));
        self.draft.set(text.to_owned());
        self.kept.update_value(|kept| {
            text.clone_into(&mut kept.draft);
            keep_draft(kept.conversation, text);
        });
    }

    /// Shows what the user writes, and the first message of a new chat.
    fn show_early(self, action: &Action) {
        let is_first = self.place.with_untracked(|place| *place == Place::NewChat)
            && self.unstored.with_untracked(Option::is_none)
            && self.files.with_untracked(Vec::is_empty);
        let sent = match action {
            Action::Write(text) => return self.draft.set(text.clone()),
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
            _ if self.draft.with_untracked(String::is_empty) => self.kept.update_value(|kept| {
                sent.clone_into(&mut kept.draft);
                keep_draft(kept.conversation, &sent);
            }),
            _ => {}
        }
        self.unstored.set(Some(UnsentMessage { content: sent, ..UnsentMessage::default() }));
    }
}
