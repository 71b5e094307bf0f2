//! Settings that are on or off, kept in cookies.

use leptos::{prelude::*, task::spawn_local};

use crate::{
    browser,
    language::use_language,
    notification::{self, Permission},
    preferences::{
        CALL_PREVIEWS_COOKIE, CALL_PREVIEWS_MARK, NOTIFICATIONS_COOKIE, Preferences, SINGLE_KEYS_COOKIE, switch_name,
    },
};

/// The current values.
#[derive(Clone, Copy)]
pub(crate) struct Switches {
    single_keys: RwSignal<bool>,
    notifications: RwSignal<bool>,
    call_previews: RwSignal<bool>,
}

impl Switches {
    /// Creates the values with which the page started.
    pub(crate) fn new() -> Self {
        let Preferences { single_keys, notifications, call_previews, .. } = use_context().unwrap_or_default();
        Self {
            single_keys: RwSignal::new(single_keys),
            notifications: RwSignal::new(notifications),
            call_previews: RwSignal::new(call_previews),
        }
    }
}

/// The switch for single-key shortcuts.
#[component]
pub(crate) fn SingleKeysSwitch() -> impl IntoView {
    let is_on = use_context::<Switches>().unwrap_or_else(Switches::new).single_keys;
    let choose = move |wanted| {
        is_on.set(wanted);
        keep(SINGLE_KEYS_COOKIE, "data-single-keys", wanted);
    };
    switch(use_language().single_keys(), "single-keys", is_on, choose)
}

/// The switch for previews of input and output on collapsed tool calls.
#[component]
pub(crate) fn CallPreviewsSwitch() -> impl IntoView {
    let is_on = use_context::<Switches>().unwrap_or_else(Switches::new).call_previews;
    let choose = move |wanted| {
        is_on.set(wanted);
        keep(CALL_PREVIEWS_COOKIE, CALL_PREVIEWS_MARK, wanted);
    };
    switch(use_language().call_previews(), "call-previews", is_on, choose)
}

/// The switch for notifications of answers that end in a hidden tab.
#[component]
pub(crate) fn NotificationSwitch() -> impl IntoView {
    let text = use_language();
    let is_on = use_context::<Switches>().unwrap_or_else(Switches::new).notifications;
    let obstacle = RwSignal::new(None);
    let choose = move |wanted| {
        is_on.set(wanted);
        obstacle.set(None);
        if !wanted {
            return keep(NOTIFICATIONS_COOKIE, "data-notifications", false);
        }
        spawn_local(async move {
            let permission = notification::ask().await;
            let is_granted = permission == Permission::Granted;
            obstacle.set(match permission {
                Permission::Granted => None,
                Permission::Refused => Some(text.notifications_blocked()),
                Permission::Missing => Some(text.notifications_need_https()),
            });
            is_on.set(is_granted);
            keep(NOTIFICATIONS_COOKIE, "data-notifications", is_granted);
        });
    };
    view! {
        {switch(text.notifications(), "notifications", is_on, choose)}
        <p class="help-note" role="status">{move || obstacle.get()}</p>
    }
    .into_any()
}

fn keep(cookie: &str, mark: &str, is_on: bool) {
    browser::remember(cookie, switch_name(is_on));
    browser::mark_root(mark, switch_name(is_on));
}

/// A labelled checkbox.
pub(crate) fn switch(
    label: &'static str,
    name: &'static str,
    is_on: RwSignal<bool>,
    choose: impl Fn(bool) + 'static,
) -> AnyView {
    view! {
        <label class="switch">
            <input
                type="checkbox"
                data-testid=name
                autocomplete="off"
                disabled=!browser::IS_HERE
                prop:checked=move || is_on.get()
                on:change:target=move |event| choose(event.target().checked())
            />
            {label}
        </label>
    }
    .into_any()
}
