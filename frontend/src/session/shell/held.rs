//! Inputs that wait until the code that handles them has loaded: the reducer is in the WASM chunk with messages, because
//! neither a new chat nor a conversation that is only read needs it. What the user writes and sends is shown at once.

use std::{collections::VecDeque, mem::discriminant};

use super::super::{
    input::{Action, Input},
    storage::Elsewhere,
};
use crate::feed::News;

/// Maximum number of inputs that wait. Users do not act so often while they wait.
const MAX_HELD: usize = 100;

/// Inputs in their order.
#[derive(Default)]
pub(crate) struct HeldInputs(VecDeque<Input>);

impl HeldInputs {
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

    /// Returns `true` if the feed was connected while inputs were held.
    pub(crate) fn has_news(&self) -> bool {
        self.0.iter().any(|input| matches!(input, Input::News(_)))
    }

    pub(crate) fn next(&mut self) -> Option<Input> {
        self.0.pop_front()
    }
}

/// Returns `true` if after this input the conversation may differ from what the server rendered. `had_news` is `true` if
/// the feed was connected before.
pub(crate) fn may_change_conversation(input: &Input, had_news: bool) -> bool {
    match input {
        Input::News(News::Event(event)) => event.kind.changes_messages(),
        // What the server rendered is older than the first connection by a moment only, and the list shows whether an
        // answer was added meanwhile.
        Input::News(News::Missed) => had_news,
        Input::Hidden(is_hidden) => !is_hidden,
        Input::Leaving(is_leaving) => *is_leaving,
        Input::Elsewhere(change) => !matches!(change, Elsewhere::Draft(_)),
        _ => false,
    }
}
