//! The greeting and the example questions of a new chat, which depend on the available tools.

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

    /// Example questions of the start page, each with the built-in tools that it uses. The demo model understands only
    /// arithmetic, so it has examples of its own.
    pub(crate) const fn examples(self, is_demo: bool) -> &'static [(&'static [&'static str], &'static str)] {
        const LONG: &[&str] = &["multiply"];
        const STEPS: &[&str] = &["add", "multiply"];
        const SHARE: &[&str] = &["add", "divide"];
        match (self, is_demo) {
            (Self::English, true) => &[
                (STEPS, "What is (12.5 + 7.25) × 4?"),
                (LONG, "Multiply 123456789012345678901234567890 by 987654321"),
                (SHARE, "Add 84.50, 36 and 14.50, then divide by 3"),
            ],
            (Self::Japanese, true) => &[
                (STEPS, "12.5と7.25を足して4倍して"),
                (LONG, "123456789012345678901234567890に987654321を掛けて"),
                (SHARE, "8450と3600と1450を足して3で割って"),
            ],
            (Self::English, false) => &[
                (&["multiply", "divide"], "Split a bill of 184.60 among 7 people, with a tip of 12.5 %"),
                (&["current_time"], "What time is it in Tokyo, in Berlin and in New York?"),
                (&["convert_units"], "How many kilometers is a marathon of 26.2 miles, and how warm is 72 °F?"),
                (LONG, "How many heartbeats are 80 years at 70 beats per minute?"),
                (&["add", "subtract"], "I earned 3,240.50 and spent 812.35, 640 and 129.99. How much is left?"),
                (&["evaluate"], "What do 5,000 grow to in 10 years at 4 % interest?"),
            ],
            (Self::Japanese, false) => &[
                (&["multiply", "divide"], "18,460円に12.5%のチップを足して、7人で割り勘にして"),
                (&["current_time"], "東京、ベルリン、ニューヨークは今何時？"),
                (&["convert_units"], "マラソンの26.2マイルは何キロ？ 72°Fは摂氏何度？"),
                (LONG, "1分間に70回の心拍は、80年間で何回になる？"),
                (&["add", "subtract"], "収入が324,050円で、支出が81,235円、64,000円、12,999円。いくら残る？"),
                (&["evaluate"], "500万円を年利4%で10年運用するといくらになる？"),
            ],
        }
    }

    /// Example questions for a model without tools.
    pub(crate) const fn examples_without_tools(self) -> [&'static str; 3] {
        match self {
            Self::English => [
                "Explain how a suspension bridge carries its load",
                "Draft a friendly reminder of an unpaid invoice",
                "Compare SQLite and MySQL for a small web application, as a table",
            ],
            Self::Japanese => [
                "吊り橋が重さを支える仕組みを説明して",
                "未払いの請求書について、丁寧な催促の文面を考えて",
                "小さなウェブアプリにはSQLiteとMySQLのどちらがよいか、表で比べて",
            ],
        }
    }
}
