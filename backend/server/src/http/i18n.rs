//! Text of pages without scripts, in English and Japanese. Each page has its text in a module of its own.

/// Implements a method of the calling module's type `Messages` for each of these texts. The method returns the text in
/// the language that `Messages` contains.
macro_rules! messages {
    ($($name:ident: $english:literal, $japanese:literal;)*) => {
        impl Messages {
            $(
                pub(crate) const fn $name(self) -> &'static str {
                    match self.0 {
                        Language::English => $english,
                        Language::Japanese => $japanese,
                    }
                }
            )*
        }
    };
}

pub(crate) use messages;

/// Japanese message for server errors, whose details are in the log. In English, the error's own message is used.
pub(crate) const FAILED_IN_JAPANESE: &str = "サーバーで問題が発生しました。しばらくしてからもう一度お試しください。";
