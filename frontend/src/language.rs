//! The languages of the page. Their texts are in `text`.

use leptos::prelude::use_context;

/// A language of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// Also the fallback for languages that the page does not support.
    #[default]
    English,
    /// 日本語
    Japanese,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 2] = [Self::English, Self::Japanese];

    /// Returns the language with this code, such as `ja` or `ja-JP`.
    pub fn from_code(code: &str) -> Option<Self> {
        let primary = code.split(['-', '_']).next().unwrap_or_default();
        Self::ALL.into_iter().find(|language| language.code().eq_ignore_ascii_case(primary))
    }

    /// Returns the code for HTML and HTTP headers.
    pub const fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Japanese => "ja",
        }
    }

    /// Returns the language's name in the language itself, so that its speakers recognize it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::Japanese => "日本語",
        }
    }
}

/// Returns the language of the page. Call it while a component is created; the language stays the same until the page
/// is reloaded.
pub(crate) fn use_language() -> Language {
    use_context().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Language;

    #[test]
    fn region_and_case_are_ignored_and_other_languages_are_unknown() {
        for code in ["ja", "ja-JP", "JA", "ja_JP"] {
            assert_eq!(Language::from_code(code), Some(Language::Japanese), "{code}");
        }
        assert_eq!(Language::from_code("en-GB"), Some(Language::English));
        for code in ["", "fr", "jam", "*"] {
            assert_eq!(Language::from_code(code), None, "{code}");
        }
    }
}
