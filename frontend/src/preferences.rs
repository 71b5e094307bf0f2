//! The user's preferences for the page. They are stored in cookies, so that the server renders the first page with
//! them and nothing flashes.

use serde::{Deserialize, Serialize};

use crate::language::Language;

/// The color theme of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// The theme of the user's system.
    #[default]
    System,
    /// Dark text on a light background.
    Light,
    /// Light text on a dark background.
    Dark,
}

impl Theme {
    /// All themes.
    pub const ALL: [Self; 3] = [Self::System, Self::Light, Self::Dark];

    /// Returns the theme with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|theme| theme.name() == name)
    }

    /// Returns the colors of the browser's own bars on a light and on a dark system. They are the background colors
    /// in `tokens.css`.
    pub(crate) const fn bar_colors(self) -> [&'static str; 2] {
        const LIGHT: &str = "#fcfaf5";
        const DARK: &str = "#191611";
        match self {
            Self::System => [LIGHT, DARK],
            Self::Light => [LIGHT, LIGHT],
            Self::Dark => [DARK, DARK],
        }
    }

    /// Returns the theme's name in cookies and styles.
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

/// State of the list of conversations on a wide screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sidebar {
    /// The list is beside the conversation.
    #[default]
    Shown,
    /// The list is hidden until the user opens it.
    Folded,
}

impl Sidebar {
    /// Returns the state with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Shown, Self::Folded].into_iter().find(|sidebar| sidebar.name() == name)
    }

    /// Returns the state's name in cookies and styles.
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

/// The cookie that holds `off` if shortcuts of a single character are disabled.
pub const SINGLE_KEYS_COOKIE: &str = "tallybook_single_keys";
/// The cookie that holds `on` if a system notification reports the end of an answer in a hidden tab.
pub const NOTIFICATIONS_COOKIE: &str = "tallybook_notifications";

/// The cookie that holds the name of the model that was chosen last.
pub const LAST_MODEL_COOKIE: &str = "tallybook_last_model";
/// The cookie that holds the name of the model that new chats begin with. It is empty if that is the last one chosen.
pub const NEW_CHAT_MODEL_COOKIE: &str = "tallybook_new_chat_model";
/// The cookie that holds `on` if tool calls show their input and output without being opened.
pub const CALL_PREVIEWS_COOKIE: &str = "tallybook_call_previews";
/// The attribute of the document's root element with the same value, for the styles.
pub(crate) const CALL_PREVIEWS_MARK: &str = "data-call-previews";

/// Returns the stored value of a switch.
pub const fn switch_name(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

/// Preferences that the user chose, or that follow from the user's browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preferences {
    /// Language of the page.
    pub language: Language,
    /// Color theme.
    pub theme: Theme,
    /// State of the list of conversations.
    pub sidebar: Sidebar,
    /// `true` if shortcuts of a single character are enabled. Users of speech input need to disable them (WCAG
    /// 2.1.4).
    pub single_keys: bool,
    /// `true` if a system notification reports the end of an answer in a hidden tab.
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

/// Names of the models that the user chose for new chats. The models may no longer be in the catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewChatModels {
    /// The model that the user set in the settings.
    pub default: Option<String>,
    /// The model that the user chose last.
    pub last: Option<String>,
}

impl NewChatModels {
    /// Returns the first of the two that the catalog has.
    pub(crate) fn find(&self, has: impl Fn(&str) -> bool) -> Option<&str> {
        [&self.default, &self.last].into_iter().flatten().map(String::as_str).find(|name| has(name))
    }
}

#[cfg(test)]
mod tests {
    use super::NewChatModels;

    #[test]
    fn a_new_chat_starts_with_the_first_available_model() {
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
