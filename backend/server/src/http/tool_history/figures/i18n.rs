//! Text of the statistics page, in English and Japanese.

use tallybook_frontend::Language;

use super::super::{super::i18n::messages, i18n::Messages};

messages! {
    failed_an_hour: "Failed calls per hour", "1時間ごとの失敗率";
    cost_a_day: "Cost per day", "1日ごとの費用";
    tokens_a_day: "Tokens per day", "1日ごとのトークン";
    highest: "Maximum", "最大値";
    all_rows: "Show all", "すべて表示";
    bars:
        "A bar's length is relative to the largest value of its column. Failed calls are relative to all calls of the \
         tool. Both duration columns share one scale.",
        "各棒の長さは、その列の最大値に対する割合です。失敗はそのツールの全呼び出しに対する割合、2つの所要時間は共通の尺度です。";
    bars_of_column:
        "A bar's length is relative to the largest value of its column.",
        "各棒の長さは、その列の最大値に対する割合です。";
}

impl Messages {
    /// Describes the total of calls, and the hour with the most calls.
    pub(crate) fn total(self, calls: &str, failed: &str, most: &str, at: &str) -> String {
        match self.0 {
            Language::English => {
                format!("{calls} calls, of which {failed} failed. Most in one hour: {most}, from {at} UTC.")
            }
            Language::Japanese => {
                format!(
                    "呼び出しは{calls}件、うち{failed}が失敗しました。最も多かったのは{at}（UTC）からの1時間で、{most}件です。"
                )
            }
        }
    }

    /// Describes the calls of one hour.
    pub(crate) fn calls_of_hour(self, at: &str, calls: &str) -> String {
        match self.0 {
            Language::English => format!("{at} UTC: {calls} calls"),
            Language::Japanese => format!("{at} UTC: {calls}件"),
        }
    }

    /// Describes the share of failed calls in one hour.
    pub(crate) fn failed_of_hour(self, at: &str, failed: &str, calls: &str) -> String {
        match self.0 {
            Language::English => format!("{at} UTC: {failed} of {calls} calls"),
            Language::Japanese => format!("{at} UTC: {calls}件中{failed}が失敗"),
        }
    }

    /// Describes the share of failed calls in total, and the hour with the highest share.
    pub(crate) fn failed_of_all(self, failed: &str, worst: &str, calls: &str, at: &str) -> String {
        match self.0 {
            Language::English => {
                format!("{failed} of all calls failed. Most in one hour: {worst} of {calls} calls, from {at} UTC.")
            }
            Language::Japanese => {
                format!(
                    "失敗率は全体で{failed}です。最も高かったのは{at}（UTC）からの1時間で、{calls}件中{worst}です。"
                )
            }
        }
    }

    /// Describes the cost of all days, and the day with the highest cost.
    pub(crate) fn cost_of_days(self, cost: &str, most: &str, day: &str) -> String {
        match self.0 {
            Language::English => format!("{cost} in total. Most on one day: {most}, on {day}."),
            Language::Japanese => format!("合計{cost}。最も多い日は{day}の{most}です。"),
        }
    }

    /// Describes the tokens of all days, and the day with the most tokens.
    pub(crate) fn tokens_of_days(self, tokens: &str, most: &str, day: &str) -> String {
        match self.0 {
            Language::English => format!("{tokens}. Most on one day: {most}, on {day}."),
            Language::Japanese => format!("{tokens}。最も多い日は{day}の{most}トークンです。"),
        }
    }

    /// Describes the tools that have no row of their own.
    pub(crate) fn more_tools(self, tools: usize, calls: &str) -> String {
        match self.0 {
            Language::English => format!("And {tools} more, with {calls} calls in total."),
            Language::Japanese => format!("ほかに{tools}件、呼び出しは合わせて{calls}件です。"),
        }
    }

    /// Describes the model usage that has no row of its own.
    pub(crate) fn more_usage(self, rows: usize, cost: &str) -> String {
        match self.0 {
            Language::English => format!("And {rows} more, with a total cost of {cost}."),
            Language::Japanese => format!("ほかに{rows}件、費用は合わせて{cost}です。"),
        }
    }
}
