//! The greeting of a new chat, which depends on the available tools.

use crate::language::Language;

/// Kind of greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Greeting {
    /// No tools are available.
    Talk,
    /// All tools are calculators.
    Calculator,
    /// Other tools are available.
    Tools,
}

impl Language {
    /// Returns the heading of a new chat and the sentence below it.
    pub(crate) const fn greeting(self, greeting: Greeting) -> (&'static str, &'static str) {
        let title = match (self, greeting) {
            (Self::English, Greeting::Calculator) => "What shall we work out?",
            (Self::English, Greeting::Tools) => "What shall we do?",
            (Self::English, Greeting::Talk) => "What would you like to know?",
            (Self::Japanese, Greeting::Calculator) => "何を計算しましょうか？",
            (Self::Japanese, Greeting::Tools) => "何をお手伝いしましょうか？",
            (Self::Japanese, Greeting::Talk) => "何について話しましょうか？",
        };
        let lead = match (self, greeting) {
            (Self::English, Greeting::Talk) => {
                "Ask in your own words. This server has no tools, so the model answers on its own."
            }
            (Self::English, _) => {
                "Ask in your own words. Tallybook records the input, output and duration of every tool call."
            }
            (Self::Japanese, Greeting::Talk) => {
                "ふだんの言葉でお尋ねください。ツールがないため、モデルだけで回答します。"
            }
            (Self::Japanese, _) => {
                "ふだんの言葉でお尋ねください。ツール呼び出しの入力・出力・所要時間は、すべて記録されます。"
            }
        };
        (title, lead)
    }
}
