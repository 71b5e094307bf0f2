//! Texts with numbers or names in them, and texts that depend on a status or an error code of the server.

use tallybook_protocol::{CatalogModel, ConversationSummary, ToolCallStatus, ToolOffer, Usage};

use crate::{
    conversation_list::UndoableAction, format, language::Language, preferences::Theme, session::AnswerEnd,
    transcript::Tally, waiting::Waiting,
};

impl Language {
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

    /// Returns the position among the matches of a search, counted from 1.
    pub(crate) fn match_of(self, at: usize, count: usize, has_more: bool) -> String {
        let more = if has_more { "+" } else { "" };
        match self {
            Self::English => format!("{at} of {count}{more}"),
            Self::Japanese if has_more => format!("{count}件以上のうち{at}件目"),
            Self::Japanese => format!("{count}件中{at}件目"),
        }
    }

    /// Returns the number of matches.
    pub(crate) fn match_count(self, count: usize, has_more: bool) -> String {
        let more = if has_more { "+" } else { "" };
        match self {
            Self::English if count == 1 && !has_more => "1 match".to_owned(),
            Self::English => format!("{count}{more} matches"),
            Self::Japanese if has_more => format!("{count}件以上"),
            Self::Japanese => format!("{count}件"),
        }
    }

    /// Returns an example question for a tool of which only the name is known.
    pub(crate) fn show_tool(self, tool: &str) -> String {
        match self {
            Self::English => format!("Show me what {tool} can do, with an example"),
            Self::Japanese => format!("{tool} でできることを、例を挙げて見せて"),
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

    /// Error for a message that does not fit in the queue of `most` messages.
    pub(crate) fn queue_is_full(self, most: usize) -> String {
        match self {
            Self::English => format!("The queue is full ({most} messages). Send this message when there is room."),
            Self::Japanese => {
                format!("送信待ちが上限の{most}件に達しています。空きができてから送信してください。")
            }
        }
    }

    /// Returns the number of tools that are not listed.
    pub(crate) fn more_tools(self, count: usize) -> String {
        match self {
            Self::English => format!("and {count} more"),
            Self::Japanese => format!("ほか{count}件"),
        }
    }

    /// Names a model and its provider.
    pub(crate) fn model(self, provider: &str, model: &str) -> String {
        match self {
            Self::English => format!("{model}, by {provider}"),
            Self::Japanese => format!("{model}（{provider}）"),
        }
    }

    /// Says what an answer waits for. `long`: it has already waited for long.
    pub(crate) fn waiting(self, waiting: &Waiting, long: bool) -> String {
        match (self, waiting) {
            (_, Waiting::Model) => if long { self.still_waiting() } else { self.thinking() }.to_owned(),
            (_, Waiting::Provider { code, .. }) => self.provider_problem(code).to_owned(),
            (Self::English, Waiting::Call { name, .. }) => format!("Preparing a call to {}…", format::tool_name(name)),
            (Self::Japanese, Waiting::Call { name, .. }) => {
                format!("{} の呼び出しを準備しています…", format::tool_name(name))
            }
        }
    }

    /// Returns the reason why the request to the provider is retried.
    fn provider_problem(self, code: &str) -> &'static str {
        match code {
            "model_busy" => self.provider_busy(),
            "model_unreachable" | "model_timeout" => self.provider_unreachable(),
            "model_bad_stream" => self.provider_stream_broken(),
            _ => self.provider_failing(),
        }
    }

    /// Says when the next attempt starts.
    pub(crate) fn retrying(self, seconds: u64, attempt: u32, attempts: u32) -> String {
        match self {
            Self::English => format!("Retrying in {seconds} s ({attempt} of {attempts})"),
            Self::Japanese => format!("{seconds}秒後に再試行します（{attempts}回中{attempt}回目）"),
        }
    }

    /// Accessible name of the button that opens a conversation's menu.
    pub(crate) fn more_actions_for(self, title: &str) -> String {
        match self {
            Self::English => format!("More actions for “{title}”"),
            Self::Japanese => format!("「{title}」のその他の操作"),
        }
    }

    /// Returns the number of selected conversations.
    pub(crate) fn selected_count(self, count: usize) -> String {
        match self {
            Self::English => format!("{count} selected"),
            Self::Japanese => format!("{count}件を選択中"),
        }
    }

    /// Label of the button that selects the loaded conversations, if the list has more.
    pub(crate) fn select_all_loaded(self, count: usize) -> String {
        match self {
            Self::English => format!("Select all {count} loaded"),
            Self::Japanese => format!("読み込み済みの{count}件をすべて選択"),
        }
    }

    /// Notice of an action on conversations that can be undone.
    pub(crate) fn undo_notice(self, action: UndoableAction, conversations: &[ConversationSummary]) -> String {
        let which = match (self, conversations) {
            (Self::English, [one]) => format!("“{}”", one.title),
            (Self::Japanese, [one]) => format!("「{}」", one.title),
            (Self::English, several) => format!("{} conversations", several.len()),
            (Self::Japanese, several) => format!("{}件の会話", several.len()),
        };
        match (self, action) {
            (Self::English, UndoableAction::Archived) => format!("Archived {which}."),
            (Self::English, UndoableAction::Unarchived) => format!("Unarchived {which}."),
            (Self::English, UndoableAction::Deleted) => format!("Deleted {which}."),
            (Self::Japanese, UndoableAction::Archived) => format!("{which}をアーカイブしました。"),
            (Self::Japanese, UndoableAction::Unarchived) => format!("{which}をアーカイブから戻しました。"),
            (Self::Japanese, UndoableAction::Deleted) => format!("{which}を削除しました。"),
        }
    }

    /// Returns the name of a theme.
    pub(crate) const fn theme(self, theme: Theme) -> &'static str {
        match (self, theme) {
            (Self::English, Theme::System) => "System",
            (Self::English, Theme::Light) => "Light",
            (Self::English, Theme::Dark) => "Dark",
            (Self::Japanese, Theme::System) => "システム",
            (Self::Japanese, Theme::Light) => "ライト",
            (Self::Japanese, Theme::Dark) => "ダーク",
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

    /// Returns the number of failed calls of a group.
    pub(crate) fn failed_calls(self, count: usize) -> String {
        match self {
            Self::English => format!("{count} failed"),
            Self::Japanese => format!("{count}件失敗"),
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
        let Tally { finished, cancelled, unclear } = calls;
        if self == Self::Japanese {
            let ways = [(finished, "件完了"), (cancelled, "件中止"), (unclear, "件は実行中の可能性あり")];
            let said = ways.into_iter().filter(|(count, _)| *count > 0).map(|(count, way)| format!("{count}{way}"));
            let said = said.collect::<Vec<_>>().join("、");
            let of_calls = if said.is_empty() { said } else { format!("（ツール呼び出し: {said}）") };
            return format!("停止しました{of_calls}。ここまでの内容は保存されています。");
        }
        let ways = [
            (finished, "had finished", "had finished"),
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
            (Self::Japanese, None) => format!("入力 {read}・出力 {written} トークン"),
            (Self::Japanese, Some(cost)) => format!("入力 {read}・出力 {written} トークン・費用 {cost}"),
        }
    }

    /// Names a model and its provider, and says how the model receives its tools.
    pub(crate) fn model_details(self, model: &CatalogModel) -> String {
        let name = self.model(&model.provider, &model.name);
        let tools = match model.tool_mode {
            ToolOffer::Native => self.native_tools(),
            ToolOffer::Prompt => self.prompted_tools(),
            ToolOffer::Unknown => return name,
        };
        match self {
            Self::English => format!("{name} · {tools}"),
            Self::Japanese => format!("{name}・{tools}"),
        }
    }

    /// Label of a model that answers only the next message.
    pub(crate) fn model_for_next(self, name: &str) -> String {
        match self {
            Self::English => format!("{name} (next message only)"),
            Self::Japanese => format!("{name}（次のメッセージのみ）"),
        }
    }

    /// Label of a conversation's model that is no longer in the catalog.
    pub(crate) fn model_gone(self, name: &str) -> String {
        match self {
            Self::English => format!("{name} (no longer available)"),
            Self::Japanese => format!("{name}（利用不可）"),
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

    /// Error for a response status without a message.
    pub(crate) fn refused(self, status: u16) -> String {
        match self {
            Self::English => format!("The server refused the request (status {status}). Try again in a moment."),
            Self::Japanese => {
                format!(
                    "サーバーがリクエストを拒否しました（ステータス {status}）。しばらくしてからもう一度お試しください。"
                )
            }
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

    /// Returns the message for a problem code of the server (the last segment of the problem's type). `None`: the page
    /// shows the server's English message.
    pub(crate) fn problem(self, code: &str) -> Option<&'static str> {
        if code == "turn-running" {
            return Some(self.turn_running());
        }
        // The sign-in form says why a session ended.
        if code == "not-signed-in" || code == "account-deactivated" {
            return Some(self.signed_out());
        }
        if code == "awaiting_approval" {
            return Some(self.decide_first());
        }
        if self == Self::English {
            return None;
        }
        Some(match code {
            "too-large-to-share" => "この会話は長すぎるため共有できません。代わりに書き出してください。",
            "too-large-to-copy" => {
                "ここまでの会話は長すぎるためコピーできません。前のメッセージを選ぶか、新しいチャットを始めてください。"
            }
            "sharing-off" => "このサーバーでは、会話を共有できません。",
            "no-such-share" => "リンクが見つかりません。すでに取り消された可能性があります。",
            "no-such-message" => "メッセージが見つかりません。ページを再読み込みしてください。",
            "no-such-tool-call" => "ツール呼び出しが見つかりません。会話が削除された可能性があります。",
            "no-such-tool" => "接続中のツールサーバーに、このツールはありません。",
            "nothing-to-continue" => "続けられる回答がありません。メッセージを送信してください。",
            "no-such-approval" => "この許可は見つかりません。すでに取り消された可能性があります。",
            "no-password" => "このアカウントにはまだパスワードがありません。管理者に設定を依頼してください。",
            "only-way-in" => {
                "ほかにサインインの方法がないため、連携を解除できません。先に管理者にパスワードの設定を依頼してください。"
            }
            "issuer-unreachable" => "現在、外部サービスに接続できません。しばらくしてからもう一度お試しください。",
            "busy" => "サーバーが混み合っています。しばらくしてからもう一度お試しください。",
            "admins-only" => "管理者だけが行えます。",
            "no-such-user" | "no-such-session" | "no-such-key" | "no-such-identity" | "no-such-invitation" => {
                "見つかりません。すでに削除または取り消された可能性があります。"
            }
            "no-such-conversation" => "会話が見つかりません。削除された可能性があります。",
            "unknown-model" => "そのモデルはありません。別のモデルを選んでください。",
            "not-permitted" => "この操作は一部のグループのメンバーだけが行えます。管理者に相談してください。",
            "no-model" => "利用できるモデルがありません。管理者に相談してください。",
            "budget-used-up" => {
                "予算を使い切ったか、残りが作成中の回答のために確保されています。残りは設定で確認できます。"
            }
            "model-gone" => "この会話のモデルは利用できなくなりました。上の一覧から別のモデルを選んでください。",
            "wrong-password" => "現在のパスワードが違います。",
            "password-needed" => "このアカウントのパスワードを入力してください。",
            "sign-in-again" => "サインインし直して、10分以内にもう一度お試しください。",
            "too-many-attempts" => "試行回数が多すぎます。しばらくしてからもう一度お試しください。",
            "last-admin" => "管理者があなただけのため、できません。先に別の管理者を決めてください。",
            "account-deleted" => {
                "このアカウントは本人が削除したため、元に戻せません。新しいアカウントを作成してください。"
            }
            "sign-up-closed" => "招待は無効になっています。アカウントは管理者が作成します。",
            "too-many" => "上限の数に達しています。不要なものを取り消すか、しばらくしてからもう一度お試しください。",
            "too-many-turns" => {
                "同時に生成できる回答の数に達しています。いずれかの回答が終わるのを待つか停止してから、もう一度送信してください。"
            }
            "too-many-messages" => "1分間に送信できる数に達しています。少し待ってから、もう一度送信してください。",
            "too-many-tokens" => {
                "24時間に使えるトークンを使い切りました。時間をおいて送信するか、管理者に相談してください。"
            }
            "invalid-input" => "入力内容を受け付けられませんでした。長さや内容を確認してください。",
            "body-too-large" => "メッセージが長すぎます。短くして送信してください。",
            "shutting-down" => "サーバーがまもなく再起動します。しばらくしてからもう一度お試しください。",
            "storage-unavailable" => "データベースに接続できません。しばらくしてからもう一度お試しください。",
            "storage-full" => {
                "データベースの容量不足か、書き込みが許可されていないため、保存できません。管理者に連絡してください。"
            }
            "already_decided" => "この呼び出しは、もう許可・拒否できません。今の状態を表示しています。",
            "tool_changed" => {
                "待っている間にツールの内容が変わりました。今の内容を確認してから、あらためて許可または拒否してください。"
            }
            "internal" => "サーバーで問題が発生しました。もう一度お試しください。",
            _ => return None,
        })
    }

    /// Returns the message for the error code of a failed turn. `None`: the page shows the server's English message,
    /// which has more details.
    pub(crate) fn turn_error(self, code: &str) -> Option<&'static str> {
        if self == Self::English {
            return None;
        }
        Some(match code {
            "model_auth" => "モデルの提供元がAPIキーを受け付けませんでした。キーの設定を確認してください。",
            "model_not_found" => "指定されたモデルが見つかりません。モデルの設定を確認してください。",
            "model_out_of_credit" => {
                "モデルの提供元のアカウントの残高が不足しています。残高を追加するか、別のモデルを選んでください。"
            }
            "model_without_tools" => {
                "このモデルはツールを使えません。LLM_TOOL_MODE を prompt にするか、別のモデルを選んでください。"
            }
            "model_refused_request" => "モデルの提供元がリクエストを拒否しました。",
            "model_context_too_long" => {
                "以前のメッセージを減らしても、モデルが一度に読める長さを超えています。メッセージを短くするか、別のモデルを選んでください。"
            }
            "model_busy" => "モデルの提供元が混み合っています。しばらくしてからもう一度お試しください。",
            "model_failing" => "モデルの提供元で障害が起きています。しばらくしてからもう一度お試しください。",
            "model_unreachable" => "モデルの提供元に接続できません。接続を確認して、もう一度お試しください。",
            "model_timeout" => "モデルからの応答が途絶えました。もう一度お試しください。",
            "model_bad_stream" => "モデルの応答を読み取れませんでした。もう一度お試しください。",
            "turn_timeout" => "時間の上限に達したため、回答を終了しました。質問を分けて送信してください。",
            "storage_unavailable" => "データベースに接続できないため、回答を保存できません。",
            "out_of_tokens" => {
                "24時間以内に使えるトークンを使い切ったため、終了しました。ここまでの内容は残っています。後で続きを生成するか、管理者に相談してください。"
            }
            "budget_used_up" => {
                "予算を使い切ったため、終了しました。ここまでの内容は残っています。後で続きを生成するか、管理者に相談してください。"
            }
            "answer_too_long" => "回答が長すぎるため、終了しました。質問を分けて送信してください。",
            "storage_full" => "データベースに空きがないため、回答を保存できません。",
            "storage_rejected" => "データベースが回答の終わりを受け付けなかったため、一部だけが保存されています。",
            "shutdown" => "回答の途中でサーバーが再起動しました。",
            "internal" => "サーバーで問題が発生しました。もう一度お試しください。",
            _ => return None,
        })
    }
}
