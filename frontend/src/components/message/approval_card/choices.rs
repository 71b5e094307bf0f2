//! The buttons of a card, each with its key.

use leptos::{ev::MouseEvent, html, prelude::*};
use send_wrapper::SendWrapper;
use tallybook_protocol::ApprovalScope;

use super::card::Card;
use crate::{
    browser,
    components::parts::{
        ids::card_id,
        listbox::{Choice, Listbox},
    },
    reactive::{effect, memo},
    session::kept_input,
};

impl Card {
    pub(super) fn choices(self) -> AnyView {
        let Self { is_ready, is_denying, text, .. } = self;
        let has_keys = browser::IS_HERE && browser::has_single_keys();
        let key = move |number: &'static str| {
            move || (has_keys && self.is_first.get()).then(|| view! { <kbd aria-hidden="true">{number}</kbd> })
        };
        let is_whole = move || self.call.with(|call| call.as_ref().is_some_and(|call| call.input.is_whole()));
        let is_flawed = memo(move |_| self.changed_input().is_err());
        let is_unseen = memo(move |_| !self.is_seen());
        let reason_id = format!("{}-unseen", card_id(self.id));
        let allow = move |name: &'static str, keys: &'static str, label: &'static str, remembers: bool| {
            let described_by = reason_id.clone();
            let press = move |event: MouseEvent| {
                // The second click of a double click was meant for the previous card.
                if event.detail() < 2 {
                    self.allow(remembers.then(|| self.scope.get_untracked()));
                }
            };
            view! {
                <button
                    type="button"
                    class="button"
                    class:primary=!remembers
                    data-testid=name
                    aria-keyshortcuts=keys
                    disabled=move || !is_ready.get() || is_flawed.get()
                    // Still focusable, so that a screen reader can reach the reason.
                    aria-disabled=move || is_unseen.get().then_some("true")
                    aria-describedby=move || is_unseen.get().then(|| described_by.clone())
                    title=move || is_unseen.get().then(|| text.show_input_first())
                    on:click=press
                >
                    {key(keys)}{label}
                </button>
            }
            .into_any()
        };
        let unseen_id = format!("{}-unseen", card_id(self.id));
        let place = self.watch_choices();
        view! {
            <div class="approval-choices" node_ref=place>
                {move || is_unseen.get().then(|| view! {
                    <button
                        type="button"
                        class="button approval-unseen"
                        id=unseen_id.clone()
                        data-testid="show-input"
                        on:click=move |_| self.unfold()
                    >
                        {text.show_input_first()}
                    </button>
                })}
                {allow("allow-once", "1", text.allow_once(), false)}
                <span class="approval-scope">
                    {allow("allow-from-now-on", "2", text.always_allow(), true)}
                    {self.scope_choice()}
                </span>
                <button
                    type="button"
                    class="button danger"
                    data-testid="deny"
                    aria-keyshortcuts="3"
                    disabled=move || !is_ready.get()
                    on:click=move |_| is_denying.set(true)
                >
                    {key("3")}{text.deny()}
                </button>
                {move || (self.edited.with(Option::is_none) && is_whole()).then(|| view! {
                    <button
                        type="button"
                        class="button quiet"
                        data-testid="change-input"
                        disabled=move || is_unseen.get()
                        on:click=move |_| self.edited.set(Some(kept_input(self.id).unwrap_or_else(|| self.proposed())))
                    >
                        {move || if kept_input(self.id).is_some() { text.continue_editing_input() } else { text.edit_input() }}
                    </button>
                })}
            </div>
        }
        .into_any()
    }

    /// Watches whether the buttons are in view. Returns the reference for their element.
    fn watch_choices(self) -> NodeRef<html::Div> {
        let place = NodeRef::<html::Div>::new();
        let note = move |is_in_sight: bool| {
            self.session.decidable_in_sight.try_update(|calls| {
                calls.retain(|call| *call != self.id);
                calls.extend(is_in_sight.then_some(self.id));
            });
        };
        effect(move || {
            let Some(place) = place.get() else { return };
            let watch = browser::watch_sight(&place, note).map(SendWrapper::new);
            on_cleanup(move || {
                note(false);
                if let Some(watch) = &watch {
                    watch.disconnect();
                }
            });
        });
        place
    }

    /// The conversations for which an approval is saved.
    fn scope_choice(self) -> AnyView {
        let text = self.text;
        let choices = [(ApprovalScope::Conversation, text.scope_here()), (ApprovalScope::Always, text.scope_always())];
        let chosen = Signal::derive(move || self.scope.get().as_str().to_owned());
        let choose = Callback::new(move |value: String| {
            if let Some((scope, _)) = choices.iter().find(|(scope, _)| scope.as_str() == value) {
                self.scope.set(*scope);
            }
        });
        let id = format!("{}-scope", card_id(self.id));
        let all = choices.map(|(scope, label)| Choice::new(scope.as_str(), label)).to_vec();
        Listbox::of(&id, "scope", text.approval_scope(), all, chosen, choose).view()
    }
}
