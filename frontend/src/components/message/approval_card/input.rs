//! The arguments of a call, and whether the user has seen all of them.

use leptos::{html, prelude::*};
use send_wrapper::SendWrapper;

use super::card::Card;
use crate::{
    browser,
    components::{
        message::call_text::{CallPart, is_folded_at_first},
        parts::ids::card_id,
    },
    message::CallTextPart,
    mount_schedule::in_next_frame,
    reactive::{effect, memo},
    transcript::CallText,
};

impl Card {
    /// Renders the arguments. The user must scroll through arguments that do not fit on the screen before approving
    /// them.
    pub(super) fn input(self) -> AnyView {
        let Self { call, session, is_unfolded, saw_start, saw_end, .. } = self;
        let id = self.input_id();
        let ends = memo(move |_| {
            let is_all = |input: &CallText| input.is_whole() && (is_unfolded.get() || !is_folded_at_first(input));
            call.with(|call| call.as_ref().is_some_and(|call| is_all(&call.input)))
        });
        view! {
            <div class="approval-input" class:unfolded=move || is_unfolded.get()>
                {edge(saw_start)}
                <CallPart part=CallTextPart::Input id call session=Some(session) is_wanted=is_unfolded />
                {move || ends.get().then(|| edge(saw_end))}
            </div>
        }
        .into_any()
    }

    /// Shows the complete input, and focuses it.
    pub(super) fn unfold(self) {
        self.is_unfolded.set(true);
        let id = self.input_id();
        in_next_frame(move || {
            browser::focus(&id);
        });
    }

    fn input_id(self) -> String {
        format!("{}-input", card_id(self.id))
    }
}

/// An edge of the input. Sets `was_seen` once it is visible.
fn edge(was_seen: RwSignal<bool>) -> AnyView {
    let place = NodeRef::<html::Div>::new();
    effect(move || {
        let Some(place) = place.get() else { return };
        let watch = browser::watch_sight(&place, move |is_in_sight| {
            if is_in_sight {
                was_seen.try_set(true);
            }
        });
        match watch.map(SendWrapper::new) {
            Some(watch) => on_cleanup(move || watch.disconnect()),
            // Without an observer, no call could ever be approved.
            None => was_seen.set(true),
        }
    });
    view! { <div class="approval-edge" node_ref=place></div> }.into_any()
}
