//! Parts of a message that are mounted when they are used: the form that edits a question, the card of a call that
//! waits for a decision, and what is in an opened call.

use leptos::{
    prelude::*,
    reactive::owner::{Owner, WeakOwner},
    tachys::view::any_view::AnyViewState,
};
use send_wrapper::SendWrapper;
use tallybook_protocol::ToolCallId;
use web_sys::Element;

use super::state::MessageState;
use crate::{
    components::{
        header::model_picker::Author,
        message::{
            approval_card::ApprovalCard, edit_form::EditForm, explanation::ExplanationNote, feedback::ReasonForm,
            reasoning::ReasoningText, shown::read, tool_call_details::ToolCallDetails,
        },
    },
    message::{Slot, call_details_id},
    reactive::memo,
    transcript::ItemKey,
};

/// A part that is mounted in its slot, until it is dropped.
pub(super) struct Mounted {
    place: Element,
    state: SendWrapper<AnyViewState>,
    owner: Owner,
}

impl Mounted {
    /// Mounts the part of a message that belongs in a slot. It belongs to the owner of the message.
    pub(super) fn new(place: &Element, message: &MessageState, owner: &WeakOwner, slot: Slot) -> Option<Self> {
        let owner = owner.upgrade()?.child();
        let state = owner.with(|| {
            let mut state = message.slot_view(slot)?.build();
            state.mount(place, None);
            Some(SendWrapper::new(state))
        })?;
        Some(Self { place: place.clone(), state, owner })
    }

    /// Returns `true` if the part is mounted in this element.
    pub(super) fn is_in(&self, place: &Element) -> bool {
        self.place == *place
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.state.unmount();
        self.owner.cleanup();
    }
}

impl MessageState {
    /// Creates the view that belongs in a slot; `None` if there is nothing to show in it.
    pub(super) fn slot_view(&self, slot: Slot) -> Option<AnyView> {
        let session = self.shown.session;
        let entry = self.shown.entry;
        let call = |id: ToolCallId| memo(move |_| read(entry, |entry| entry.call(id).cloned()));
        Some(match slot {
            Slot::Edit => view! { <EditForm id=self.id session=session? /> }.into_any(),
            Slot::Approval(id) => view! { <ApprovalCard id call=call(id) entry session=session? /> }.into_any(),
            Slot::Details(id) => view! { <ToolCallDetails id=call_details_id(id) call=call(id) session /> }.into_any(),
            Slot::Reasoning(step) => view! { <ReasoningText key=ItemKey::Reasoning(self.id, step) entry /> }.into_any(),
            Slot::Author => {
                let models = self.models?;
                let session = session?;
                let author = memo(move |_| read(entry, |entry| entry.author.clone()));
                let picker = move || author.get().map(|(_, name)| view! { <Author entry session models name /> });
                picker.into_any()
            }
            Slot::Reason => view! { <ReasonForm rating=self.rating session=session? /> }.into_any(),
            Slot::Explanation => view! { <ExplanationNote explanation=self.explanation /> }.into_any(),
        })
    }
}
