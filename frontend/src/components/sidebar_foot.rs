//! The foot of the sidebar: who is signed in, the way to the settings, light or dark, the language, and the way to the help
//! sheet.

use leptos::prelude::*;

use crate::{
    browser,
    components::{
        choice::Choice,
        help::{self, HelpSheet},
        icon::{Draw, Icon},
    },
    language::{Language, use_language},
    preferences::{LANGUAGE_COOKIE, Preferences, THEME_COOKIE, Theme},
};

/// Where the theme is chosen.
const THEME_FIELDS: &str = "select.theme-field";

/// What the reader signed in with; `None` where nobody has to.
#[derive(Clone)]
pub(crate) struct Person(pub(crate) Option<String>);

/// The way to the settings, with the name of who is signed in; and the way out, which is a form of its own, since the server
/// answers with another page.
fn person(text: Language, open: RwSignal<bool>) -> AnyView {
    let Person(name) = use_context().unwrap_or(Person(None));
    let sign_out = name.is_some().then(|| {
        view! {
            <form method="post" action="/sign-out">
                <button type="submit" class="button small quiet" data-testid="sign-out">{text.sign_out()}</button>
            </form>
        }
    });
    let named = name.map_or_else(
        || text.settings().into_any(),
        |name| {
            view! {
                <span class="visually-hidden">{text.settings()}". "{text.signed_in_as()}" "</span>
                <span class="person-name" data-testid="person">{name}</span>
            }
            .into_any()
        },
    );
    view! {
        <div class="person">
            <a
                class="button small quiet"
                href="/settings"
                data-testid="open-settings"
                title=text.settings()
                on:click=move |_| open.set(false)
            >
                <Draw icon=Icon::Gear />
                {named}
            </a>
            {sign_out}
        </div>
    }
    .into_any()
}

/// The reader's choices.
#[component]
pub(crate) fn SidebarFoot(
    /// Whether a small screen shows the sidebar.
    open: RwSignal<bool>,
    sheet: HelpSheet,
) -> impl IntoView {
    let text = use_language();
    view! {
        {person(text, open)}
        <div class="settings">
            {theme_field("theme")}
            {language_field("language")}
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

/// Where light or dark is chosen; `name` is what tests know it by.
pub(crate) fn theme_field(name: &'static str) -> AnyView {
    let text = use_language();
    let chosen = chosen().theme;
    let themes = Theme::ALL.map(|theme| {
        view! { <option value=theme.name() selected=theme == chosen>{text.theme(theme)}</option> }
    });
    view! {
        <select
            class="field theme-field"
            data-testid=name
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
    }
    .into_any()
}

/// Where the language is chosen; `name` is what tests know it by.
pub(crate) fn language_field(name: &'static str) -> AnyView {
    let text = use_language();
    let chosen = chosen().language;
    let languages = Language::ALL.map(|other| {
        view! { <option value=other.code() lang=other.code() selected=other == chosen>{other.name()}</option> }
    });
    let choice = Choice::new();
    let choose = |code: String| choose_language(Language::from_code(&code).unwrap_or_default());
    view! {
        <select
            class="field"
            data-testid=name
            aria-label=text.language_label()
            title=text.language_label()
            autocomplete="off"
            disabled=!browser::IS_HERE
            on:keydown=move |_| choice.pressed(true)
            on:pointerdown=move |_| choice.pressed(false)
            on:change=move |event| choice.changed(&event, chosen.code()).into_iter().for_each(choose)
        >
            {languages.collect_view()}
        </select>
        {choice.button("change-language", text.change_language(), choose)}
    }
    .into_any()
}

/// What is chosen now.
fn chosen() -> Preferences {
    if browser::IS_HERE { browser::preferences() } else { use_context().unwrap_or_default() }
}

/// Lights the page so from now on.
pub(crate) fn choose_theme(theme: Theme) {
    browser::remember(THEME_COOKIE, theme.name());
    browser::mark_root("data-theme", theme.name());
    browser::color_bars(theme.bar_colors());
    // It is chosen in several places.
    let Ok(fields) = document().query_selector_all(THEME_FIELDS) else { return };
    for field in (0..fields.length()).filter_map(|at| fields.item(at)) {
        let _ = js_sys::Reflect::set(&field, &"value".into(), &theme.name().into());
    }
}

/// Shows the page anew in this language.
pub(crate) fn choose_language(language: Language) {
    browser::remember(LANGUAGE_COOKIE, language.code());
    browser::reload();
}
