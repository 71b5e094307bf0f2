//! Text of the settings page, in English and Japanese.

use serde_json::Value;
use tallybook_frontend::Language;

use super::super::{super::i18n::messages, i18n::Messages};

/// Maximum length of a long value in the history, in characters.
const MAX_VALUE_CHARS: usize = 80;

messages! {
    server_settings: "Server settings", "サーバーの設定";
    settings_about:
        "Changes apply at once, on every server of the database. Answers that are being written keep the settings that they started with.",
        "変更は、同じデータベースを使うすべてのサーバーにすぐ反映されます。作成中の回答には、開始時の設定がそのまま使われます。";
    settings_saved: "The settings are saved.", "設定を保存しました。";
    save_settings: "Save", "保存";
    set_in_file:
        "Set in the settings file or the environment, so it can only be changed there.",
        "設定ファイルまたは環境変数で指定されているため、ここでは変更できません。";
    use_default: "Use the default", "既定値に戻す";
    settings_answers: "Answers", "回答";
    default_model: "Default model", "既定のモデル";
    default_model_hint: "Answers if a user chooses no model.", "ユーザーがモデルを選ばないときに使われます。";
    first_model: "The first model", "最初のモデル";
    answering_model: "The model that answers", "回答するモデル";
    shared_instructions: "Instructions for all users", "全員への指示";
    shared_instructions_hint:
        "Part of the system prompt of every conversation, before the user's own instructions. At most 4,000 characters.",
        "すべての会話のシステムプロンプトに、ユーザー自身の指示より前に追加されます。4,000文字まで。";
    llm_titles: "Models write the titles of conversations", "会話のタイトルをモデルが付ける";
    settings_people: "Users", "ユーザー";
    sign_up_policy: "Who can create an account", "アカウントを作成できる人";
    sharing: "Users can share conversations with links", "リンクによる会話の共有を許可する";
    settings_limits: "Limits of each user", "ユーザーごとの上限";
    max_turns: "Answers at the same time", "同時に作成する回答";
    max_messages: "Messages per minute", "1分あたりのメッセージ";
    max_tokens: "Tokens within 24 hours", "24時間あたりのトークン";
    zero_is_no_limit: "0 for no limit.", "0は無制限です。";
    settings_approvals: "Approvals", "承認";
    approval_timeout: "Hours that a call waits for approval", "承認を待つ時間（時間）";
    zero_is_no_timeout: "Then it is denied. 0 for no timeout.", "この時間が過ぎると拒否されます。0は無期限です。";
    reviewers: "Models that review high-risk calls", "リスクの高い呼び出しを審査するモデル";
    reviewers_hint: "Each has one vote. If you select none, users decide.", "モデルごとに1票です。選ばない場合はユーザーが判断します。";
    review_mode: "Effect of the votes", "投票の効果";
    review_advises: "The user decides and sees the votes", "投票を参考にユーザーが判断する";
    review_decides: "The majority decides", "多数決で決める";
    review_quorum: "Votes for a decision", "決定に必要な票数";
    review_quorum_hint: "Empty for the majority of the models.", "空欄の場合は過半数です。";
    review_timeout: "Seconds for the votes", "投票の制限時間（秒）";
    review_timeout_hint: "Empty for 30 seconds.", "空欄の場合は30秒です。";
    settings_summaries: "Summaries of long conversations", "長い会話の要約";
    summary_chars: "Maximum length, in characters", "最大の長さ（文字）";
    summary_chars_hint: "0 turns summaries off.", "0にすると要約しません。";
    summary_after: "Summarize above this number of tokens", "要約を始めるトークン数";
    summary_after_hint: "Empty for 70 % of the model's context window.", "空欄の場合はモデルのコンテキストの70％です。";
    summary_model: "Model that writes summaries", "要約を書くモデル";
    settings_plans: "Plans", "計画";
    planner_model: "Model that makes plans", "計画を立てるモデル";
    plan_attempts: "Attempts at one step", "1ステップの試行回数";
    plan_total_attempts: "Attempts at all steps together", "全ステップの合計試行回数";
    settings_retention: "Retention", "保存期間";
    retention_days: "Days before deleted data is purged", "削除したデータを完全に消去するまでの日数";
    retention_days_hint:
        "0 purges it at once, or as soon as no limit counts it.",
        "0の場合、上限の計算に使われなくなり次第すぐに消去します。";
    settings_history: "Changes", "変更履歴";
    no_settings_changes: "No setting has been changed here.", "ここで変更された設定はありません。";
    restore_settings: "Restore", "この状態に戻す";
    current_settings: "Current", "現在";
}

impl Messages {
    pub(crate) fn sign_up_named(self, name: &str) -> &'static str {
        match (name, self.0) {
            ("open", Language::English) => "Everyone who can reach the server",
            ("open", Language::Japanese) => "サーバーにアクセスできる全員",
            ("closed", Language::English) => "Admins only",
            ("closed", Language::Japanese) => "管理者のみ",
            (_, Language::English) => "Invited users",
            (_, Language::Japanese) => "招待された人",
        }
    }

    /// Returns the label of a setting. A setting with several values has the title of its group.
    pub(crate) fn setting_named(self, name: &str) -> String {
        let label = match name {
            "default_model" => self.default_model(),
            "instructions" => self.shared_instructions(),
            "llm_titles" => self.llm_titles(),
            "sign_up" => self.sign_up_policy(),
            "sharing" => self.sharing(),
            "max_turns_per_person" => self.max_turns(),
            "max_messages_per_minute" => self.max_messages(),
            "max_tokens_per_day" => self.max_tokens(),
            "consent_wait_hours" => self.approval_timeout(),
            "review" => self.reviewers(),
            "memory" => self.settings_summaries(),
            "plan" => self.settings_plans(),
            "retention_days" => self.retention_days(),
            other => other,
        };
        label.to_owned()
    }

    /// Describes the value of a setting before or after a change.
    pub(crate) fn setting_value(self, value: &Value) -> String {
        let (default, on, off) = match self.0 {
            Language::English => ("default", "on", "off"),
            Language::Japanese => ("既定値", "オン", "オフ"),
        };
        let shown = match value {
            Value::Null => default.to_owned(),
            Value::Bool(true) => on.to_owned(),
            Value::Bool(false) => off.to_owned(),
            Value::Number(number) => number.to_string().trim_end_matches(".0").to_owned(),
            Value::String(text) => text.clone(),
            Value::Array(values) => values.iter().map(|value| self.setting_value(value)).collect::<Vec<_>>().join(", "),
            Value::Object(members) => {
                let member = |(name, value): (&String, &Value)| format!("{name} = {}", self.setting_value(value));
                members.iter().map(member).collect::<Vec<_>>().join(", ")
            }
        };
        let short = tallybook_protocol::first_chars(&shown, MAX_VALUE_CHARS);
        if short.len() < shown.len() { format!("{short}…") } else { shown }
    }

    pub(crate) fn setting_change(self, name: &str, before: &str, after: &str) -> String {
        format!("{}: {before} → {after}", self.setting_named(name))
    }
}
