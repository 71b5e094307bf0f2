//! The buttons of a card, each with its key.

use leptos::prelude::*;
use tallybook_protocol::ApprovalScope;

use super::card::Card;
use crate::{browser, reactive::memo};

impl Card {
    pub(super) fn choices(self) -> AnyView {
        let Self { is_ready, is_denying, text, .. } = self;
        let has_keys = browser::IS_HERE && browser::has_single_keys();
        let key = move |number: &'static str| {
            move || (has_keys && self.is_first.get()).then(|| view! { <kbd aria-hidden="true">{number}</kbd> })
        };
        let is_whole = move || self.call.with(|call| call.as_ref().is_some_and(|call| call.input.is_whole()));
        let is_flawed = memo(move |_| self.changed_input().is_err());
        let no_allowing = move || !is_ready.get() || is_flawed.get();
        view! {
            <div class="consent-choices">
                <button
                    type="button"
                    class="button primary"
                    data-testid="allow-once"
                    aria-keyshortcuts="1"
                    disabled=no_allowing
                    on:click=move |_| self.allow(None)
                >
                    {key("1")}{text.allow_once()}
                </button>
                <span class="consent-scope">
                    <button
                        type="button"
                        class="button"
                        data-testid="allow-from-now-on"
                        aria-keyshortcuts="2"
                        disabled=no_allowing
                        on:click=move |_| self.allow(Some(self.scope.get_untracked()))
                    >
                        {key("2")}{text.allow_from_now_on()}
                    </button>
                    <select
                        class="field"
                        data-testid="scope"
                        aria-label=text.how_far()
                        on:change:target=move |event| self.scope.set(match event.target().value().as_str() {
                            "always" => ApprovalScope::Always,
                            _ => ApprovalScope::Conversation,
                        })
                    >
                        <option value="conversation">{text.approval_here()}</option>
                        <option value="always">{text.approval_always()}</option>
                    </select>
                </span>
                <button
                    type="button"
                    class="button danger"
                    data-testid="deny"
                    aria-keyshortcuts="3"
                    aria-expanded=move || is_denying.get().to_string()
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
                        on:click=move |_| self.edited.set(Some(self.proposed()))
                    >
                        {text.change_input()}
                    </button>
                })}
            </div>
        }
        .into_any()
    }
}
