//! The foot of the sidebar: who is signed in, light or dark, the language, and the way to the help sheet.

use leptos::prelude::*;

use crate::{
    browser,
    components::help::{self, HelpSheet},
    language::{Language, use_language},
    preferences::{LANGUAGE_COOKIE, Preferences, THEME_COOKIE, Theme},
};

/// The element in which the theme is chosen.
pub(crate) const THEME_ID: &str = "theme";

/// What the reader signed in with; `None` where nobody has to.
#[derive(Clone)]
pub(crate) struct Person(pub(crate) Option<String>);

/// Who is signed in, and the way out. It is a form of its own, since the server answers with another page.
fn signed_in(text: Language) -> Option<impl IntoView> {
    let Person(name) = use_context()?;
    Some(view! {
        <form class="person" method="post" action="/sign-out">
            <span class="person-name" data-testid="person" title=text.signed_in_as()>
                <span class="visually-hidden">{text.signed_in_as()}</span>
                {name?}
            </span>
            <button type="submit" class="button small quiet" data-testid="sign-out">{text.sign_out()}</button>
        </form>
    })
}

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
        {signed_in(text)}
        <div class="settings">
            <select
                class="field"
                id=THEME_ID
                data-testid="theme"
                aria-label=text.theme_label()
                title=text.theme_label()
                autocomplete="off"
                disabled=!browser::IS_HERE
                on:change:target=move |event| {
                    choose_theme(Theme::from_name(&event.target().value()).unwrap_or_default());
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
                    choose_language(Language::from_code(&event.target().value()).unwrap_or_default());
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

/// Lights the page so from now on.
pub(crate) fn choose_theme(theme: Theme) {
    browser::remember(THEME_COOKIE, theme.name());
    browser::mark_root("data-theme", theme.name());
    // It may have been chosen elsewhere.
    if let Some(field) = document().get_element_by_id(THEME_ID) {
        let _ = js_sys::Reflect::set(&field, &"value".into(), &theme.name().into());
    }
}

/// Shows the page anew in this language.
pub(crate) fn choose_language(language: Language) {
    browser::remember(LANGUAGE_COOKIE, language.code());
    browser::reload();
}
