//! Texts about an answer: its progress, its end, and its usage.

use tallybook_protocol::Usage;

use crate::{format, language::Language, session::AnswerEnd, transcript::Tally, waiting::Waiting};

impl Language {
    /// Error for a message that does not fit in the queue of `most` messages.
    pub(crate) fn queue_is_full(self, most: usize) -> String {
        match self {
            Self::English => format!("The queue is full ({most} messages). Send this message when there is room."),
            Self::Japanese => {
                format!("送信待ちが上限の{most}件に達しています。空きができてから送信してください。")
            }
        }
    }

    /// Says what an answer waits for. `long`: it has already waited for long.
    pub(crate) fn waiting(self, waiting: &Waiting, long: bool) -> String {
        match (self, waiting) {
            (_, Waiting::Model) => if long { self.still_waiting() } else { self.thinking() }.to_owned(),
            (_, Waiting::Provider { code, .. }) => self.provider_problem(code).to_owned(),
            (Self::English, Waiting::Call { name, .. }) => format!("Preparing a call to {}…", format::tool_name(name)),
            (Self::Japanese, Waiting::Call { name, .. }) => {
                format!("{}の呼び出しを準備しています…", format::tool_name(name))
            }
        }
    }

    /// Says when the next attempt starts.
    pub(crate) fn retrying(self, seconds: u64, attempt: u32, attempts: u32) -> String {
        match self {
            Self::English => format!("Retrying in {seconds} s ({attempt} of {attempts})"),
            Self::Japanese => format!("{seconds}秒後に再試行します（{attempts}回中{attempt}回目）"),
        }
    }

    /// Returns the waiting time so far.
    pub(crate) fn waited(self, seconds: u64) -> String {
        match self {
            Self::English => format!("{seconds}s"),
            Self::Japanese => format!("{seconds}秒"),
        }
    }

    /// Says when the next attempt to reconnect starts.
    pub(crate) fn reconnecting(self, seconds: u64) -> String {
        match self {
            Self::English => format!("Reconnecting… (retrying in {seconds}s)"),
            Self::Japanese => format!("再接続しています…（{seconds}秒後に再試行）"),
        }
    }

    /// Notice under an answer that the provider ended early.
    pub(crate) fn cut_off_because(self, reason: &str) -> String {
        match self {
            Self::English => format!("The provider ended this answer early. Reason: {reason}"),
            Self::Japanese => format!("モデルの提供元が回答を途中で打ち切りました。理由: {reason}"),
        }
    }

    /// Notice under a stopped answer, with the outcomes of its calls.
    pub(crate) fn stopped(self, calls: Tally) -> String {
        let Tally { finished, denied, cancelled, unclear } = calls;
        if self == Self::Japanese {
            let ways =
                [(finished, "件完了"), (denied, "件拒否"), (cancelled, "件中止"), (unclear, "件は実行中の可能性あり")];
            let said = ways.into_iter().filter(|(count, _)| *count > 0).map(|(count, way)| format!("{count}{way}"));
            let said = said.collect::<Vec<_>>().join("、");
            let of_calls = if said.is_empty() { said } else { format!("（ツール呼び出し: {said}）") };
            return format!("停止しました{of_calls}。ここまでの内容は保存されています。");
        }
        let ways = [
            (finished, "had finished", "had finished"),
            (denied, "was denied", "were denied"),
            (cancelled, "was cancelled", "were cancelled"),
            (unclear, "may still be running", "may still be running"),
        ];
        let mut said = Vec::new();
        for (count, of_one, of_many) in ways.into_iter().filter(|(count, ..)| *count > 0) {
            let end = if count == 1 { of_one } else { of_many };
            said.push(match (said.is_empty(), count) {
                (true, 1) => format!("1 tool call {end}"),
                (true, _) => format!("{count} tool calls {end}"),
                (false, _) => format!("{count} {end}"),
            });
        }
        let of_calls = if said.is_empty() { String::new() } else { format!(" {}.", said.join(", ")) };
        format!("Stopped.{of_calls} Everything so far is saved.")
    }

    /// Tokens and cost of an answer.
    pub(crate) fn usage(self, usage: Usage) -> String {
        let [read, written] = [usage.input_tokens, usage.output_tokens].map(format::count_of);
        let cost = usage.cost_nanos.map(format::amount);
        match (self, cost) {
            (Self::English, None) => format!("{read} tokens in · {written} out"),
            (Self::English, Some(cost)) => format!("{read} tokens in · {written} out · cost {cost}"),
            (Self::Japanese, None) => format!("入力 {read}・出力 {written}トークン"),
            (Self::Japanese, Some(cost)) => format!("入力 {read}・出力 {written}トークン・費用 {cost}"),
        }
    }

    /// Total of tokens and cost of a conversation.
    pub(crate) fn total_usage(self, usage: Usage) -> String {
        let usage = self.usage(usage);
        match self {
            Self::English => format!("Total: {usage}"),
            Self::Japanese => format!("合計: {usage}"),
        }
    }

    /// Returns the announcement of an answer's end for screen readers.
    pub(crate) const fn answer_end(self, end: AnswerEnd) -> &'static str {
        match end {
            AnswerEnd::Complete => self.answer_completed(),
            AnswerEnd::Stopped => self.answer_was_stopped(),
            AnswerEnd::Failed => self.answer_failed(),
            AnswerEnd::CutOff => self.answer_incomplete(),
        }
    }
}
