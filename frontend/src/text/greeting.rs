//! How a new chat greets, by what can be asked for.

use crate::language::Language;

/// What the tools there are let one ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Greeting {
    /// There are none.
    Talk,
    /// They reckon, and do nothing else.
    Calculator,
    /// They do other things.
    Tools,
}

impl Language {
    /// How a new chat begins: what may be asked, and what becomes of it.
    pub(crate) const fn greeting(self, greeting: Greeting) -> (&'static str, &'static str) {
        let title = match (self, greeting) {
            (Self::English, Greeting::Calculator) => "What shall we work out?",
            (Self::English, Greeting::Tools) => "What shall we do?",
            (Self::English, Greeting::Talk) => "What would you like to know?",
            (Self::Japanese, Greeting::Calculator) => "何を計算しましょうか？",
            (Self::Japanese, Greeting::Tools) => "何をお手伝いしましょうか？",
            (Self::Japanese, Greeting::Talk) => "何について話しましょうか？",
        };
        let words = match (self, greeting) {
            (Self::English, Greeting::Talk) => {
                "Ask in your own words. There are no tools here: the model answers by itself."
            }
            (Self::English, _) => {
                "Ask in your own words. Every tool call is kept, with what went in, what came out and how long it took."
            }
            (Self::Japanese, Greeting::Talk) => {
                "ふだんの言葉でどうぞ。ここにはツールがないため、モデルだけで答えます。"
            }
            (Self::Japanese, _) => {
                "ふだんの言葉でどうぞ。ツール呼び出しは、入力・出力・所要時間とともにすべて記録されます。"
            }
        };
        (title, words)
    }
}
