//! Text of pages without scripts, in English and Japanese. Each page has its text in a module of its own.

/// Implements one method of a module's type `Messages`, which is a language, for each of these fixed texts.
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

/// Japanese message for an error of the server, whose details are in its log. In English, the error's own message is used.
pub(crate) const FAILED_IN_JAPANESE: &str = "サーバーで問題が発生しました。しばらくしてからもう一度お試しください。";
