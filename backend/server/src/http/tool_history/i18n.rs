//! Text of the admin pages, in English and Japanese.

use tallybook_frontend::{
    Language,
    format::{duration, size},
};
use tallybook_protocol::{
    ApprovalScope, DeciderKind, Decision, MessageStatus, PlanStepStatus, Rating, ToolCallStatus, Verdict,
};
use tallybook_tool_history::{
    Deletion, FilterError, MAX_RERUN_INPUT_BYTES, ModelCallOfTurnRow, NoRerun, RerunState, statuses,
};

use super::{super::i18n::messages, format};

/// The text in one language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Messages(pub(crate) Language);

messages! {
    tool_history: "Tool history", "ツールの履歴";
    back_to_chat: "Back to chat", "チャットに戻る";
    back_to_list: "All tool calls", "すべてのツール呼び出し";
    filter: "Filter", "絞り込み";
    filter_hint:
        "tool: server: status: user: conversation: model: rating: since: until: slow:>5s, words and “phrases”. Times are UTC.",
        "tool: server: status: user: conversation: model: rating: since: until: slow:>5s、語句、\"フレーズ\"。時刻はUTCです。";
    leave_out: "remove", "外す";
    order: "Order", "並び順";
    newest: "Newest first", "新しい順";
    slowest: "Slowest first", "遅い順";
    show: "Show", "表示";
    examples: "Try", "例";
    calls: "Tool calls", "ツール呼び出し";
    time: "Time", "時刻";
    tool: "Tool", "ツール";
    server: "Server", "サーバー";
    status_title: "Status", "状態";
    duration: "Duration", "所要時間";
    size: "Size", "サイズ";
    person: "User", "ユーザー";
    assistant: "Assistant", "アシスタント";
    input: "Input", "入力";
    proposed_input: "Input proposed by the model", "モデルが提案した入力";
    output: "Output", "出力";
    error: "Error", "エラー";
    model: "Model", "モデル";
    began: "Started", "開始";
    ended: "Ended", "終了";
    decided: "Decided", "承認の判断";
    error_kind: "Error type", "エラーの種類";
    turn: "Turn", "ターン";
    title: "Conversation", "会話";
    playback: "Replay of this turn", "このターンの過程";
    back_to_call: "Back to the call", "呼び出しに戻る:";
    first_moment: "Beginning", "最初";
    moment_before: "Step back", "1つ戻る";
    moment_after: "Step forward", "1つ進む";
    last_moment: "End", "最後";
    pause: "Pause", "一時停止";
    no_record: "The recording of this turn is no longer stored, so it cannot be replayed.", "このターンの記録は保存期間が過ぎたため、再生できません。";
    record_cut: "This turn is long. Only its beginning can be played.", "長いターンのため、再生できるのは最初の部分だけです。";
    provider_id: "Provider's ID", "提供元のID";
    open_conversation: "Open the conversation at this call", "この呼び出しの位置で会話を開く";
    offline:
        "The server is unreachable. Nothing on this page is lost. Try again in a moment.",
        "サーバーに接続できません。このページの内容は失われていません。しばらくしてから、もう一度お試しください。";
    cut: "Only the beginning is shown.", "先頭部分のみ表示しています。";
    summed_up: "Earlier messages were summarized to fit the model's context", "以前のメッセージは、モデルのコンテキストに収まるように要約されました";
    left_out: "Earlier messages were left out to fit the model's context", "以前のメッセージは、モデルのコンテキストに収まるように省略されました";
    feedback: "Feedback on the answer", "回答への評価";
    votes: "Votes of the reviewing models", "レビューモデルの判定";
    decisions: "Decisions", "承認の判断";
    by: "by", "判断者:";
    withheld:
        "To see the inputs of another user's calls, give a reason: open one of the calls, or search in their text.",
        "ほかのユーザーの呼び出しの入力は、理由を入力すると表示されます。呼び出しを開くか、入出力の文字列を検索してください。";
    timeline: "The turn's timeline", "ターンのタイムライン";
    this_call: "this call", "この呼び出し";
    nothing: "No tool calls match. Clear filters or widen the dates.",
        "一致するツール呼び出しはありません。絞り込みを解除するか、期間を広げてください。";
    nothing_further: "No more tool calls.", "これ以上はありません。";
    none_yet: "No matches so far.", "まだ見つかっていません。";
    incomplete: "The search timed out.", "検索が時間切れになりました。";
    search_older: "Search older calls", "さらに古い呼び出しを検索";
    older: "Next page", "次のページ";
    first: "First page", "最初のページ";
    whole_conversation: "From the beginning", "最初から";
    empty_conversation: "This conversation has no messages.", "この会話にはメッセージがありません。";
    export: "Export these calls", "これらの呼び出しを書き出す";
    figures: "Statistics", "集計";
    last_day: "24 hours", "24時間";
    last_week: "7 days", "7日間";
    last_month: "30 days", "30日間";
    range: "Time", "期間";
    calls_an_hour: "Calls per hour", "1時間ごとの呼び出し";
    of_tools: "Tools", "ツール";
    of_models: "Models", "モデル";
    of_people: "Users", "ユーザー";
    of_purposes: "Purposes", "モデルの用途";
    of_ratings: "Ratings of answers", "回答への評価";
    of_files: "Files", "ファイル";
    of_days: "Days", "日別";
    failed_share: "Failed", "失敗";
    half_within: "Median", "所要時間（中央値）";
    most_within: "95th percentile", "所要時間（95パーセンタイル）";
    plan: "Plan", "計画";
    reasoning: "Reasoning", "思考の過程";
    copied_calls:
        "These calls ran in another conversation, from which this message was copied.",
        "これらの呼び出しは、このメッセージのコピー元の会話で実行されました。";
    model_calls: "Model calls", "モデル呼び出し";
    tokens_in: "Tokens in", "入力トークン";
    tokens_out: "Tokens out", "出力トークン";
    cost: "Cost", "費用";
    name: "Name", "名前";
    nothing_happened: "No data for this period.", "この期間のデータはありません。";
    why_title: "Reason for access", "閲覧の理由";
    why_label: "Reason", "理由";
    why_hint: "The owner can see your name, the time, and this reason. Access lasts for one hour.",
        "閲覧された本人に、閲覧者・日時・この理由が表示されます。1時間有効です。";
    why_submit: "View", "閲覧する";
    deleted: "deleted", "削除済み";
    rerun_title: "Run again", "再実行";
    rerun_label: "Input of the re-run", "再実行の入力";
    rerun_hint: "Runs the tool again now. The history does not change. The result is recorded here with your name.",
        "ツールを今もう一度実行します。履歴は変わらず、結果はあなたの名前とともにここに残ります。";
    rerun_submit: "Run again", "再実行する";
    then: "Original", "元の呼び出し";
    again: "Re-run", "再実行";
    no_result: "No result yet. Reload this page to check again.", "まだ結果がありません。ページを再読み込みしてください。";
    earlier_reruns: "All re-runs, newest first", "再実行の一覧（新しい順）";
    changed_meanwhile:
        "Another admin changed these settings. Your changes are kept, and the other fields show the new settings. Check them, then save again.",
        "この設定は別の管理者によって変更されました。あなたの変更は残っています。ほかの項目には新しい設定が表示されています。確認して、もう一度保存してください。";
    nothing_title: "Not found", "見つかりません";
}

impl Messages {
    /// Returns the label of a call's status.
    pub(crate) fn status(self, status: ToolCallStatus) -> &'static str {
        let (english, japanese) = match status {
            ToolCallStatus::Pending => ("Running", "実行中"),
            ToolCallStatus::AwaitingApproval => ("Awaiting approval", "承認待ち"),
            ToolCallStatus::Success => ("Done", "完了"),
            ToolCallStatus::Error => ("Failed", "失敗"),
            ToolCallStatus::Denied => ("Denied", "拒否"),
            ToolCallStatus::Cancelled => ("Cancelled", "中止"),
            ToolCallStatus::Interrupted => ("Interrupted", "中断"),
            ToolCallStatus::Unknown => ("Unknown", "不明"),
        };
        self.of(english, japanese)
    }

    /// Returns the label of a plan step's status.
    pub(crate) fn step_status(self, status: PlanStepStatus) -> &'static str {
        let (english, japanese) = match status {
            PlanStepStatus::Pending => ("Not started", "未着手"),
            PlanStepStatus::Executing => ("Not finished", "未完了"),
            PlanStepStatus::Completed => ("Done", "完了"),
            PlanStepStatus::Failed => ("Failed", "失敗"),
            PlanStepStatus::Unknown => ("Unknown", "不明"),
        };
        self.of(english, japanese)
    }

    /// Describes the number of attempts of a step.
    pub(crate) fn attempts(self, attempts: i32) -> String {
        match self.0 {
            Language::English => format!("{attempts} attempts"),
            Language::Japanese => format!("{attempts}回試行"),
        }
    }

    /// Returns the label of a model call's purpose.
    pub(crate) fn purpose(self, purpose: &str) -> String {
        self.0.purpose(purpose)
    }

    /// Returns the label of a turn's status.
    pub(crate) fn turn_status(self, status: MessageStatus) -> &'static str {
        let (english, japanese) = match status {
            MessageStatus::Complete => ("Complete", "完了"),
            MessageStatus::Streaming => ("Running", "実行中"),
            MessageStatus::Stopped => ("Stopped", "停止"),
            MessageStatus::Failed => ("Failed", "失敗"),
            MessageStatus::Interrupted => ("Interrupted", "中断"),
            MessageStatus::AwaitingApproval => ("Awaiting approval", "承認待ち"),
            MessageStatus::Unknown => ("Unknown", "不明"),
        };
        self.of(english, japanese)
    }

    /// Returns the label of a decision on a call, with its scope.
    pub(crate) fn decision(self, decision: Decision, scope: Option<ApprovalScope>) -> &'static str {
        let (english, japanese) = match (decision, scope) {
            (Decision::Approve, Some(ApprovalScope::Conversation)) => {
                ("Allowed in this conversation", "この会話で許可")
            }
            (Decision::Approve, Some(ApprovalScope::Always)) => ("Always allowed", "常に許可"),
            (Decision::Approve, None) => ("Allowed once", "今回だけ許可"),
            (Decision::Deny, _) => ("Denied", "拒否"),
        };
        self.of(english, japanese)
    }

    /// Names the decider of a call.
    pub(crate) fn decided_by(self, kind: DeciderKind, name: &str) -> String {
        match kind {
            DeciderKind::User => format!("{} {name}", self.by()),
            DeciderKind::Review => self.of("by the reviewing models", "レビューモデルによる").to_owned(),
            DeciderKind::Timeout => self.of("because the approval timed out", "期限までに承認なし").to_owned(),
            DeciderKind::Unknown => format!("{} “{name}”", self.by()),
        }
    }

    /// Returns the label of a rating.
    pub(crate) fn rating(self, rating: Rating) -> &'static str {
        let (english, japanese) = match rating {
            Rating::Up => ("Good answer", "良い回答"),
            Rating::Down => ("Bad answer", "良くない回答"),
        };
        self.of(english, japanese)
    }

    /// Returns the label of a reviewing model's vote.
    pub(crate) fn verdict(self, verdict: Verdict) -> &'static str {
        let (english, japanese) = match verdict {
            Verdict::Approve => ("approves", "承認"),
            Verdict::Reject => ("rejects", "却下"),
            Verdict::Abstain | Verdict::Unknown => ("abstains", "保留"),
        };
        self.of(english, japanese)
    }

    /// Formats a duration in milliseconds, as the chat does.
    pub(crate) fn duration_text(self, ms: i64) -> String {
        duration(self.0, ms)
    }

    /// Formats a size in bytes, as the chat does.
    pub(crate) fn size_text(self, bytes: i64) -> String {
        size(self.0, bytes)
    }

    /// Describes when something began within its turn, and how long it took.
    pub(crate) fn began_and_took(self, after: &str, took: &str) -> String {
        match self.0 {
            Language::English => format!("started after {after}, took {took}"),
            Language::Japanese => format!("{after}後に開始、所要{took}"),
        }
    }

    /// Describes the tokens of a model call.
    pub(crate) fn tokens(self, input: &str, output: &str) -> String {
        match self.0 {
            Language::English => format!("{input} tokens in, {output} out"),
            Language::Japanese => format!("入力{input}トークン、出力{output}トークン"),
        }
    }

    /// Describes the tokens and cost of a model call, and the number of attempts and the error if they matter.
    pub(crate) fn model_call(self, row: &ModelCallOfTurnRow) -> String {
        let tokens = self.tokens(&format::number(row.input_tokens), &format::number(row.output_tokens));
        let cost = row.cost_nanos.map(|nanos| self.cost_of(&format::cost(nanos)));
        let attempts = (row.attempts > 1).then(|| format!("×{}", row.attempts));
        let all = [Some(tokens), cost, attempts, row.error.clone()];
        all.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    fn cost_of(self, cost: &str) -> String {
        match self.0 {
            Language::English => format!("cost {cost}"),
            Language::Japanese => format!("費用{cost}"),
        }
    }

    /// Describes when the owner deleted something, and when it is purged from the tool history.
    pub(crate) fn deleted_by_owner(self, deletion: &Deletion) -> String {
        let (at, purged_at) = (format::time(&deletion.at), format::time(&deletion.purged_at));
        match self.0 {
            Language::English => {
                format!(
                    "Its owner deleted this on {at} UTC. It will be purged from the tool history after {purged_at} UTC."
                )
            }
            Language::Japanese => {
                format!("所有者が{at}（UTC）に削除しました。{purged_at}（UTC）を過ぎると、この履歴からも消去されます。")
            }
        }
    }

    /// Describes a re-run: its user, time, status, and duration.
    pub(crate) fn rerun(self, state: RerunState, by: &str, time: &str, took: Option<String>) -> String {
        let (english, japanese) = match state {
            RerunState::Running => ("running", "実行中"),
            RerunState::Success => ("done", "完了"),
            RerunState::Error => ("failed", "失敗"),
            RerunState::Unknown => {
                ("unknown: the server stopped before the re-run ended", "不明（実行中にサーバーが終了しました）")
            }
        };
        let took = took.map(|took| format!(", {took}")).unwrap_or_default();
        match self.0 {
            Language::English => format!("By {by}, {time} UTC: {english}{took}"),
            Language::Japanese => format!("{by}、{time} UTC: {japanese}{took}"),
        }
    }

    /// Returns the reason why a call cannot be re-run.
    pub(crate) fn no_rerun(self, problem: NoRerun) -> String {
        if self.0 == Language::English {
            return problem.to_string();
        }
        match problem {
            NoRerun::Open => {
                "この呼び出しはまだ終わっていないため、再実行できません。終わるまでお待ちください。".to_owned()
            }
            NoRerun::Gone => "このツールは現在利用できないため、再実行できません。".to_owned(),
            NoRerun::HighRisk => {
                "このツールは何かを変更する可能性があり、毎回本人の承認が必要なため、再実行できません。".to_owned()
            }
            NoRerun::Changed => {
                "このツールはその後変更されており、結果を比べられないため、再実行できません。".to_owned()
            }
            NoRerun::Secret => {
                "このツールの引数には秘密の値が含まれ、その値は保存されないため、再実行できません。".to_owned()
            }
            NoRerun::TooLong => {
                format!("入力が{}kBを超えているため、再実行できません。", MAX_RERUN_INPUT_BYTES / 1024)
            }
        }
    }

    /// Returns a notice that some hours are not counted yet.
    pub(crate) fn missing_hours(self, hours: usize) -> String {
        match self.0 {
            Language::English => format!("{hours} hours are still being counted and are not included yet."),
            Language::Japanese => format!("{hours}時間分は集計中のため、まだ含まれていません。"),
        }
    }

    /// Returns the error message for a filter that is not valid.
    pub(crate) fn filter_problem(self, error: &FilterError) -> String {
        if self.0 == Language::English {
            return error.to_string();
        }
        match error {
            FilterError::TooMuch => "条件が多すぎるか、長すぎます。".to_owned(),
            FilterError::OpenQuote => {
                "引用符が閉じていません。引用符そのものを探すには \\\" と書いてください。".to_owned()
            }
            FilterError::AfterQuote => "引用符の後には空白を入れてください。".to_owned(),
            FilterError::UnknownField(name) => {
                format!("「{name}:」という条件はありません。コロンを含む語句は引用符で囲んでください。")
            }
            FilterError::Empty(name) => format!("「{name}:」の値がありません。"),
            FilterError::Twice(name) => format!("「{name}:」が2回指定されています。1回だけ指定できます。"),
            FilterError::Status(status) => {
                format!("「{status}」という状態はありません。指定できるのは {} です。", statuses())
            }
            FilterError::Rating(rating) => {
                format!("「{rating}」という評価はありません。指定できるのは up と down です。")
            }
            FilterError::Conversation(id) => format!("「{id}」は会話のIDではありません。会話のアドレスにあります。"),
            FilterError::Time(time) => {
                format!(
                    "「{time}」は時刻として読めません。2026-11-01、2026-11-01T12:30（UTC）、7d、24h、30m のように書いてください。"
                )
            }
            FilterError::Slow(slow) => {
                format!("「{slow}」は所要時間として読めません。>5s、<200ms、>1.5m、>1h のように書いてください。")
            }
        }
    }

    const fn of(self, english: &'static str, japanese: &'static str) -> &'static str {
        match self.0 {
            Language::English => english,
            Language::Japanese => japanese,
        }
    }
}
