//! The foot of the sidebar: who is signed in, and the way to the settings and to the help sheet. Also the lists of themes and
//! languages, which the settings show.

use leptos::prelude::*;

use crate::{
    browser,
    components::{
        help::{self, HelpSheet},
        icon::{Draw, Icon},
        listbox::{Choice, Listbox},
    },
    language::{Language, use_language},
    preferences::{LANGUAGE_COOKIE, Preferences, THEME_COOKIE, Theme},
    reactive::effect,
};

/// The event by which the page hears that a theme was chosen.
const THEME_CHOSEN: &str = "theme-chosen";

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

/// The way to the settings and to the help sheet.
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
            <button
                type="button"
                class="button small quiet"
                data-testid="open-help"
                title=text.help_open()
                aria-haspopup="dialog"
                disabled=!browser::IS_HERE
                on:click=move |_| help::toggle(sheet)
            >
                <Draw icon=Icon::Command />
                {text.shortcuts()}
            </button>
        </div>
    }
    .into_any()
}

/// Where light or dark is chosen; `name` is what tests know it by.
pub(crate) fn theme_field(name: &'static str) -> AnyView {
    let text = use_language();
    let theme = RwSignal::new(chosen().theme.name().to_owned());
    // It is chosen in several places.
    effect(move || {
        let heard = window_event_listener_untyped(THEME_CHOSEN, move |_| {
            theme.set(browser::preferences().theme.name().to_owned());
        });
        on_cleanup(move || heard.remove());
    });
    let themes = Theme::ALL.map(|theme| Choice::new(theme.name(), text.theme(theme)));
    let choose = Callback::new(move |name: String| choose_theme(Theme::from_name(&name).unwrap_or_default()));
    Listbox::of(name, name, text.theme_label(), themes.to_vec(), theme.into(), choose).view()
}

/// Where the language is chosen; `name` is what tests know it by.
pub(crate) fn language_field(name: &'static str) -> AnyView {
    let text = use_language();
    let languages = Language::ALL
        .map(|language| Choice { lang: Some(language.code()), ..Choice::new(language.code(), language.name()) });
    let chosen = chosen().language.code();
    let choose = Callback::new(move |code: String| {
        if code != chosen {
            choose_language(Language::from_code(&code).unwrap_or_default());
        }
    });
    Listbox::of(name, name, text.language_label(), languages.to_vec(), chosen.to_owned().into(), choose).view()
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
    browser::announce(THEME_CHOSEN);
}

/// Shows the page anew in this language.
pub(crate) fn choose_language(language: Language) {
    browser::remember(LANGUAGE_COOKIE, language.code());
    browser::reload();
}
