//! What a reader chooses of the page: its language, light or dark, and what it does by itself. Choices are kept in cookies, so that the server
//! draws the first page as chosen and nothing flashes.

use serde::{Deserialize, Serialize};

use crate::language::Language;

/// How the page is lit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// As the reader's system is.
    #[default]
    System,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Theme {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::System, Self::Light, Self::Dark];

    /// The theme of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|theme| theme.name() == name)
    }

    /// The colors of the browser's own bars, on a light and on a dark system: the paper of `tokens.css`.
    pub(crate) const fn bar_colors(self) -> [&'static str; 2] {
        const LIGHT: &str = "#fcfaf5";
        const DARK: &str = "#191611";
        match self {
            Self::System => [LIGHT, DARK],
            Self::Light => [LIGHT, LIGHT],
            Self::Dark => [DARK, DARK],
        }
    }

    /// Its name in cookies and styles.
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// The media query of each of a theme's bar colors.
pub(crate) const BAR_MEDIA: [&str; 2] = ["(prefers-color-scheme: light)", "(prefers-color-scheme: dark)"];

/// The list of conversations on a wide screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sidebar {
    /// It stands beside the conversation.
    #[default]
    Shown,
    /// It is away until it is asked for.
    Folded,
}

impl Sidebar {
    /// The state of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Shown, Self::Folded].into_iter().find(|sidebar| sidebar.name() == name)
    }

    /// Its name in cookies and styles.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::Folded => "folded",
        }
    }
}

/// The cookie that holds the name of a [`Theme`].
pub const THEME_COOKIE: &str = "tallybook_theme";
/// The cookie that holds the code of a [`Language`].
pub const LANGUAGE_COOKIE: &str = "tallybook_language";

/// The cookie that holds the name of a [`Sidebar`].
pub const SIDEBAR_COOKIE: &str = "tallybook_sidebar";

/// The cookie that says `off` where the keys that are single characters do nothing.
pub const SINGLE_KEYS_COOKIE: &str = "tallybook_single_keys";
/// The cookie that says `on` where the end of an answer in a hidden tab is told by the reader's system.
pub const NOTIFICATIONS_COOKIE: &str = "tallybook_notifications";

/// The cookie that holds the name of the model that was chosen last.
pub const LAST_MODEL_COOKIE: &str = "tallybook_last_model";
/// The cookie that holds the name of the model that new chats begin with. It is empty if that is the last one chosen.
pub const NEW_CHAT_MODEL_COOKIE: &str = "tallybook_new_chat_model";
/// The cookie that holds `on` if tool calls show their input and output without being opened.
pub const CALL_PREVIEWS_COOKIE: &str = "tallybook_call_previews";
/// The mark on the document's root element that says the same to the styles.
pub(crate) const CALL_PREVIEWS_MARK: &str = "data-call-previews";

/// How a choice between two is kept.
pub const fn switch_name(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

/// What a reader chose, or what follows from the reader's browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preferences {
    /// In which language the page speaks.
    pub language: Language,
    /// How it is lit.
    pub theme: Theme,
    /// Whether the list of conversations is in sight.
    pub sidebar: Sidebar,
    /// Whether keys that are single characters do something. Who speaks to the computer needs them off (WCAG 2.1.4).
    pub single_keys: bool,
    /// Whether the reader's system tells the end of an answer in a hidden tab.
    pub notifications: bool,
    /// `true` if a collapsed tool call always shows a preview of its input and output.
    pub call_previews: bool,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            language: Language::default(),
            theme: Theme::default(),
            sidebar: Sidebar::default(),
            single_keys: true,
            notifications: false,
            call_previews: false,
        }
    }
}

/// The models that a reader chose for new chats, by their names. They may be gone from the catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewChatModels {
    /// The model that the reader set in the settings.
    pub default: Option<String>,
    /// The model that the reader chose last.
    pub last: Option<String>,
}

impl NewChatModels {
    /// Returns the first of them that the catalog has.
    pub(crate) fn find(&self, has: impl Fn(&str) -> bool) -> Option<&str> {
        [&self.default, &self.last].into_iter().flatten().map(String::as_str).find(|name| has(name))
    }
}

#[cfg(test)]
mod tests {
    use super::NewChatModels;

    #[test]
    fn a_new_chat_begins_with_the_first_model_that_is_there() {
        let named = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
        for (default, last, expected) in [
            ("A", "B", Some("A")),
            ("", "B", Some("B")),
            ("gone", "B", Some("B")),
            ("gone", "gone, too", None),
            ("", "", None),
        ] {
            let models = NewChatModels { default: named(default), last: named(last) };
            assert_eq!(models.find(|name| ["A", "B"].contains(&name)), expected, "{models:?}");
        }
    }
}
