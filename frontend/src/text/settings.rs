//! What the settings say.

use tallybook_protocol::UserRole;

use crate::{format, language::Language};

texts! {
    setting_texts;

    all_settings: "All settings", "すべての設定";
    settings_loading: "Loading your settings…", "設定を読み込んでいます…";
    loading_list: "Loading…", "読み込んでいます…";
    saved: "Saved.", "保存しました。";

    // Who one is.
    profile: "Profile", "プロフィール";
    profile_about: "How you are known here.", "ここでのあなたの名前です。";
    account_name: "Name", "名前";
    role_label: "Role", "役割";
    role_user: "Member", "メンバー";
    role_admin: "Admin", "管理者";
    password: "Password", "パスワード";
    password_about:
        "A new password signs you out of all other browsers.",
        "パスワードを変更すると、ほかのブラウザーからはサインアウトされます。";
    password_current: "Current password", "現在のパスワード";
    password_new: "New password", "新しいパスワード";
    password_rule:
        "At least 12 characters, hard to guess; several words are easy to remember.",
        "12文字以上の推測されにくいもの。いくつかの言葉をつなげると覚えやすくなります。";
    password_change: "Change the password", "パスワードを変更";
    password_changed:
        "The password is changed. Other browsers are signed out.",
        "パスワードを変更し、ほかのブラウザーからサインアウトしました。";

    // The page.
    appearance: "Appearance", "表示";
    call_previews:
        "Show a preview of tool calls",
        "ツール呼び出しの入力と出力を折りたたんだままでも表示する";
    appearance_about: "Kept in this browser.", "このブラウザーに保存されます。";
    keyboard: "Keyboard and notices", "キーボードと通知";
    keyboard_about:
        "Turn shortcuts of one character off if you dictate, or press keys by accident.",
        "音声入力を使う場合や、誤ってキーを押してしまう場合は、1文字のショートカットをオフにできます。";
    show_shortcuts: "Show all shortcuts", "ショートカットの一覧を表示";

    // Models.
    new_chats: "New chats", "新しいチャット";
    new_chats_about: "Kept in this browser.", "このブラウザーに保存されます。";
    new_chat_model: "Model", "モデル";
    last_model: "The last one chosen", "最後に選んだモデル";

    // What models are told.
    instructions: "Instructions", "指示";
    instructions_about:
        "Every model is told this, in every conversation, from your next message on.",
        "次のメッセージから、すべての会話で、すべてのモデルに伝えられます。";
    instructions_label: "What should models know about you, and how should they answer?", "あなたについて知っておいてほしいことや、回答のしかた";
    instructions_placeholder:
        "For example: I work in metric units. Keep answers short, and say how sure you are.",
        "例: メートル法で答えてください。回答は短く、どのくらい確かかも教えてください。";
    instructions_unsaved: "Not saved yet. This browser keeps what you typed.", "まだ保存されていません。入力した内容はこのブラウザーに残ります。";
    instructions_discard: "Discard changes", "変更を破棄";

    // What one may use up.
    usage_limits: "Limits", "利用の上限";
    usage_about: "What is left for you now, so that everybody is answered.", "全員が利用できるように設けた上限の、現在の残りです。";
    limit_turns: "Answers at the same time", "同時に生成できる回答";
    limit_messages: "Messages in a minute", "1分間のメッセージ";
    limit_tokens: "Tokens in 24 hours", "24時間のトークン";

    // What was used up.
    usage_month: "This month", "今月の使用量";
    usage_title: "Usage", "使用量";
    usage_close: "Close", "閉じる";
    usage_show: "What this was used for", "使用量の内訳を表示";
    usage_of_answer: "What models were asked for to give this answer.", "この回答のためにモデルが使用した量です。";
    usage_of_conversation:
        "What models were asked for in this conversation: its answers in all their versions, and what was asked beside them.",
        "この会話でモデルが使用した量です。回答のすべてのバージョンと、タイトルや要約などを含みます。";
    usage_none: "No model was asked yet.", "まだモデルは使用されていません。";
    usage_month_about: "What models used up for you since the month began (UTC).", "月初め（UTC）からモデルが使用した量です。";

    // Sessions.
    sessions: "Signed-in browsers", "サインイン中のブラウザー";
    sessions_about:
        "End what you do not know, and change your password then.",
        "心当たりのないブラウザーはサインアウトし、パスワードを変更してください。";
    session_current: "This browser", "このブラウザー";
    session_end: "Sign out", "サインアウト";
    session_end_all: "Sign out everywhere", "すべてのブラウザーからサインアウト";
    unknown_browser: "Unknown browser", "不明なブラウザー";

    // Identities.
    identities: "Signing in elsewhere", "外部サービスでのサインイン";
    identities_about:
        "Who you are at another service. Whoever signs in there as you is let in here.",
        "連携した外部サービスのIDです。このIDでサインインできる人は、ここにもサインインできます。";
    identities_none: "Nothing is linked.", "連携しているものはありません。";
    identity_password:
        "Leave it empty if you have none, and have signed in within the last ten minutes.",
        "パスワードがない場合は空欄のまま、サインインから10分以内に連携してください。";
    identity_unlink: "Unlink", "連携を解除";

    // Keys.
    keys: "API keys", "APIキー";
    keys_about:
        "Programs use them to ask in your name. A key reads and writes your conversations, and can change nothing here.",
        "プログラムがあなたの名前で利用するためのキーです。会話の読み書きはできますが、ここの設定は変更できません。";
    key_name: "What the key is for", "キーの用途";
    key_make: "Make a key", "キーを作成";
    key_once:
        "This is the only time that the key is shown. Copy it now.",
        "キーが表示されるのは今回だけです。今すぐコピーしてください。";
    key_kept: "I have copied it", "コピーしたので閉じる";
    keys_none: "There are no keys.", "キーはありません。";
    never_used: "never used", "未使用";
    key_lifetime: "Expires", "有効期間";
    key_forever: "Never", "無期限";
    key_password: "A key needs your password.", "キーの作成にはパスワードが必要です。";
    key_fresh_sign_in:
        "Your account has no password, so make a key within ten minutes after you sign in.",
        "パスワードのないアカウントでは、サインインから10分以内にキーを作成してください。";
    keys_revoke_all: "Revoke all API keys, too", "すべてのAPIキーも取り消す";

    approvals_about: "What runs in your name without asking first.", "先に確認せず、あなたの名前で実行されるものです。";

    // What one shares, and who looked.
    shares: "Shared links", "共有リンク";
    shares_about: "Whoever has one can read its conversation as it was.", "リンクを知っている人は、共有した時点の会話を読めます。";
    shares_none: "You share nothing.", "共有しているものはありません。";
    looks: "Access log", "アクセスの記録";
    looks_about:
        "Admins who opened your conversations or tool calls, with the reasons that they gave, and admins who changed how you \
         sign in.",
        "あなたの会話やツール呼び出しを開いた管理者とその理由、およびサインイン方法を変更した管理者です。";
    looks_none: "Nobody has looked.", "閲覧した人はいません。";
    look_call: "opened a tool call", "ツール呼び出しを開きました";
    look_conversation: "opened a conversation", "会話を開きました";
    look_search: "searched in tool calls", "ツール呼び出しを検索しました";
    look_export: "exported tool calls", "ツール呼び出しを書き出しました";
    look_password: "set another password for your account", "あなたのパスワードを変更しました";
    look_linked: "linked an external account to yours", "外部サービスのIDをあなたのアカウントに連携しました";
    look_unlinked: "unlinked an external account from yours", "外部サービスのIDの連携を解除しました";
    look_keys: "revoked API keys of yours", "あなたのAPIキーを取り消しました";
    look_operator: "Operator of the server", "サーバーの運用者";
    look_other: "looked", "閲覧しました";
    account_changed: "Your account was changed:", "あなたのアカウントが変更されました。";
    account_changed_more: "More changes are in the access log.", "ほかの変更はアクセスの記録にあります。";
    open_access_log: "Open the access log", "アクセスの記録を開く";
    got_it: "Got it", "確認しました";
    book: "Tool history", "ツールの履歴";
    book_about:
        "Every call of everybody. Whoever opens what is somebody else's says why, and the owner sees it.",
        "全員の呼び出しの記録です。ほかの人のものを開くには理由が必要で、本人に表示されます。";
    book_open: "Open the tool history", "ツールの履歴を開く";

    // One's data, and the end.
    your_data: "Your data", "データ";
    your_data_about:
        "All of your conversations, with every version and tool call, and these settings, as one file of JSON lines.",
        "すべての会話（すべてのバージョンとツール呼び出しを含む）と設定を、JSON Linesの1つのファイルに書き出します。";
    export_all: "Export everything", "すべて書き出す";
    delete_account: "Delete the account", "アカウントを削除";
    delete_account_about:
        "You are signed out everywhere, your keys end and nobody sees your conversations in the chat any more. This cannot be \
         taken back. An admin can still read the record of tool calls.",
        "すべてのブラウザーからサインアウトされ、キーは無効になり、会話はチャットで誰にも表示されなくなります。元に戻すことは\
         できません。ツール呼び出しの記録は、管理者が引き続き閲覧できます。";
    delete_account_open: "Delete my account…", "アカウントを削除…";
    delete_account_confirm: "Delete it for good", "完全に削除する";

    // People, for admins.
    people: "People", "ユーザー";
    people_about:
        "Whom you let in. Only admins see this.",
        "このサーバーを使える人です。管理者だけに表示されます。";
    invite: "Make an invitation link", "招待リンクを作成";
    invite_note: "Whoever opens this link can make one account. Send it to one person.", "このリンクを開いた人は、アカウントを1つ作成できます。1人にだけ送ってください。";
    invitation_open: "Open invitation", "未使用の招待";
    make_admin: "Make admin", "管理者にする";
    make_user: "Make member", "メンバーに戻す";
    valid_until: "valid until", "有効期限";
    deactivate: "Deactivate", "無効にする";
    reactivate: "Reactivate", "有効に戻す";
    deactivated: "deactivated", "無効";
    deleted_account: "deleted", "削除済み";
}

impl Language {
    /// A lifetime in days.
    pub(crate) fn days(self, days: u32) -> String {
        match self {
            Self::English => format!("In {days} days"),
            Self::Japanese => format!("{days}日"),
        }
    }

    /// What somebody may do.
    pub(crate) const fn role(self, role: UserRole) -> &'static str {
        match role {
            UserRole::User => self.role_user(),
            UserRole::Admin => self.role_admin(),
        }
    }

    /// What links who one is at an issuer.
    pub(crate) fn identity_link(self, issuer: &str) -> String {
        match self {
            Self::English => format!("Link {issuer}"),
            Self::Japanese => format!("{issuer}と連携"),
        }
    }

    /// How much of a field is used up.
    pub(crate) fn of_most(self, count: usize, most: usize) -> String {
        let (count, most) = (format::count(count), format::count(most));
        match self {
            Self::English => format!("{count} of {most} characters"),
            Self::Japanese => format!("{count}/{most}文字"),
        }
    }

    /// How much is left of a limit.
    pub(crate) fn left_of(self, left: u64, limit: u64) -> String {
        let number = |number: u64| format::count(usize::try_from(number).unwrap_or(usize::MAX));
        match self {
            Self::English => format!("{} of {} left", number(left), number(limit)),
            Self::Japanese => format!("残り{}（上限{}）", number(left), number(limit)),
        }
    }

    /// What models were asked for; all of it where that is empty.
    pub fn purpose(self, purpose: &str) -> String {
        let (english, japanese) = match purpose {
            "" => ("In all", "合計"),
            "answer" => ("Answers", "回答"),
            "plan" => ("Plans", "計画"),
            "evaluate" => ("Judging the steps of plans", "計画のステップの評価"),
            "summary" => ("Summaries of conversations", "会話の要約"),
            "review" => ("Reviews of calls", "ツール呼び出しのレビュー"),
            "plain" => ("Single questions of programs", "プログラムからの単発の質問"),
            "reasoning_summary" => ("Summaries of what was done", "作業の要約"),
            "title" => ("Titles", "タイトル"),
            // One that this page does not know yet.
            other => return other.to_owned(),
        };
        match self {
            Self::English => english,
            Self::Japanese => japanese,
        }
        .to_owned()
    }

    /// How often models were asked.
    pub(crate) fn calls_of_models(self, calls: i64) -> String {
        let number = format::count_of(calls);
        match (self, calls) {
            (Self::English, 1) => "1 call".to_owned(),
            (Self::English, _) => format!("{number} calls"),
            (Self::Japanese, _) => format!("{number}回"),
        }
    }

    /// Which browser it is, on which system.
    pub(crate) fn browser_on(self, browser: &str, system: Option<&str>) -> String {
        match (self, system) {
            (_, None) => browser.to_owned(),
            (Self::English, Some(system)) => format!("{browser} on {system}"),
            (Self::Japanese, Some(system)) => format!("{system}の{browser}"),
        }
    }

    /// What stands before the time at which a browser was last heard of, or a key used.
    pub(crate) const fn last_used(self) -> &'static str {
        match self {
            Self::English => "last used",
            Self::Japanese => "最終利用",
        }
    }

    /// What stands before the time at which something was made.
    pub(crate) const fn made_at(self) -> &'static str {
        match self {
            Self::English => "made",
            Self::Japanese => "作成",
        }
    }
}
