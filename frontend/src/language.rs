//! The languages of the page, and how one is chosen. What the page says in them is in `text`.

use leptos::prelude::use_context;

/// A language of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// Also for everybody whose language the page does not have.
    #[default]
    English,
    /// 日本語
    Japanese,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::English, Self::Japanese];

    /// The language with this code, as `ja` or `ja-JP`.
    pub fn from_code(code: &str) -> Option<Self> {
        let primary = code.split(['-', '_']).next().unwrap_or_default();
        Self::ALL.into_iter().find(|language| language.code().eq_ignore_ascii_case(primary))
    }

    /// Its code in HTML and in headers.
    pub const fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Japanese => "ja",
        }
    }

    /// Its name in itself, which is how those look for it who read no other.
    pub const fn name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::Japanese => "日本語",
        }
    }
}

/// The language of the page that is being drawn. To be asked while a component is built; it stays the same as long as the
/// page does.
pub(crate) fn use_language() -> Language {
    use_context().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Language;

    #[test]
    fn regions_and_case_do_not_matter_and_other_languages_are_unknown() {
        for code in ["ja", "ja-JP", "JA", "ja_JP"] {
            assert_eq!(Language::from_code(code), Some(Language::Japanese), "{code}");
        }
        assert_eq!(Language::from_code("en-GB"), Some(Language::English));
        for code in ["", "fr", "jam", "*"] {
            assert_eq!(Language::from_code(code), None, "{code}");
        }
    }
}
