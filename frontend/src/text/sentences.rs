//! The texts that are put together: with numbers and names in them, or chosen by what the server says.

use tallybook_protocol::{CatalogModel, ConversationSummary, ToolCallStatus, ToolOffer, Usage};

use crate::{
    conversation_list::Deed, format, invisible::escaped, language::Language, preferences::Theme, session::AnswerEnd,
    transcript::Tally, waiting::Waiting,
};

impl Language {
    /// Questions that show tools which come with the product, each with the tools that it takes: several steps, exact long
    /// numbers, and a call that fails and is explained. The demo model understands plain arithmetic alone.
    pub(crate) const fn examples(self, is_demo: bool) -> &'static [(&'static [&'static str], &'static str)] {
        const LONG: &[&str] = &["multiply"];
        const STEPS: &[&str] = &["add", "multiply"];
        const FRACTION: &[&str] = &["divide"];
        match (self, is_demo) {
            (Self::English, true) => &[
                (STEPS, "What is (12.5 + 7.25) × 4?"),
                (LONG, "Multiply 123456789012345678901234567890 by 987654321"),
                (FRACTION, "What is 22 divided by 7?"),
            ],
            (Self::Japanese, true) => &[
                (STEPS, "12.5と7.25を足して4倍して"),
                (LONG, "123456789012345678901234567890に987654321を掛けて"),
                (FRACTION, "22を7で割ると？"),
            ],
            (Self::English, false) => &[
                (&["multiply", "divide"], "Split a bill of 184.60 among 7 people, with a tip of 12.5 %"),
                (&["current_time"], "What time is it in Tokyo, in Berlin and in New York?"),
                (&["convert_units"], "How many kilometers is a marathon of 26.2 miles, and how warm is 72 °F?"),
                (LONG, "What are all the digits of 123456789 × 987654321 × 192837465?"),
                (&["add", "subtract"], "Is 0.1 + 0.2 exactly 0.3? Check it with a tool"),
                (&["evaluate"], "How long is the diagonal of a square of 12 m?"),
            ],
            (Self::Japanese, false) => &[
                (&["multiply", "divide"], "18,460円に12.5%のチップを足して、7人で割り勘にして"),
                (&["current_time"], "東京、ベルリン、ニューヨークは今何時？"),
                (&["convert_units"], "マラソンの26.2マイルは何キロ？ 72°Fは摂氏何度？"),
                (LONG, "123456789 × 987654321 × 192837465 を全桁で計算して"),
                (&["add", "subtract"], "0.1 + 0.2 は正確に 0.3？ ツールで確かめて"),
                (&["evaluate"], "一辺12 mの正方形の対角線の長さは？"),
            ],
        }
    }

    /// Which of how many places one is at, counted from 1.
    pub(crate) fn place_of(self, at: usize, count: usize, has_more: bool) -> String {
        let more = if has_more { "+" } else { "" };
        match self {
            Self::English => format!("{at} of {count}{more}"),
            Self::Japanese if has_more => format!("{count}件以上のうち{at}件目"),
            Self::Japanese => format!("{count}件中{at}件目"),
        }
    }

    /// How many places were found.
    pub(crate) fn places(self, count: usize, has_more: bool) -> String {
        let more = if has_more { "+" } else { "" };
        match self {
            Self::English if count == 1 && !has_more => "1 place".to_owned(),
            Self::English => format!("{count}{more} places"),
            Self::Japanese if has_more => format!("{count}件以上"),
            Self::Japanese => format!("{count}件"),
        }
    }

    /// Asks for a tool of which nothing but the name is known.
    pub(crate) fn show_tool(self, tool: &str) -> String {
        match self {
            Self::English => format!("Show me what {tool} can do, with an example"),
            Self::Japanese => format!("{tool} でできることを、例を挙げて見せて"),
        }
    }

    /// Questions for a model that has no tools.
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

    /// No more messages can wait.
    pub(crate) fn queue_is_full(self, most: usize) -> String {
        match self {
            Self::English => format!("{most} messages wait already. Send this one when there is room again."),
            Self::Japanese => {
                format!("送信待ちのメッセージがすでに{most}件あります。空きができてから送信してください。")
            }
        }
    }

    /// The tools that are not named.
    pub(crate) fn more_tools(self, count: usize) -> String {
        match self {
            Self::English => format!("and {count} more"),
            Self::Japanese => format!("ほか{count}件"),
        }
    }

    /// Names the model at the top of the page.
    pub(crate) fn model(self, provider: &str, model: &str) -> String {
        match self {
            Self::English => format!("{model}, by {provider}"),
            Self::Japanese => format!("{model}（{provider}）"),
        }
    }

    /// What an answer waits for, `long` when for long already.
    pub(crate) fn waiting(self, waiting: &Waiting, long: bool) -> String {
        match (self, waiting) {
            (_, Waiting::Model) => if long { self.still_waiting() } else { self.thinking() }.to_owned(),
            (_, Waiting::Provider { code, .. }) => self.asked_again(code).to_owned(),
            (Self::English, Waiting::Call { name, .. }) => format!("Writing a call of {}…", escaped(name)),
            (Self::Japanese, Waiting::Call { name, .. }) => format!("{} の呼び出しを書いています…", escaped(name)),
        }
    }

    /// Why the provider is asked again.
    fn asked_again(self, code: &str) -> &'static str {
        match code {
            "model_busy" => self.provider_busy(),
            "model_unreachable" | "model_timeout" => self.provider_unreachable(),
            "model_bad_stream" => self.provider_broke_off(),
            _ => self.provider_failing(),
        }
    }

    /// Beside why the provider is asked again.
    pub(crate) fn trying_again(self, seconds: u64, attempt: u32, attempts: u32) -> String {
        match self {
            Self::English => format!("Trying again in {seconds} s ({attempt} of {attempts})"),
            Self::Japanese => format!("{seconds}秒後に再試行します（{attempts}回中{attempt}回目）"),
        }
    }

    /// The button of a conversation's menu, for those who do not see where it stands.
    pub(crate) fn row_menu_of(self, title: &str) -> String {
        match self {
            Self::English => format!("What to do with “{title}”"),
            Self::Japanese => format!("「{title}」の操作"),
        }
    }

    /// How many conversations are chosen.
    pub(crate) fn chosen(self, count: usize) -> String {
        match self {
            Self::English => format!("{count} chosen"),
            Self::Japanese => format!("{count}件を選択中"),
        }
    }

    /// What was done to conversations a moment ago.
    pub(crate) fn done_to(self, deed: Deed, conversations: &[ConversationSummary]) -> String {
        let which = match (self, conversations) {
            (Self::English, [one]) => format!("“{}”", one.title),
            (Self::Japanese, [one]) => format!("「{}」", one.title),
            (Self::English, several) => format!("{} conversations", several.len()),
            (Self::Japanese, several) => format!("{}件の会話", several.len()),
        };
        match (self, deed) {
            (Self::English, Deed::Archived) => format!("Archived {which}."),
            (Self::English, Deed::Unarchived) => format!("Took {which} out of the archive."),
            (Self::English, Deed::Deleted) => format!("Deleted {which}."),
            (Self::Japanese, Deed::Archived) => format!("{which}をアーカイブしました。"),
            (Self::Japanese, Deed::Unarchived) => format!("{which}をアーカイブから戻しました。"),
            (Self::Japanese, Deed::Deleted) => format!("{which}を削除しました。"),
        }
    }

    /// A theme's name in the switch.
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

    /// How long something has been waited for.
    pub(crate) fn waited(self, seconds: u64) -> String {
        match self {
            Self::English => format!("{seconds}s"),
            Self::Japanese => format!("{seconds}秒"),
        }
    }

    /// While the connection is down.
    pub(crate) fn reconnecting(self, seconds: u64) -> String {
        match self {
            Self::English => format!("Reconnecting… (retrying in {seconds}s)"),
            Self::Japanese => format!("再接続しています…（{seconds}秒後に再試行）"),
        }
    }

    /// The button under the beginning of a long output.
    pub(crate) fn show_all(self, characters: usize) -> String {
        let characters = format::count(characters);
        match self {
            Self::English => format!("Show all ({characters} characters)"),
            Self::Japanese => format!("すべて表示（{characters}文字）"),
        }
    }

    /// The button under the beginning of a text that is not here whole, of which no more than the size may be known.
    pub(crate) fn show_all_bytes(self, bytes: Option<i64>) -> String {
        let size = bytes.map(|bytes| format::size(self, bytes));
        match (self, size) {
            (Self::English, Some(size)) => format!("Show all ({size})"),
            (Self::English, None) => "Show all".to_owned(),
            (Self::Japanese, Some(size)) => format!("すべて表示（{size}）"),
            (Self::Japanese, None) => "すべて表示".to_owned(),
        }
    }

    /// The line over several finished calls.
    pub(crate) fn tool_calls(self, count: usize) -> String {
        match self {
            Self::English => format!("{count} tool calls"),
            Self::Japanese => format!("ツール呼び出し{count}件"),
        }
    }

    /// When something began and ended, by the reader's clock.
    pub(crate) fn started_and_ended(self, start: &str, end: &str) -> String {
        match self {
            Self::English => format!("Started {start}, ended {end}"),
            Self::Japanese => format!("開始 {start}、終了 {end}"),
        }
    }

    /// How many of them failed.
    pub(crate) fn failed_calls(self, count: usize) -> String {
        match self {
            Self::English => format!("{count} failed"),
            Self::Japanese => format!("{count}件失敗"),
        }
    }

    /// Under an answer that its provider cut off for a reason of its own.
    pub(crate) fn cut_off_because(self, reason: &str) -> String {
        match self {
            Self::English => format!("The answer was cut off. The provider's reason: {reason}."),
            Self::Japanese => format!("回答が途中で打ち切られました。モデルの提供元による理由: {reason}"),
        }
    }

    /// Under an answer that was stopped: what became of its calls.
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
        format!("Stopped.{of_calls} What was written so far is kept.")
    }

    /// What an answer cost.
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

    /// The only model, with its provider and tool mode, as a tooltip.
    pub(crate) fn only_model(self, model: &CatalogModel) -> String {
        let told = self.model(&model.provider, &model.name);
        match (self, self.tool_mode(model.tool_mode)) {
            (_, None) => told,
            (Self::English, Some(tools)) => format!("{told} · {tools}"),
            (Self::Japanese, Some(tools)) => format!("{told}・{tools}"),
        }
    }

    /// Names the way in which a model receives its tools; `None` if it is unknown.
    pub(super) fn tool_mode(self, mode: ToolOffer) -> Option<&'static str> {
        match mode {
            ToolOffer::Native => Some(self.tools_native()),
            ToolOffer::Prompt => Some(self.tools_in_prompt()),
            ToolOffer::Unknown => None,
        }
    }

    /// A model as the choice for the next message alone.
    pub(crate) fn model_for_next(self, name: &str) -> String {
        match self {
            Self::English => format!("{name} (next message only)"),
            Self::Japanese => format!("{name}（次のメッセージのみ）"),
        }
    }

    /// A conversation's model that cannot be chosen any more.
    pub(crate) fn model_gone(self, name: &str) -> String {
        match self {
            Self::English => format!("{name} (no longer offered)"),
            Self::Japanese => format!("{name}（提供終了）"),
        }
    }

    /// What all answers on the page cost together.
    pub(crate) fn usage_in_all(self, usage: Usage) -> String {
        let usage = self.usage(usage);
        match self {
            Self::English => format!("In all {usage}"),
            Self::Japanese => format!("合計 {usage}"),
        }
    }

    /// A refusal without a sentence of its own.
    pub(crate) fn refused(self, status: u16) -> String {
        match self {
            Self::English => format!("The server refused this (status {status}). Try again in a moment."),
            Self::Japanese => {
                format!("サーバーに拒否されました（ステータス {status}）。しばらくしてからもう一度お試しください。")
            }
        }
    }

    /// Announces to a screen reader how an answer ended.
    pub(crate) const fn answer_end(self, end: AnswerEnd) -> &'static str {
        match end {
            AnswerEnd::Complete => self.answered(),
            AnswerEnd::Stopped => self.answer_was_stopped(),
            AnswerEnd::Failed => self.answer_failed(),
            AnswerEnd::CutOff => self.answer_broke_off(),
        }
    }

    /// A tool call's state in words.
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

    /// What an opened call without output says about why there is none.
    pub(crate) const fn call_note(self, status: ToolCallStatus) -> Option<&'static str> {
        match status {
            ToolCallStatus::Pending => Some(self.still_running()),
            ToolCallStatus::AwaitingApproval => Some(self.waits_for_decision()),
            ToolCallStatus::Success => Some(self.no_output()),
            ToolCallStatus::Denied => Some(self.was_denied()),
            ToolCallStatus::Cancelled => Some(self.was_cancelled()),
            ToolCallStatus::Interrupted => Some(self.was_interrupted()),
            ToolCallStatus::Error | ToolCallStatus::Unknown => None,
        }
    }

    /// What the server refuses by this code (the last part of a problem's type), where the page says it better than the
    /// server's English.
    pub(crate) fn problem(self, code: &str) -> Option<&'static str> {
        if code == "turn-running" {
            return Some(self.turn_running());
        }
        if code == "not-signed-in" {
            return Some(self.signed_out());
        }
        if code == "awaiting_approval" {
            return Some(self.decide_first());
        }
        if self == Self::English {
            return None;
        }
        Some(match code {
            "too-large-to-share" => "この会話は長すぎるため、共有できません。代わりに書き出してください。",
            "sharing-off" => "このサーバーでは、会話を共有できません。",
            "no-such-share" => "リンクが見つかりません。すでに取り消された可能性があります。",
            "no-such-message" => "メッセージが見つかりません。ページを再読み込みしてください。",
            "no-such-tool-call" => "ツール呼び出しが見つかりません。会話が削除された可能性があります。",
            "no-such-tool" => "接続済みのサーバーに、このツールはありません。",
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
            "model-gone" => "この会話のモデルは提供されなくなりました。上の一覧から別のモデルを選んでください。",
            "wrong-password" => "現在のパスワードが違います。",
            "password-needed" => "このアカウントのパスワードを入力してください。",
            "sign-in-again" => "サインインし直して、10分以内にもう一度お試しください。",
            "too-many-attempts" => "試行回数が多すぎます。しばらくしてからもう一度お試しください。",
            "last-admin" => "管理者があなただけのため、できません。先に別の管理者を決めてください。",
            "account-deleted" => "このアカウントは本人が削除したため、元に戻せません。",
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

    /// How a turn failed, by its code. In English the server's own sentence, which says more, is enough.
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
            "answer_too_long" => "回答が長すぎるため、終了しました。質問を分けて送信してください。",
            "storage_full" => "データベースに空きがないため、回答を保存できません。",
            "storage_rejected" => "データベースが回答の終わりを受け付けなかったため、一部だけが保存されています。",
            "shutdown" => "回答の途中でサーバーが再起動しました。",
            "internal" => "サーバーで問題が発生しました。もう一度お試しください。",
            _ => return None,
        })
    }
}
