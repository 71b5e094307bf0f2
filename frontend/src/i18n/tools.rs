//! Texts about tools, reasoning, approval of tool calls, and progress of tool calls.

use tallybook_protocol::{ApprovalScope, DeciderKind, Decision, ToolCallStatus, Verdict};

use crate::{
    format,
    language::Language,
    transcript::{Decided, Progress},
};

texts! {
    tool_texts;

    // The tools panel.
    tools_title: "Tools", "ツール";
    tools_choose: "Choose tools", "ツールを選ぶ";
    tools_note: "The model cannot use tools that are off in this conversation.", "オフにしたツールは、この会話では使われません。";
    tools_close: "Close", "閉じる";
    tools_find: "Find a tool", "ツールを検索";
    tools_loading: "Loading the tools…", "ツールを読み込んでいます…";
    tools_none:
        "No tools yet. The guides “Write a tool” and “Connect a tool server” in the documentation explain how to add some.",
        "ツールはまだありません。追加の方法は、ドキュメントの「Write a tool」と「Connect a tool server」をご覧ください。";
    tools_built_in: "Built in", "組み込み";
    server_connected: "connected", "接続済み";
    server_connecting: "connecting…", "接続しています…";
    server_failed: "not connected", "未接続";
    server_connecting_note: "Its tools become available once it is connected.", "接続が完了すると、ツールを使えるようになります。";
    server_failed_note:
        "Tools unavailable. Still retrying… Check the server's address and token in the settings, and the server's log.",
        "ツールを利用できません。再接続を繰り返しています。設定のアドレスとトークン、サーバーのログを確認してください。";
    risk_low: "low risk", "低リスク";
    risk_low_about: "Runs without approval", "確認なしで実行されます";
    risk_high: "high risk", "高リスク";
    risk_high_about: "Can make changes, so it needs approval before it runs", "変更を行う可能性があるため、実行の前に承認が必要です";
    tool_changed:
        "The server changed this tool's description, or added the tool later. Check the description, then accept it.",
        "サーバーがこのツールの説明を変更したか、後からツールを追加しました。内容を確認して、受け入れてください。";
    tool_changed_for_members:
        "The server changed this tool's description, or added the tool later. Its calls need approval until an admin accepts it.",
        "サーバーがこのツールの説明を変更したか、後からツールを追加しました。管理者が受け入れるまで、呼び出しには承認が必要です。";
    tool_accept: "Accept current version", "現在の内容を受け入れる";
    unavailable_tools: "Unavailable tools", "利用できないツール";

    // Reasoning.
    reasoning: "Reasoning", "思考の過程";
    reasoning_cut: "The rest was not stored.", "これ以降は保存されていません。";

    // Approval.
    approval_needed: "Approval needed", "承認が必要です";
    needs_your_approval: "Needs your approval", "承認待ち";
    decide_first:
        "A tool call needs your approval. Allow or deny it first, or stop the answer.",
        "ツール呼び出しに承認が必要です。先に許可または拒否するか、回答を停止してください。";
    send_after_decision:
        "Allow or deny the tool call above first. A message that you send now waits until the answer ends.",
        "先に呼び出しを許可または拒否してください。今送信したメッセージは、回答が終わるまで送信待ちになります。";
    decide_soon:
        "You can allow or deny this call when the other calls of this step have ended.",
        "このステップのほかの呼び出しが終わると、許可または拒否できます。";
    risk_of_tool:
        "It can change things outside this conversation. Tallybook cannot undo such changes.",
        "この会話の外にあるものを変更する可能性があります。変更をTallybookで元に戻すことはできません。";
    allow_once: "Allow once", "今回だけ許可";
    show_input_first: "Show the full input first", "先に入力をすべて表示してください";
    show_all_inputs_first: "Show the full input of each call and finish editing first", "先にすべての入力を表示し、編集を終えてください";
    always_allow: "Always allow", "常に許可";
    approval_scope: "Scope", "許可の範囲";
    deny: "Deny", "拒否";
    deny_reason: "Reason (optional, sent to the model)", "拒否の理由（任意・モデルに送信されます）";
    edit_input: "Edit input", "入力を編集";
    continue_editing_input: "Continue editing the input", "入力の編集を再開";
    discard_input_changes: "Discard changes", "変更を破棄";
    input_as_json: "Input as JSON", "入力（JSON）";
    input_not_object: "The input must be one JSON object: { … }", "入力は1つのJSONオブジェクト{ … }にしてください";
    review_calls: "Review", "確認する";
    allow_all: "Allow all once", "すべて今回だけ許可";
    deny_all: "Deny all", "すべて拒否";
    reviews: "Reviewers", "レビュー";
    verdict_approve: "approves", "承認";
    verdict_reject: "rejects", "却下";
    verdict_abstain: "abstains", "保留";
    proposed_input: "Input proposed by the model", "モデルが提案した入力";
    edited_input: "Input, edited by you", "入力（編集済み）";
    denied_because: "Reason", "理由";
    error_type: "Error type", "エラーの種類";
    call_allowed: "allowed, runs next", "許可済み・実行待ち";
    key_choose: "Allow or deny the focused tool call", "フォーカスのあるツール呼び出しを許可・拒否";

    // Saved approvals.
    saved_approvals: "Saved approvals", "常に許可したツール";
    saved_approvals_none:
        "No saved approvals. Every high-risk call needs your approval.",
        "常に許可したツールはありません。高リスクの呼び出しには、毎回承認が必要です。";
    scope_always: "in all conversations", "すべての会話";
    scope_here: "in this conversation", "この会話のみ";
    scope_one_conversation: "in one conversation", "1つの会話のみ";
    revoke: "Revoke", "取り消す";
}

impl Language {
    /// Returns the description of a tool and the description's language. Built-in tools are described in the page's
    /// language, other tools by their server, most likely in English.
    pub(crate) fn tool_about(self, name: &str, description: String) -> (String, &'static str) {
        match self.own_tool(name) {
            Some((_, about)) => (about.to_owned(), self.code()),
            None => (description, Self::English.code()),
        }
    }

    /// Returns the title of a tool on the start page. A built-in tool such as `convert_units` has a title in words, a
    /// tool of a server is named after its server.
    pub(crate) fn tool_title(self, name: &str) -> String {
        if let Some((title, _)) = self.own_tool(name) {
            return title.to_owned();
        }
        let shown = format::tool_name(name);
        if shown != name {
            return shown.into_owned();
        }
        let mut title = name.replace('_', " ");
        title.get_mut(..1).into_iter().for_each(str::make_ascii_uppercase);
        title
    }

    /// Returns the title and the description of a built-in tool for users. The tools' own descriptions instruct models.
    fn own_tool(self, name: &str) -> Option<(&'static str, &'static str)> {
        let (english, japanese) = match name {
            "add" => (
                ("Add", "Adds two numbers exactly, in decimal: 0.1 + 0.2 is 0.3."),
                ("足し算", "2つの数を10進数で正確に足します。0.1 + 0.2は0.3になります。"),
            ),
            "subtract" => (
                ("Subtract", "Subtracts one number from another exactly, in decimal."),
                ("引き算", "ある数から別の数を、10進数で正確に引きます。"),
            ),
            "multiply" => (
                ("Multiply", "Multiplies two numbers exactly, in decimal, with every digit of the product."),
                ("掛け算", "2つの数を10進数で正確に掛けます。積の桁は省略されません。"),
            ),
            "divide" => (
                ("Divide", "Divides one number by another, with up to 34 significant digits."),
                ("割り算", "ある数を別の数で割り、有効数字34桁まで求めます。"),
            ),
            "evaluate" => (
                (
                    "Evaluate",
                    "Evaluates a formula in floating point (about 16 significant digits), with powers, roots, logarithms \
                     and trigonometric functions.",
                ),
                (
                    "式の計算",
                    "式を浮動小数点数（有効数字は約16桁）で計算します。べき乗、平方根、対数、三角関数などが使えます。",
                ),
            ),
            "current_time" => (
                ("Current time", "Tells the current date, day of the week and time in a time zone."),
                ("現在時刻", "指定したタイムゾーンの現在の日付、曜日、時刻を答えます。"),
            ),
            "convert_units" => (
                (
                    "Convert units",
                    "Converts a quantity to another unit, such as a length, area, mass, temperature or speed.",
                ),
                ("単位の換算", "長さ、面積、質量、温度、速度などの量を、別の単位に換算します。"),
            ),
            "fetch_page" => (
                ("Fetch page", "Reads a public web page and takes its text."),
                ("ウェブページの取得", "ウェブページを読み込み、その文章を取り出します。"),
            ),
            _ => return None,
        };
        Some(match self {
            Self::English => english,
            Self::Japanese => japanese,
        })
    }

    /// Says how long a model reasoned.
    pub(crate) fn reasoned_for(self, duration: &str) -> String {
        match self {
            Self::English => format!("Thought for {duration}"),
            Self::Japanese => format!("{duration}考えました"),
        }
    }

    /// Asks for approval of a call.
    pub(crate) fn allow_to_run(self, tool: &str) -> String {
        match self {
            Self::English => format!("Allow {tool} to run?"),
            Self::Japanese => format!("{tool}の実行を許可しますか？"),
        }
    }

    /// Explains why a tool of a server needs approval.
    pub(crate) fn risk_of_server(self, server: &str) -> String {
        match self {
            Self::English => {
                format!(
                    "A tool of the server “{server}”. It can change things there. Tallybook cannot undo such changes."
                )
            }
            Self::Japanese => format!(
                "サーバー「{server}」のツールです。サーバー上のものを変更する可能性があります。変更をTallybookで元に戻すことはできません。"
            ),
        }
    }

    /// Returns the number of calls that need approval.
    pub(crate) fn calls_need_approval(self, count: usize) -> String {
        match self {
            Self::English if count == 1 => "1 tool call needs your approval.".to_owned(),
            Self::English => format!("{count} tool calls need your approval."),
            Self::Japanese => format!("{count}件のツール呼び出しに承認が必要です。"),
        }
    }

    /// Says where a text is not valid JSON, counted from 1.
    pub(crate) fn invalid_json(self, line: usize, column: usize) -> String {
        match self {
            Self::English => format!("This is not valid JSON: line {line}, column {column}"),
            Self::Japanese => format!("有効なJSONではありません（{line}行{column}文字目）"),
        }
    }

    /// Returns the numbers of tools that are on, and of all tools.
    pub(crate) fn tools_on(self, on: usize, all: usize) -> String {
        match self {
            Self::English if on == all => format!("Tools: {all}"),
            Self::English => format!("Tools: {on} of {all} on"),
            Self::Japanese if on == all => format!("ツール: {all}件"),
            Self::Japanese => format!("ツール: {all}件中{on}件がオン"),
        }
    }

    /// Label of the switch for all tools of a server.
    pub(crate) fn all_tools_of(self, server: &str) -> String {
        match self {
            Self::English => format!("All tools: {server}"),
            Self::Japanese => format!("すべてのツール: {server}"),
        }
    }

    /// Returns the label of a tool server's status.
    pub(crate) fn server_status(self, status: &str) -> &'static str {
        match status {
            "connected" => self.server_connected(),
            "connecting" => self.server_connecting(),
            _ => self.server_failed(),
        }
    }

    /// Returns the label of a saved approval's scope. `is_here`: its conversation is the open one.
    pub(crate) const fn scope(self, scope: ApprovalScope, is_here: bool) -> &'static str {
        match scope {
            ApprovalScope::Always => self.scope_always(),
            ApprovalScope::Conversation if is_here => self.scope_here(),
            ApprovalScope::Conversation => self.scope_one_conversation(),
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
                    DeciderKind::Timeout => return format!("{what}: approval timed out"),
                    DeciderKind::Unknown => format!("by “{by}”"),
                };
                let scope_text = match scope {
                    _ if !is_allowed => "",
                    None => ", this call only",
                    Some(ApprovalScope::Conversation) => ", in this conversation",
                    Some(ApprovalScope::Always) => ", in all conversations",
                };
                format!("{what} {by}{scope_text}")
            }
            Self::Japanese => {
                let what = if is_allowed { "許可" } else { "拒否" };
                let by = match kind {
                    DeciderKind::User if has_account => format!("{by}さんが"),
                    DeciderKind::User => "あなたが".to_owned(),
                    DeciderKind::Review => "レビューモデルが".to_owned(),
                    DeciderKind::Timeout => return format!("期限までに承認されなかったため{what}"),
                    DeciderKind::Unknown => format!("「{by}」が"),
                };
                let scope_text = match scope {
                    _ if !is_allowed => "",
                    None => "（この呼び出しのみ）",
                    Some(ApprovalScope::Conversation) => "（この会話）",
                    Some(ApprovalScope::Always) => "（すべての会話）",
                };
                format!("{by}{what}{scope_text}")
            }
        }
    }

    /// Returns the label of a reviewer's vote.
    pub(crate) const fn verdict(self, verdict: Verdict) -> &'static str {
        match verdict {
            Verdict::Approve => self.verdict_approve(),
            Verdict::Reject => self.verdict_reject(),
            Verdict::Abstain | Verdict::Unknown => self.verdict_abstain(),
        }
    }

    /// Returns the progress of a call, as its tool reports it.
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

    /// Returns an example question about the tools of a server.
    pub(crate) fn ask_about(self, server: &str) -> String {
        match self {
            Self::English => format!("What can you do with the tools of “{server}”?"),
            Self::Japanese => format!("「{server}」のツールで何ができる？"),
        }
    }

    /// Returns the number of tools that are not listed.
    pub(crate) fn more_tools(self, count: usize) -> String {
        match self {
            Self::English => format!("and {count} more"),
            Self::Japanese => format!("ほか{count}件"),
        }
    }

    /// Label of the button that shows the rest of a long text, by its length.
    pub(crate) fn show_all(self, characters: usize) -> String {
        let characters = format::count(characters);
        match self {
            Self::English => format!("Show all ({characters} characters)"),
            Self::Japanese => format!("すべて表示（{characters}文字）"),
        }
    }

    /// Label of the button that loads the rest of a text, by its size if that is known.
    pub(crate) fn show_all_bytes(self, bytes: Option<i64>) -> String {
        let size = bytes.map(|bytes| format::size(self, bytes));
        match (self, size) {
            (Self::English, Some(size)) => format!("Show all ({size})"),
            (Self::English, None) => "Show all".to_owned(),
            (Self::Japanese, Some(size)) => format!("すべて表示（{size}）"),
            (Self::Japanese, None) => "すべて表示".to_owned(),
        }
    }

    /// Heading of a group of finished calls.
    pub(crate) fn tool_calls(self, count: usize) -> String {
        match self {
            Self::English => format!("{count} tool calls"),
            Self::Japanese => format!("ツール呼び出し{count}件"),
        }
    }

    /// Says when a call started and ended, as times of day.
    pub(crate) fn ran_at(self, start: &str, end: &str) -> String {
        match self {
            Self::English if start == end => format!("Ran at {start}"),
            Self::English => format!("Ran from {start} to {end}"),
            Self::Japanese if start == end => format!("{start}に実行"),
            Self::Japanese => format!("{start}から{end}まで実行"),
        }
    }

    /// Says how many calls of a group had which outcome, such as `2 denied, 1 failed`.
    pub(crate) fn outcomes(self, counts: &[(ToolCallStatus, usize)]) -> String {
        let (between, separator) = if self == Self::Japanese { ("件", "、") } else { (" ", ", ") };
        let outcome =
            |(status, count): &(ToolCallStatus, usize)| format!("{count}{between}{}", self.call_status(*status));
        counts.iter().map(outcome).collect::<Vec<_>>().join(separator)
    }

    /// Returns the label of a tool call's status.
    pub(crate) const fn call_status(self, status: ToolCallStatus) -> &'static str {
        match status {
            ToolCallStatus::Pending => self.call_running(),
            ToolCallStatus::AwaitingApproval => self.call_awaiting_approval(),
            ToolCallStatus::Success => self.call_done(),
            ToolCallStatus::Error => self.call_failed(),
            ToolCallStatus::Denied => self.call_denied(),
            ToolCallStatus::Cancelled => self.call_cancelled(),
            ToolCallStatus::Interrupted => self.call_interrupted(),
            ToolCallStatus::Unknown => self.call_unknown(),
        }
    }

    /// Explains why a call has no output.
    pub(crate) const fn call_note(self, status: ToolCallStatus) -> Option<&'static str> {
        match status {
            ToolCallStatus::Pending => Some(self.still_running()),
            ToolCallStatus::AwaitingApproval => Some(self.needs_approval_to_run()),
            ToolCallStatus::Success => Some(self.no_output()),
            ToolCallStatus::Denied => Some(self.was_denied()),
            ToolCallStatus::Cancelled => Some(self.was_cancelled()),
            ToolCallStatus::Interrupted => Some(self.was_interrupted()),
            ToolCallStatus::Error | ToolCallStatus::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::{ApprovalScope, DeciderKind, Decision};

    use crate::{language::Language, transcript::Decided};

    #[test]
    fn titles_of_tools_are_words() {
        let title = |name| Language::ALL.map(|language| language.tool_title(name));
        assert_eq!(title("convert_units"), ["Convert units", "単位の換算"]);
        assert_eq!(title("add"), ["Add", "足し算"]);
        assert_eq!(title("days_between"), ["Days between", "Days between"]);
        assert_eq!(title("files__read__all"), ["files · read__all", "files · read__all"]);
    }

    #[test]
    fn a_decision_names_its_decider_and_its_scope() {
        use DeciderKind::{Review, Timeout, Unknown, User};
        let (always, here) = (Some(ApprovalScope::Always), Some(ApprovalScope::Conversation));
        for (kind, decision, scope, has_account, english, japanese) in [
            (
                User,
                Decision::Approve,
                always,
                true,
                "Allowed by review, in all conversations",
                "reviewさんが許可（すべての会話）",
            ),
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
                "Allowed by review, in this conversation",
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
            (Timeout, Decision::Deny, None, true, "Denied: approval timed out", "期限までに承認されなかったため拒否"),
            (Unknown, Decision::Deny, None, true, "Denied by “review”", "「review」が拒否"),
        ] {
            let decided = Decided { decision, by: "review".to_owned(), kind, scope, at_ms: None, reason: None };
            assert_eq!(Language::English.decided(&decided, has_account), english);
            assert_eq!(Language::Japanese.decided(&decided, has_account), japanese);
        }
    }
}
