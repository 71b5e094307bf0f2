//! The footer of the sidebar: the signed-in user, settings, sign-out, and shortcuts. Also the lists of themes and
//! languages for the settings.

use leptos::prelude::*;

use crate::{
    browser,
    components::{
        dialogs::help::{self, HelpSheet},
        parts::{
            icon::{Draw, Icon},
            listbox::{Choice, Listbox},
        },
    },
    language::{Language, use_language},
    preferences::{LANGUAGE_COOKIE, Preferences, THEME_COOKIE, Theme},
    reactive::effect,
};

/// Event that reports a chosen theme to other parts of the page.
const THEME_CHOSEN: &str = "theme-chosen";

/// The name of the signed-in user; `None` without accounts.
#[derive(Clone)]
pub(crate) struct UserName(pub(crate) Option<String>);

/// Renders the link to the settings, with the user's name, and the form that signs out.
fn user_menu(text: Language, open: RwSignal<bool>) -> AnyView {
    let UserName(name) = use_context().unwrap_or(UserName(None));
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

/// The link to the settings, and the button of the help sheet.
#[component]
pub(crate) fn SidebarFooter(
    /// `true` while a small screen shows the sidebar.
    open: RwSignal<bool>,
    sheet: HelpSheet,
) -> impl IntoView {
    let text = use_language();
    view! {
        {user_menu(text, open)}
        <div class="settings">
            <button
                type="button"
                class="button small quiet"
                data-testid="open-help"
                title=text.help_open()
                aria-haspopup="dialog"
                on:click=move |_| help::toggle(sheet)
            >
                <Draw icon=Icon::Command />
                {text.shortcuts()}
            </button>
        </div>
    }
    .into_any()
}

/// Renders the list of themes. `name` is its ID and test ID.
pub(crate) fn theme_field(name: &'static str) -> AnyView {
    let text = use_language();
    let theme = RwSignal::new(chosen().theme.name().to_owned());
    // The palette also changes the theme.
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

/// Renders the list of languages. `name` is its ID and test ID.
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

/// Returns the current preferences.
fn chosen() -> Preferences {
    if browser::IS_HERE { browser::preferences() } else { use_context().unwrap_or_default() }
}

/// Applies a theme and keeps the choice.
pub(crate) fn choose_theme(theme: Theme) {
    browser::remember(THEME_COOKIE, theme.name());
    browser::mark_root("data-theme", theme.name());
    browser::color_bars(theme.bar_colors());
    browser::announce(THEME_CHOSEN);
}

/// Keeps the choice of a language, and reloads the page in it.
pub(crate) fn choose_language(language: Language) {
    browser::remember(LANGUAGE_COOKIE, language.code());
    browser::reload();
}
