//! What is said of what a model does: of the tools on offer, of its thinking, of calls that wait for somebody's decision, and of how far a call is.

use tallybook_protocol::{ApprovalScope, DeciderKind, Decision, ToolServerInfo, Verdict};

use crate::{
    language::Language,
    transcript::{Decided, Progress},
};

texts! {
    tool_texts;

    // The tools on offer.
    tools_title: "Tools", "ツール";
    tools_choose: "Choose tools", "ツールを選ぶ";
    tools_note:
        "A tool that is off is not offered to the model in this conversation.",
        "オフにしたツールは、この会話ではモデルに提供されません。";
    tools_close: "Close", "閉じる";
    tools_find: "Find a tool", "ツールを検索";
    tools_loading: "Loading the tools…", "ツールを読み込んでいます…";
    tools_none:
        "There are no tools here yet. CONTRIBUTING.md says how to add one, and the README how to connect a tool server.",
        "ツールはまだありません。追加の方法はCONTRIBUTING.mdを、ツールサーバーへの接続方法はREADMEをご覧ください。";
    tools_built_in: "Built in", "内蔵";
    server_connected: "connected", "接続済み";
    server_connecting: "connecting…", "接続しています…";
    server_failed: "not connected", "未接続";
    server_connecting_note: "Its tools are offered once it is connected.", "接続が済むと、ツールが提供されます。";
    server_failed_note:
        "Its tools are not offered meanwhile. Tallybook goes on trying; check its address and token in the settings, and its log.",
        "接続できるまで、ツールは提供されません。Tallybookは接続を試し続けます。設定のアドレスとトークン、サーバーのログを確認してください。";
    risk_low: "low risk", "低リスク";
    risk_low_about: "Runs without asking", "確認なしで実行されます";
    risk_high: "high risk", "高リスク";
    risk_high_about: "May change things, so it asks before it runs", "変更を伴う可能性があるため、実行の前に確認します";
    tool_was_changed:
        "Its definition is not accepted yet: the server changed it, or added the tool later.",
        "定義がまだ受け入れられていません。サーバーが変更したか、後から追加したツールです。";
    tool_accept: "Accept it as it is now", "今の内容で受け入れる";
    tools_left_out: "Left out", "提供されないツール";

    // What a model shows of its thinking.
    thought: "Thought", "思考の内容";
    thought_is_cut: "There was more than is kept.", "以降は保存されていません。";

    // Calls that wait for a decision.
    decision_needed: "A decision is needed", "承認が必要です";
    awaiting_badge: "Waits for your decision", "承認待ち";
    decide_first:
        "A tool call waits for your decision. Decide on it first, or stop the answer.",
        "ツール呼び出しが承認を待っています。先に許可または拒否するか、回答を停止してください。";
    send_after_decision:
        "Decide above first. What you send now waits for the end of the answer.",
        "先に呼び出しを許可または拒否してください。今送信したメッセージは、回答が終わってから送信されます。";
    decide_soon:
        "You can decide as soon as the other calls of this step have ended.",
        "このステップのほかの呼び出しが終わると、許可または拒否できます。";
    risk_of_tool:
        "It may change something outside of this conversation, and that cannot be undone here.",
        "この会話の外にあるものを変更する可能性があり、ここから元に戻すことはできません。";
    allow_once: "Allow once", "今回だけ許可";
    show_input_first: "Show all of the input first", "先に入力をすべて表示";
    see_all_first:
        "Show all of each input first, and end what you edit",
        "先にすべての入力を表示し、編集を終えてください";
    allow_from_now_on: "Allow from now on", "今後も許可";
    how_far: "How far this reaches", "許可の範囲";
    deny: "Deny", "拒否";
    deny_reason: "Why not? The model is told (optional)", "拒否の理由（任意・モデルに伝えられます）";
    change_input: "Edit input", "入力を編集";
    change_input_further: "Continue editing the input", "入力の編集を再開";
    leave_input: "Leave it as it was", "元のままにする";
    input_as_json: "Input as JSON", "入力（JSON）";
    input_is_no_object: "The input must be one object: { … }", "入力は1つのオブジェクト { … } にしてください";
    show_calls: "Show", "表示";
    allow_all: "Allow all once", "すべて今回だけ許可";
    deny_all: "Deny all", "すべて拒否";
    reviews: "Reviewers", "レビュー";
    verdict_approve: "approves", "賛成";
    verdict_reject: "rejects", "反対";
    verdict_abstain: "abstains", "棄権";
    proposed_input: "Proposed by the model", "モデルの提案";
    changed_input: "Input, changed by you", "入力（変更済み）";
    denied_because: "Reason", "理由";
    error_type: "Kind of error", "エラーの種類";
    call_allowed: "allowed, runs next", "許可済み・実行待ち";
    key_choose: "Decide on the waiting call that has the focus", "フォーカスのある承認待ちの呼び出しを許可・拒否";

    // Standing approvals.
    approvals: "Standing approvals", "継続的な許可";
    approvals_none: "Every call of high risk asks first.", "高リスクの呼び出しは、すべて先に確認されます。";
    approval_always: "always", "すべての会話";
    approval_here: "in this conversation", "この会話のみ";
    approval_in_one: "in one conversation", "1つの会話のみ";
    revoke: "Revoke", "取り消す";
}

impl Language {
    /// What a tool does, and the language of that: its description, which is written for models, in English; of Tallybook's own
    /// tools in the page's language. Those of servers have two underscores in their names.
    pub(crate) fn tool_about(self, name: &str, description: String) -> (String, &'static str) {
        match self.own_tool(name) {
            Some(about) => (about.to_owned(), self.code()),
            None => (description, Self::English.code()),
        }
    }

    fn own_tool(self, name: &str) -> Option<&'static str> {
        let about = match (self, name) {
            (Self::Japanese, "add") => "2つの数を10進数で正確に足します。0.1 + 0.2 は 0.3 になります。",
            (Self::Japanese, "subtract") => "ある数から別の数を、10進数で正確に引きます。",
            (Self::Japanese, "multiply") => "2つの数を10進数で正確に掛けます。積の桁は省略されません。",
            (Self::Japanese, "divide") => "ある数を別の数で割り、有効数字34桁まで求めます。",
            (Self::Japanese, "evaluate") => {
                "式を浮動小数点数（有効数字は約16桁）で計算します。べき乗、平方根、対数、三角関数などが使えます。"
            }
            (Self::Japanese, "current_time") => "指定したタイムゾーンの現在の日付、曜日、時刻を答えます。",
            (Self::Japanese, "convert_units") => "長さ、面積、質量、温度、速度などの量を、別の単位に換算します。",
            (Self::Japanese, "fetch_page") => "ウェブページを読み込み、その文章を取り出します。",
            _ => return None,
        };
        Some(about)
    }

    /// For how long a model thought.
    pub(crate) fn thought_for(self, duration: &str) -> String {
        match self {
            Self::English => format!("Thought for {duration}"),
            Self::Japanese => format!("{duration}考えました"),
        }
    }

    /// Asks for a decision.
    pub(crate) fn may_it_run(self, tool: &str) -> String {
        match self {
            Self::English => format!("May {tool} run?"),
            Self::Japanese => format!("{tool} を実行してもよいですか？"),
        }
    }

    /// Why a call asks, which comes from a tool server.
    pub(crate) fn risk_of_server(self, server: &str) -> String {
        match self {
            Self::English => {
                format!(
                    "A tool of the server “{server}”. It may change something there, and that cannot be undone here."
                )
            }
            Self::Japanese => format!(
                "サーバー「{server}」のツールです。そこにあるものを変更する可能性があり、ここから元に戻すことはできません。"
            ),
        }
    }

    /// How many calls wait.
    pub(crate) fn calls_wait(self, count: usize) -> String {
        match self {
            Self::English if count == 1 => "A tool call waits for your decision.".to_owned(),
            Self::English => format!("{count} tool calls wait for your decision."),
            Self::Japanese => format!("ツール呼び出し{count}件が承認を待っています。"),
        }
    }

    /// Where a text is no JSON, counted from 1.
    pub(crate) fn no_json(self, line: usize, column: usize) -> String {
        match self {
            Self::English => format!("This is not JSON: line {line}, column {column}"),
            Self::Japanese => format!("JSONとして読めません（{line}行{column}文字目）"),
        }
    }

    /// How many tools are on, of how many.
    pub(crate) fn tools_on(self, on: usize, all: usize) -> String {
        match self {
            Self::English if on == all => format!("Tools: {all}"),
            Self::English => format!("Tools: {on} of {all} on"),
            Self::Japanese if on == all => format!("ツール: {all}件"),
            Self::Japanese => format!("ツール: {all}件中{on}件がオン"),
        }
    }

    /// The switch above the tools of a server.
    pub(crate) fn all_tools_of(self, server: &str) -> String {
        match self {
            Self::English => format!("All tools: {server}"),
            Self::Japanese => format!("すべてのツール: {server}"),
        }
    }

    /// How it stands with a tool server, in a word or two.
    pub(crate) fn server_status(self, server: &ToolServerInfo) -> &'static str {
        match server.status.as_str() {
            "connected" => self.server_connected(),
            "connecting" => self.server_connecting(),
            _ => self.server_failed(),
        }
    }

    /// How far an approval reaches; `is_here` for one in the conversation that is open.
    pub(crate) const fn scope(self, scope: ApprovalScope, is_here: bool) -> &'static str {
        match scope {
            ApprovalScope::Always => self.approval_always(),
            ApprovalScope::Conversation if is_here => self.approval_here(),
            ApprovalScope::Conversation => self.approval_in_one(),
        }
    }

    /// Names the decider of a call and the scope of the decision. Without accounts the user has no name to show.
    pub(crate) fn decided(self, decided: &Decided, has_account: bool) -> String {
        let Decided { decision, by, kind, scope, .. } = decided;
        let is_allowed = *decision == Decision::Approve;
        match self {
            Self::English => {
                let what = if is_allowed { "Allowed" } else { "Denied" };
                let by = match kind {
                    DeciderKind::User if has_account => format!("by {by}"),
                    DeciderKind::User => "by you".to_owned(),
                    DeciderKind::Review => "by the reviewing models".to_owned(),
                    DeciderKind::Timeout => return format!("{what}: nobody decided in time"),
                    DeciderKind::Unknown => format!("by “{by}”"),
                };
                let reach = match scope {
                    _ if !is_allowed => "",
                    None => ", this call only",
                    Some(ApprovalScope::Conversation) => ", for this conversation",
                    Some(ApprovalScope::Always) => ", always",
                };
                format!("{what} {by}{reach}")
            }
            Self::Japanese => {
                let what = if is_allowed { "許可" } else { "拒否" };
                let by = match kind {
                    DeciderKind::User if has_account => format!("{by}さんが"),
                    DeciderKind::User => "あなたが".to_owned(),
                    DeciderKind::Review => "レビューモデルが".to_owned(),
                    DeciderKind::Timeout => return format!("期限までに決定がなかったため{what}"),
                    DeciderKind::Unknown => format!("「{by}」が"),
                };
                let reach = match scope {
                    _ if !is_allowed => "",
                    None => "（この呼び出しのみ）",
                    Some(ApprovalScope::Conversation) => "（この会話）",
                    Some(ApprovalScope::Always) => "（今後も）",
                };
                format!("{by}{what}{reach}")
            }
        }
    }

    /// What a reviewing model advises.
    pub(crate) const fn verdict(self, verdict: Verdict) -> &'static str {
        match verdict {
            Verdict::Approve => self.verdict_approve(),
            Verdict::Reject => self.verdict_reject(),
            Verdict::Abstain | Verdict::Unknown => self.verdict_abstain(),
        }
    }

    /// How far a call is, as its tool counts.
    pub(crate) fn progress(self, progress: &Progress) -> String {
        let Progress { done, total, message, .. } = progress;
        let count = match (self, total) {
            (Self::English, Some(total)) => format!("{done} of {total}"),
            (Self::Japanese, Some(total)) => format!("{done}/{total}"),
            (_, None) => done.clone(),
        };
        match message {
            Some(message) => format!("{count} · {message}"),
            None => count,
        }
    }
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::{ApprovalScope, DeciderKind, Decision};

    use crate::{language::Language, transcript::Decided};

    #[test]
    fn a_decision_names_its_decider_and_its_scope() {
        use DeciderKind::{Review, Timeout, Unknown, User};
        let (always, here) = (Some(ApprovalScope::Always), Some(ApprovalScope::Conversation));
        for (kind, decision, scope, has_account, english, japanese) in [
            (User, Decision::Approve, always, true, "Allowed by review, always", "reviewさんが許可（今後も）"),
            (
                User,
                Decision::Approve,
                None,
                false,
                "Allowed by you, this call only",
                "あなたが許可（この呼び出しのみ）",
            ),
            (User, Decision::Deny, None, true, "Denied by review", "reviewさんが拒否"),
            (
                User,
                Decision::Approve,
                here,
                true,
                "Allowed by review, for this conversation",
                "reviewさんが許可（この会話）",
            ),
            (
                Review,
                Decision::Approve,
                None,
                true,
                "Allowed by the reviewing models, this call only",
                "レビューモデルが許可（この呼び出しのみ）",
            ),
            (Review, Decision::Deny, None, false, "Denied by the reviewing models", "レビューモデルが拒否"),
            (Timeout, Decision::Deny, None, true, "Denied: nobody decided in time", "期限までに決定がなかったため拒否"),
            (Unknown, Decision::Deny, None, true, "Denied by “review”", "「review」が拒否"),
        ] {
            let decided = Decided { decision, by: "review".to_owned(), kind, scope, at_ms: None, reason: None };
            assert_eq!(Language::English.decided(&decided, has_account), english);
            assert_eq!(Language::Japanese.decided(&decided, has_account), japanese);
        }
    }
}
