//! Texts of the settings.

use tallybook_protocol::{BudgetAmount, BudgetPeriod, BudgetStatus, UserRole};

use crate::{format, language::Language};

texts! {
    setting_texts;

    all_settings: "All settings", "すべての設定";
    settings_loading: "Loading your settings…", "設定を読み込んでいます…";
    loading_list: "Loading…", "読み込んでいます…";
    saved: "Saved.", "保存しました。";

    // Profile and password.
    profile: "Profile", "プロフィール";
    profile_about: "Your name and role on this server.", "このサーバーでの名前と役割です。";
    account_name: "Name", "名前";
    role_label: "Role", "役割";
    role_user: "Member", "メンバー";
    role_admin: "Admin", "管理者";
    password: "Password", "パスワード";
    password_about: "Changing your password signs you out of all other browsers.", "パスワードを変更すると、ほかのブラウザーからはサインアウトされます。";
    no_password:
        "Your account has no password. To sign in with one, ask an admin to set it.",
        "このアカウントにはパスワードがありません。パスワードでもサインインしたい場合は、管理者に設定を依頼してください。";
    fresh_sign_in:
        "Your account has no password, so do this within ten minutes after you sign in.",
        "このアカウントにはパスワードがないため、サインインから10分以内に操作してください。";
    password_current: "Current password", "現在のパスワード";
    password_new: "New password", "新しいパスワード";
    password_rule:
        "At least 12 characters and hard to guess. Several unrelated words are easy to remember.",
        "推測されにくい12文字以上の文字列。無関係な言葉をいくつかつなげると覚えやすくなります。";
    show_password: "Show password", "パスワードを表示";
    hide_password: "Hide password", "パスワードを隠す";
    password_change: "Change password", "パスワードを変更";
    password_changed: "Your password is changed. Your other browsers are signed out.", "パスワードを変更し、ほかのブラウザーからサインアウトしました。";

    // Appearance and keyboard.
    appearance: "Appearance", "表示";
    call_previews: "Show previews of tool calls", "ツール呼び出しのプレビューを表示する";
    appearance_about: "Saved in this browser.", "このブラウザーに保存されます。";
    keyboard: "Keyboard and notifications", "キーボードと通知";
    keyboard_about:
        "Turn off single-key shortcuts if you use dictation or press keys by accident.",
        "音声入力を使う場合や、誤ってキーを押してしまう場合は、1キーのショートカットをオフにできます。";
    show_shortcuts: "Show all shortcuts", "ショートカットの一覧を表示";

    // Models.
    new_chats: "New chats", "新しいチャット";
    new_chats_about: "Saved in this browser.", "このブラウザーに保存されます。";
    new_chat_model: "Model", "モデル";
    last_model: "Last model chosen", "最後に選んだモデル";

    // Instructions for models.
    instructions: "Instructions", "指示";
    instructions_about:
        "Sent to every model in every conversation, starting with your next message.",
        "次のメッセージから、すべての会話で、すべてのモデルに送られます。";
    instructions_label: "What should models know about you, and how should they answer?", "あなたについて知っておいてほしいことや、回答のしかた";
    instructions_placeholder:
        "For example: I work in metric units. Keep answers short, and say how sure you are.",
        "例: メートル法で答えてください。回答は短く、どのくらい確かかも教えてください。";
    instructions_unsaved: "Not saved yet. Your text is kept in this browser.", "まだ保存されていません。入力した内容は、このブラウザーに残ります。";
    instructions_discard: "Discard changes", "変更を破棄";

    // Limits.
    usage_limits: "Limits", "利用の上限";
    usage_about:
        "Your remaining quota. Limits keep the service responsive for everyone.",
        "現在の残量です。上限は、全員が快適に利用できるように設けられています。";
    limit_turns: "Simultaneous answers", "同時に生成できる回答数";
    limit_messages: "Messages per minute", "1分あたりのメッセージ数";
    limit_tokens: "Tokens per 24 hours", "24時間あたりのトークン数";

    // Usage.
    usage_month: "This month", "今月の使用量";
    usage_title: "Usage", "使用量";
    usage_close: "Close", "閉じる";
    usage_show: "Show usage details", "使用量の内訳を表示";
    usage_of_answer: "Model usage for this answer.", "この回答のためのモデルの使用量です。";
    usage_of_conversation:
        "Model usage in this conversation: all versions of its answers, and other calls, such as for titles and summaries.",
        "この会話でのモデルの使用量です。回答のすべてのバージョンと、タイトルや要約などを含みます。";
    usage_none: "No model usage yet.", "モデルの使用はまだありません。";
    usage_month_about: "Your model usage since the start of this month (UTC).", "今月初め（UTC）からのモデルの使用量です。";

    // Sessions.
    sessions: "Signed-in browsers", "サインイン中のブラウザー";
    sessions_about:
        "Sign out browsers you don't recognize, then change your password.",
        "心当たりのないブラウザーはサインアウトし、その後パスワードを変更してください。";
    session_current: "This browser", "このブラウザー";
    session_end: "Sign out", "サインアウト";
    session_end_all: "Sign out everywhere", "すべてのブラウザーからサインアウト";
    unknown_browser: "Unknown browser", "不明なブラウザー";

    // Linked accounts.
    linked_accounts: "Linked accounts", "連携中のサービス";
    linked_accounts_about: "External accounts you can use to sign in here.", "サインインに使える外部サービスのアカウントです。";
    linked_accounts_none: "No linked accounts.", "連携中のサービスはありません。";
    link_password: "To link an account, enter your password.", "連携にはパスワードが必要です。";
    unlink_account: "Unlink", "連携を解除";

    // API keys.
    keys: "API keys", "APIキー";
    keys_about:
        "API clients use a key to act for you. A key can read and write your conversations. It cannot manage keys or users, or approve tool calls.",
        "APIクライアントがあなたの代わりに使うキーです。会話の読み書きはできますが、キーやユーザーの管理、ツール呼び出しの承認はできません。";
    may_not_make_keys:
        "Only some groups may create API keys, and you are in none of them. Ask an admin.",
        "APIキーを作成できるのは、一部のグループのメンバーだけです。管理者に相談してください。";
    key_name: "Purpose of the key", "キーの用途";
    key_create: "Create key", "キーを作成";
    key_once: "This key is shown only once. Copy it now.", "キーが表示されるのは今回だけです。今すぐコピーしてください。";
    key_copied: "I have copied it", "コピーしたので閉じる";
    keys_none: "No API keys.", "APIキーはありません。";
    never_used: "never used", "未使用";
    key_lifetime: "Expires", "有効期間";
    key_forever: "Never", "無期限";
    key_password: "To create a key, enter your password.", "キーの作成にはパスワードが必要です。";
    keys_revoke_all: "Also revoke all API keys", "すべてのAPIキーも取り消す";

    saved_approvals_about: "These tools run without asking for your approval.", "確認なしで実行されるツールです。";

    // Shared links, access log and tool history.
    shares: "Shared links", "共有リンク";
    shares_about:
        "Anyone with one of these links can read the conversation as it was when you shared it.",
        "リンクを知っている人は誰でも、共有した時点の会話を読めます。";
    shares_none: "No shared links.", "共有リンクはありません。";
    access_log: "Access log", "アクセス記録";
    access_log_about:
        "Admins who opened your conversations or tool calls, with their reasons, and admins who changed how you sign in.",
        "あなたの会話やツール呼び出しを開いた管理者とその理由、およびサインイン方法を変更した管理者です。";
    access_log_none: "No access recorded.", "記録はありません。";
    access_call: "opened a tool call", "ツール呼び出しを開きました";
    access_conversation: "opened a conversation", "会話を開きました";
    access_search: "searched tool calls", "ツール呼び出しを検索しました";
    access_export: "exported tool calls", "ツール呼び出しを書き出しました";
    access_password: "set a new password for your account", "あなたのパスワードを変更しました";
    access_linked: "linked an external account to yours", "外部サービスのアカウントをあなたのアカウントに連携しました";
    access_unlinked: "unlinked an external account from yours", "外部サービスのアカウントの連携を解除しました";
    access_keys: "revoked API keys of your account", "あなたのAPIキーを取り消しました";
    access_operator: "Server operator", "サーバーの運用者";
    access_other: "accessed your data", "あなたのデータにアクセスしました";
    account_changed: "Your account was changed:", "あなたのアカウントが変更されました。";
    account_changed_more: "More changes are in the access log.", "ほかの変更はアクセス記録にあります。";
    open_access_log: "Open the access log", "アクセス記録を開く";
    got_it: "Got it", "確認しました";
    tool_history: "Tool history", "ツールの履歴";
    tool_history_about:
        "All users' tool calls. To open another user's call, you must give a reason, which that user can see.",
        "全ユーザーのツール呼び出しです。ほかのユーザーの呼び出しを開くには理由の入力が必要で、その理由は本人に表示されます。";
    tool_history_open: "Open the tool history", "ツールの履歴を開く";
    budget_warning: "Nearly used up:", "残りわずか:";
    budget_used_up: "Used up:", "使い切りました:";
    server_settings: "Server", "サーバー";
    server_settings_about:
        "Limits, sign-up, approvals, retention and the other settings of this server, with the history of their changes.",
        "上限、アカウント作成、承認、保存期間など、このサーバーの設定とその変更履歴です。";
    server_settings_open: "Open the server settings", "サーバーの設定を開く";

    // Data and deletion of the account.
    your_data: "Your data", "データ";
    your_data_about:
        "All your conversations, with every version and tool call, and your settings, in one JSON Lines file.",
        "すべての会話（すべてのバージョンとツール呼び出しを含む）と設定を、1つのJSON Linesファイルに書き出します。";
    export_all: "Export everything", "すべて書き出す";
    delete_conversations: "Delete all conversations", "すべての会話を削除";
    delete_conversations_about:
        "Removes all conversations from the chat, including pinned and archived ones. It cannot be undone. Admins can still read the history of your tool calls.",
        "ピン留めやアーカイブしたものも含め、すべての会話をチャットから削除します。この操作は元に戻せません。ツールの履歴は、管理者が引き続き閲覧できます。";
    delete_conversations_open: "Delete all conversations…", "すべての会話を削除…";
    conversations_deleted: "All conversations are deleted.", "すべての会話を削除しました。";
    no_conversations_left: "You have no conversations.", "会話はありません。";
    delete_account: "Delete account", "アカウントを削除";
    delete_account_about:
        "This signs you out everywhere, revokes your API keys, and removes your conversations from the chat. It cannot be undone. Admins can still read the history of your tool calls.",
        "すべてのブラウザーからサインアウトされ、APIキーは無効になり、会話はチャットから削除されます。この操作は元に戻せません。ツールの履歴は、管理者が引き続き閲覧できます。";
    delete_account_open: "Delete my account…", "アカウントを削除…";
    delete_password: "To delete your account, enter your password.", "削除にはパスワードが必要です。";
    delete_account_confirm: "Delete permanently", "完全に削除";

    // Users, for admins.
    users: "Users", "ユーザー";
    users_about: "Accounts on this server. Only admins see this list.", "このサーバーのアカウントです。管理者だけに表示されます。";
    invite: "Create invitation link", "招待リンクを作成";
    invite_note:
        "Anyone with this link can create one account. Send it to one person only.",
        "このリンクを知っている人は、アカウントを1つ作成できます。1人にだけ送ってください。";
    invitation_unused: "Unused invitation", "未使用の招待";
    make_admin: "Make admin", "管理者にする";
    make_user: "Make member", "メンバーに戻す";
    valid_until: "valid until", "有効期限";
    deactivate: "Deactivate", "無効にする";
    reactivate: "Reactivate", "有効に戻す";
    deactivated: "deactivated", "無効";
    deleted_account: "deleted", "削除済み";
}

impl Language {
    /// Question before all conversations are deleted.
    pub(crate) fn delete_conversations_question(self, number: u64) -> String {
        let count = format::count(usize::try_from(number).unwrap_or(usize::MAX));
        match (self, number) {
            (Self::English, 1) => "Delete your only conversation permanently?".to_owned(),
            (Self::English, _) => {
                format!("Delete all {count} conversations permanently, including pinned and archived ones?")
            }
            (Self::Japanese, _) => {
                format!("ピン留めやアーカイブしたものも含めて、{count}件の会話をすべて完全に削除しますか？")
            }
        }
    }

    /// Label of an API key's lifetime in days.
    pub(crate) fn days(self, days: u32) -> String {
        match self {
            Self::English => format!("In {days} days"),
            Self::Japanese => format!("{days}日"),
        }
    }

    /// Returns the name of a role.
    pub(crate) const fn role(self, role: UserRole) -> &'static str {
        match role {
            UserRole::User => self.role_user(),
            UserRole::Admin => self.role_admin(),
        }
    }

    /// Label of the button that links an account of an identity provider.
    pub(crate) fn link_account(self, provider: &str) -> String {
        match self {
            Self::English => format!("Link {provider}"),
            Self::Japanese => format!("{provider}と連携"),
        }
    }

    /// Returns the number of characters in a field, and the maximum.
    pub(crate) fn characters_used(self, count: usize, most: usize) -> String {
        let (count, most) = (format::count(count), format::count(most));
        match self {
            Self::English => format!("{count} of {most} characters"),
            Self::Japanese => format!("{count}/{most}文字"),
        }
    }

    /// Returns the rest of a limit.
    pub(crate) fn quota_left(self, left: u64, limit: u64) -> String {
        let number = |number: u64| format::count(usize::try_from(number).unwrap_or(usize::MAX));
        match self {
            Self::English => format!("{} of {} left", number(left), number(limit)),
            Self::Japanese => format!("残り{}（上限{}）", number(left), number(limit)),
        }
    }

    /// Returns the label of a budget, in tokens or in money.
    pub(crate) fn budget(self, budget: &BudgetStatus, is_cost: bool) -> String {
        let BudgetStatus { is_shared, group, period, .. } = budget;
        let (english, japanese) = match period {
            BudgetPeriod::Day => ("today", "今日"),
            BudgetPeriod::Month => ("this month", "今月"),
        };
        match self {
            Self::English => {
                let what = if is_cost { "Money" } else { "Tokens" };
                let whose = match group {
                    Some(group) => format!(", for the group {group} together"),
                    None if *is_shared => ", for all users together".to_owned(),
                    None => String::new(),
                };
                format!("{what} {english}{whose}")
            }
            Self::Japanese => {
                let what = if is_cost { "費用" } else { "トークン" };
                let whose = match group {
                    Some(group) => format!("（グループ「{group}」の合計）"),
                    None if *is_shared => "（全ユーザーの合計）".to_owned(),
                    None => String::new(),
                };
                format!("{japanese}の{what}{whose}")
            }
        }
    }

    /// Describes the rest of a budget in tokens, or in billionths of the currency, and when it starts again.
    pub(crate) fn budget_state(self, budget: &BudgetStatus, amount: BudgetAmount, is_cost: bool) -> String {
        let left = amount.left();
        let resets_at = budget.resets_at.format("%Y-%m-%d %H:%M UTC").to_string();
        let words = self.budget_left(left, amount.limit, is_cost, &resets_at);
        match left {
            0 => format!("{} {words}", self.budget_used_up()),
            _ if amount.is_warning => format!("{} {words}", self.budget_warning()),
            _ => words,
        }
    }

    fn budget_left(self, left: i64, limit: i64, is_cost: bool, resets_at: &str) -> String {
        let number = |number: i64| {
            if is_cost { format::amount(number) } else { format::count(usize::try_from(number).unwrap_or(usize::MAX)) }
        };
        match self {
            Self::English => format!("{} of {} left until {resets_at}", number(left), number(limit)),
            Self::Japanese => format!("残り{}（上限{}、{resets_at}まで）", number(left), number(limit)),
        }
    }

    /// Returns the label of a purpose of model calls; of the total if `purpose` is empty.
    pub fn purpose(self, purpose: &str) -> String {
        let (english, japanese) = match purpose {
            "" => ("Total", "合計"),
            "answer" => ("Answers", "回答"),
            "plan" => ("Plans", "計画"),
            "evaluate" => ("Evaluation of plan steps", "計画のステップの評価"),
            "summary" => ("Conversation summaries", "会話の要約"),
            "review" => ("Reviews of tool calls", "ツール呼び出しのレビュー"),
            "plain" => ("Direct API calls", "APIからの直接利用"),
            "reasoning_summary" => ("Explanations of answers", "回答の説明"),
            "title" => ("Titles", "タイトル"),
            // A purpose that this page does not know yet.
            other => return other.to_owned(),
        };
        match self {
            Self::English => english,
            Self::Japanese => japanese,
        }
        .to_owned()
    }

    /// Returns the number of model calls.
    pub(crate) fn model_calls(self, calls: i64) -> String {
        let number = format::count_of(calls);
        match (self, calls) {
            (Self::English, 1) => "1 call".to_owned(),
            (Self::English, _) => format!("{number} calls"),
            (Self::Japanese, _) => format!("{number}回"),
        }
    }

    /// Names a browser and its operating system.
    pub(crate) fn browser_on(self, browser: &str, system: Option<&str>) -> String {
        match (self, system) {
            (_, None) => browser.to_owned(),
            (Self::English, Some(system)) => format!("{browser} on {system}"),
            (Self::Japanese, Some(system)) => format!("{system}の{browser}"),
        }
    }

    /// Label before the time of the last use of a session or an API key.
    pub(crate) const fn last_used(self) -> &'static str {
        match self {
            Self::English => "last used",
            Self::Japanese => "最終利用",
        }
    }

    /// Label before the time of creation.
    pub(crate) const fn created_at(self) -> &'static str {
        match self {
            Self::English => "created",
            Self::Japanese => "作成",
        }
    }
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::{BudgetAmount, BudgetPeriod, BudgetStatus};

    use crate::language::Language;

    #[test]
    fn a_budget_is_described_by_its_owner_and_by_what_is_left() {
        let budget = |is_shared, group: Option<&str>, period| BudgetStatus {
            is_shared,
            group: group.map(str::to_owned),
            period,
            tokens: None,
            cost_nanos: None,
            resets_at: "2026-12-01T00:00:00Z".parse().unwrap(),
        };
        for (budget, is_cost, english, japanese) in [
            (budget(false, None, BudgetPeriod::Day), false, "Tokens today", "今日のトークン"),
            (
                budget(true, None, BudgetPeriod::Month),
                true,
                "Money this month, for all users together",
                "今月の費用（全ユーザーの合計）",
            ),
            (
                budget(true, Some("Staff"), BudgetPeriod::Month),
                false,
                "Tokens this month, for the group Staff together",
                "今月のトークン（グループ「Staff」の合計）",
            ),
        ] {
            assert_eq!(Language::ALL.map(|language| language.budget(&budget, is_cost)), [english, japanese]);
        }
        let budget = budget(false, None, BudgetPeriod::Month);
        for (limit, used, is_warning, is_cost, english, japanese) in [
            (2000, 500, false, false, "1,500 of 2,000 left until", "残り1,500（上限2,000、"),
            (2000, 1990, true, false, "Nearly used up: 10 of 2,000 left until", "残りわずか: 残り10（上限2,000、"),
            (2000, 2100, true, false, "Used up: 0 of 2,000 left until", "使い切りました: 残り0（上限2,000、"),
            (5_000_000_000, 750_000_000, false, true, "4.25 of 5.00 left until", "残り4.25（上限5.00、"),
        ] {
            let amount = BudgetAmount { limit, used, is_warning };
            let texts = Language::ALL.map(|language| language.budget_state(&budget, amount, is_cost));
            assert_eq!(
                texts,
                [format!("{english} 2026-12-01 00:00 UTC"), format!("{japanese}2026-12-01 00:00 UTCまで）")]
            );
        }
    }
}
