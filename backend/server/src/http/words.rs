//! How pages without scripts have their words in each of the page's languages, side by side. What each says stands with it.

/// Gives the type `Words` of a module, which is a language, a method for each of these words that never change.
macro_rules! words {
    ($($name:ident: $english:literal, $japanese:literal;)*) => {
        impl Words {
            $(
                pub(super) const fn $name(self) -> &'static str {
                    match self.0 {
                        Language::English => $english,
                        Language::Japanese => $japanese,
                    }
                }
            )*
        }
    };
}

pub(super) use words;

/// What is said in Japanese of a failure of the server's own, which is in its log. In English the error says it.
pub(super) const FAILED_IN_JAPANESE: &str = "サーバーで問題が発生しました。しばらくしてからもう一度お試しください。";
