//! The foot of the sidebar: light or dark, the language, and the way to the help sheet.

use leptos::prelude::*;

use crate::{
    browser,
    components::help::{self, HelpSheet},
    language::{Language, use_language},
    preferences::{LANGUAGE_COOKIE, Preferences, THEME_COOKIE, Theme},
};

/// The reader's choices.
#[component]
pub(crate) fn Settings(sheet: HelpSheet) -> impl IntoView {
    let text = use_language();
    let Preferences { theme: chosen, language, .. } = use_context().unwrap_or_default();
    let themes = Theme::ALL.map(|theme| {
        view! { <option value=theme.name() selected=theme == chosen>{text.theme(theme)}</option> }
    });
    let languages = Language::ALL.map(|other| {
        view! { <option value=other.code() lang=other.code() selected=other == language>{other.name()}</option> }
    });
    view! {
        <div class="settings">
            <select
                class="field"
                data-testid="theme"
                aria-label=text.theme_label()
                title=text.theme_label()
                autocomplete="off"
                disabled=!browser::IS_HERE
                on:change:target=move |event| {
                    let theme = Theme::from_name(&event.target().value()).unwrap_or_default();
                    browser::remember(THEME_COOKIE, theme.name());
                    browser::mark_root("data-theme", theme.name());
                }
            >
                {themes.collect_view()}
            </select>
            <select
                class="field"
                data-testid="language"
                aria-label=text.language_label()
                title=text.language_label()
                autocomplete="off"
                disabled=!browser::IS_HERE
                on:change:target=move |event| {
                    browser::remember(LANGUAGE_COOKIE, &event.target().value());
                    browser::reload();
                }
            >
                {languages.collect_view()}
            </select>
            <button
                type="button"
                class="button icon-only quiet"
                data-testid="open-help"
                aria-label=text.help_open()
                title=text.help_open()
                aria-haspopup="dialog"
                disabled=!browser::IS_HERE
                on:click=move |_| help::toggle(sheet)
            >
                "?"
            </button>
        </div>
    }
    .into_any()
}
