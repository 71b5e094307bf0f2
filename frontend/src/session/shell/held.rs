//! Inputs that wait until the code that handles them has loaded: the reducer is in the WASM chunk with messages,
//! because a new chat needs it only when the user sends something. What the user writes and sends is shown at once
//! (`shell`).

use std::{collections::VecDeque, mem::discriminant};

use super::super::input::{Action, Input};

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
