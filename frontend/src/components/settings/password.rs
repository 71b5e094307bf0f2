//! The section that changes the password.

use leptos::{ev::SubmitEvent, prelude::*};

use super::mutation::Mutation;
use crate::{
    api::account,
    components::parts::switches::switch,
    language::{Language, use_language},
};

/// The form. The hidden name tells password managers whose password it is.
pub(super) fn form(name: String, text: Language) -> AnyView {
    let (current, new) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let revoke_keys = RwSignal::new(false);
    let mutation = Mutation::new();
    let change = move |event: SubmitEvent| {
        event.prevent_default();
        let (was, wanted) = (current.get_untracked(), new.get_untracked());
        let revoke = revoke_keys.get_untracked();
        mutation.run(text, async move { account::change_password(&was, &wanted, revoke).await }, move |()| {
            current.set(String::new());
            new.set(String::new());
            Some(text.password_changed())
        });
    };
    view! {
        <form class="setting-form" data-testid="password-form" on:submit=change>
            <h3>{text.password()}</h3>
            <p class="setting-note">{text.password_about()}</p>
            <input type="text" name="username" autocomplete="username" value=name hidden />
            {field("password-current", text.password_current(), "current-password", None, current)}
            {field("password-new", text.password_new(), "new-password", Some(text.password_rule()), new)}
            {switch(text.keys_revoke_all(), "password-revoke-keys", revoke_keys, move |is_on| revoke_keys.set(is_on))}
            <div class="setting-buttons">
                <button type="submit" class="button" data-testid="change-password" aria-disabled=move || mutation.busy()>
                    {text.password_change()}
                </button>
            </div>
            {mutation.outcome()}
        </form>
    }
    .into_any()
}

/// A password field with its requirements, and a button that shows the password.
pub(super) fn field(
    id: &'static str,
    label: &'static str,
    autocomplete: &'static str,
    rule: Option<&'static str>,
    value: RwSignal<String>,
) -> AnyView {
    let text = use_language();
    let rule_id = rule.map(|_| format!("{id}-rule"));
    let is_shown = RwSignal::new(false);
    view! {
        <label for=id>{label}</label>
        <input
            type=move || if is_shown.get() { "text" } else { "password" }
            class="field"
            autocapitalize="none"
            spellcheck="false"
            id=id
            data-testid=id
            required
            autocomplete=autocomplete
            aria-describedby=rule_id.clone()
            prop:value=move || value.get()
            on:input:target=move |event| value.set(event.target().value())
        />
        <button
            type="button"
            class="button quiet small setting-show"
            data-testid=format!("show-{id}")
            aria-controls=id
            on:click=move |_| is_shown.update(|shown| *shown = !*shown)
        >
            {move || if is_shown.get() { text.hide_password() } else { text.show_password() }}
        </button>
        {rule.map(|rule| view! { <p class="setting-note" id=rule_id>{rule}</p> })}
    }
    .into_any()
}

/// Renders how the user proves that the account is theirs: with its password, or, if it has none, by having signed in
/// just before.
pub(super) fn proof(
    id: &'static str,
    has_password: bool,
    rule: &'static str,
    value: RwSignal<String>,
    text: Language,
) -> AnyView {
    if has_password {
        return field(id, text.password_current(), "current-password", Some(rule), value);
    }
    view! { <p class="setting-note" data-testid=format!("{id}-not-needed")>{text.fresh_sign_in()}</p> }.into_any()
}
