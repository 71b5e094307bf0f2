//! Sentences about pages that cannot be shown, and about refused changes of settings, budgets and groups. In English,
//! they are mostly the messages of the errors; this file has those in Japanese.

use actix_web::ResponseError as _;
use tallybook_frontend::Language;
use tallybook_protocol::BudgetPeriod;
use tallybook_runtime_settings::{BudgetProblem, GroupProblem, SettingProblem, SettingsError, ValueProblem};
use tallybook_tool_history::ToolHistoryError;

use super::{
    super::{error::ApiError, i18n::FAILED_IN_JAPANESE},
    i18n::Messages,
};

/// A sentence that says why a change was refused or has no effect.
pub(crate) struct Refusal {
    pub(crate) sentence: String,
    /// More in English, on a page in another language, which cannot be translated.
    pub(crate) detail: Option<String>,
}

impl From<String> for Refusal {
    fn from(sentence: String) -> Self {
        Self { sentence, detail: None }
    }
}

impl Messages {
    /// Returns the error message for a page that cannot be shown.
    pub(crate) fn problem(self, error: &ApiError) -> String {
        let is_ours = error.status_code().is_server_error();
        let ApiError::ToolHistory(refusal) = error else {
            return match (self.0, error) {
                (Language::Japanese, _) if is_ours => FAILED_IN_JAPANESE.to_owned(),
                (Language::Japanese, ApiError::Settings(refusal)) => self.settings_refusal(refusal).sentence,
                _ => error.to_string(),
            };
        };
        if self.0 == Language::English {
            return match refusal {
                ToolHistoryError::NeedsReason { owner: Some(owner) } => {
                    format!("This belongs to {owner}. Enter a reason to open it.")
                }
                ToolHistoryError::NeedsReason { owner: None } => {
                    "This searches the tool calls of all users. Enter a reason first.".to_owned()
                }
                other => other.to_string(),
            };
        }
        match refusal {
            ToolHistoryError::NeedsReason { owner: Some(owner) } => {
                format!("これは{owner}さんのものです。閲覧するには理由を入力してください。")
            }
            ToolHistoryError::NeedsReason { owner: None } => {
                "全ユーザーのツール呼び出しを検索します。先に閲覧の理由を入力してください。".to_owned()
            }
            ToolHistoryError::NoRerun(problem) => self.no_rerun(*problem),
            ToolHistoryError::Busy => "履歴の検索が混み合っています。数秒後にもう一度お試しください。".to_owned(),
            ToolHistoryError::TooManyReruns => "再実行が多すぎます。数秒後にもう一度お試しください。".to_owned(),
            ToolHistoryError::NoReason => "理由を500文字以内で入力してください。".to_owned(),
            ToolHistoryError::NoSuchUser(name) => format!("「{name}」というユーザーはいません。"),
            ToolHistoryError::NoSuchConversation => {
                "この会話はありません。すでに消去された可能性があります。".to_owned()
            }
            ToolHistoryError::NoSuchCall => {
                "このツール呼び出しはありません。すでに消去された可能性があります。".to_owned()
            }
            _ if is_ours => FAILED_IN_JAPANESE.to_owned(),
            other => other.to_string(),
        }
    }

    /// Returns the error message for a form that was refused. `is_kept` says whether the form keeps what was entered.
    pub(crate) fn form_problem(self, error: &ApiError, is_kept: bool) -> Refusal {
        if is_kept && error.is_outdated() {
            return self.changed_meanwhile().to_owned().into();
        }
        match error {
            ApiError::Settings(error) if self.0 == Language::Japanese => self.settings_refusal(error),
            error => self.problem(error).into(),
        }
    }

    /// Describes a setting that has no effect.
    pub(crate) fn setting_problem(self, problem: &SettingProblem) -> Refusal {
        if self.0 == Language::English { problem.to_string().into() } else { self.setting_refusal(problem) }
    }

    fn settings_refusal(self, error: &SettingsError) -> Refusal {
        let sentence = match error {
            SettingsError::InvalidSetting(problem) => return self.setting_refusal(problem),
            SettingsError::InvalidBudget(problem) => budget_refusal(problem),
            SettingsError::InvalidGroup(problem) => group_refusal(problem),
            SettingsError::SettingInFile(setting) => format!(
                "「{}」は設定ファイルまたは環境変数で指定されているため、ここでは変更できません。",
                self.setting_named(setting)
            ),
            SettingsError::NoSuchGroup => "このグループはありません。すでに削除された可能性があります。".to_owned(),
            SettingsError::GroupNameTaken => {
                "同じ名前のグループがすでにあります。別の名前を選ぶか、既存のグループを変更してください。".to_owned()
            }
            SettingsError::MembersFromProvider => self.provider_adds_members().to_owned(),
            SettingsError::GroupChanged => {
                "このグループは別の管理者によって変更されました。再読み込みしてから、もう一度変更してください。"
                    .to_owned()
            }
            SettingsError::SettingsChanged => {
                "この設定は別の管理者によって変更されました。再読み込みしてから、もう一度変更してください。".to_owned()
            }
            SettingsError::NoSuchChange => "この変更は履歴にありません。履歴に残るのは最新の1,000件です。".to_owned(),
            SettingsError::Storage(_) => FAILED_IN_JAPANESE.to_owned(),
            other => {
                let sentence = "変更できませんでした。".to_owned();
                return Refusal { sentence, detail: Some(other.to_string()) };
            }
        };
        sentence.into()
    }

    fn setting_refusal(self, SettingProblem { setting, problem }: &SettingProblem) -> Refusal {
        let name = self.setting_named(setting);
        let sentence = match problem {
            ValueProblem::Unknown(names) => {
                format!("「{setting}」という設定はありません。設定は次のとおりです: {names}")
            }
            ValueProblem::Unreadable(detail) => {
                let sentence = format!("「{name}」の値が正しくありません。");
                return Refusal { sentence, detail: Some(detail.clone()) };
            }
            ValueProblem::Range { part, min, max } => {
                let part = self.setting_part(part).map(|part| format!("の「{part}」")).unwrap_or_default();
                format!("「{name}」{part}には{min}から{max}までの値を入力してください。")
            }
            ValueProblem::Choice { .. } => format!("「{name}」の値が正しくありません。一覧から選んでください。"),
            ValueProblem::TooLong(chars) => format!("「{name}」は{chars}文字以内で入力してください。"),
            ValueProblem::HasNul => format!("「{name}」にはNUL文字を使えません。"),
            ValueProblem::ReviewerCount(most) => format!("「{name}」は1個から{most}個まで選んでください。"),
            ValueProblem::NoModel { model, models } => {
                format!("「{name}」のモデル「{model}」はありません。利用できるモデル: {models}")
            }
            ValueProblem::CannotReview(model) => {
                format!("「{name}」のモデル「{model}」は審査に使えません。別のモデルを選んでください。")
            }
            ValueProblem::CannotWrite(model) => {
                format!("「{name}」にモデル「{model}」は使えません。別のモデルを選んでください。")
            }
            ValueProblem::ReviewsTwice(model) => {
                format!("「{name}」でモデル「{model}」が2回選ばれています。モデルごとに1票です。")
            }
            ValueProblem::SetInFile => {
                format!("「{name}」は設定ファイルまたは環境変数で指定されているため、ここで設定した値は使われません。")
            }
            ValueProblem::ModelGone(model) => format!("「{name}」のモデル「{model}」は利用できません。"),
        };
        sentence.into()
    }

    /// Returns the label of a member of a setting.
    fn setting_part(self, part: &str) -> Option<&'static str> {
        Some(match part {
            "quorum" => self.review_quorum(),
            "timeout_secs" => self.review_timeout(),
            "after_tokens" => self.summary_after(),
            "max_chars" => self.summary_chars(),
            "max_attempts" => self.plan_attempts(),
            "max_total_attempts" => self.plan_total_attempts(),
            _ => return None,
        })
    }
}

fn budget_refusal(problem: &BudgetProblem) -> String {
    match problem {
        BudgetProblem::TooMany(most) => format!("予算は{most}件までです。"),
        BudgetProblem::Principal(principal) => format!("予算の対象「{principal}」が正しくありません。"),
        BudgetProblem::Twice(principal, period) => {
            let period = if *period == BudgetPeriod::Day { "1日" } else { "1か月" };
            format!("同じ対象（{principal}）に{period}の予算が2つあります。1つにまとめてください。")
        }
        BudgetProblem::Empty(principal) => {
            format!("予算（{principal}）に上限がありません。トークンか費用を入力してください。")
        }
        BudgetProblem::BelowOne(principal) => format!("予算（{principal}）の上限は1以上にしてください。"),
        BudgetProblem::WarnAt => "警告する割合は0から100％までの値を入力してください。".to_owned(),
        BudgetProblem::NoUser(principal) => {
            format!("予算の対象のユーザーはいません（{principal}）。すでに削除された可能性があります。")
        }
        BudgetProblem::NoGroup(principal) => {
            format!("予算の対象のグループはありません（{principal}）。すでに削除された可能性があります。")
        }
        BudgetProblem::Field(sentence) => sentence.clone(),
    }
}

fn group_refusal(problem: &GroupProblem) -> String {
    match problem {
        GroupProblem::TooMany(most) => format!("グループは{most}個までです。先にほかのグループを削除してください。"),
        GroupProblem::NameFromProvider => "このグループの名前はIDプロバイダーが決めます。".to_owned(),
        GroupProblem::Name(most) => format!("グループの名前は1行、1文字から{most}文字で入力してください。"),
        GroupProblem::TooManyGrants(most) => format!("1つのグループに許可できるのは{most}件までです。"),
        GroupProblem::Grant(grant) => format!("許可「{grant}」が正しくありません。"),
        GroupProblem::NoModel { model, models } => {
            format!("「{model}」というモデルはありません。利用できるモデル: {models}")
        }
        GroupProblem::NoToolServer { server, servers } => {
            format!("「{server}」というツールサーバーはありません。利用できるツールサーバー: {servers}")
        }
        GroupProblem::TooManyMembers(most) => format!("1つのグループのメンバーは{most}人までです。"),
        GroupProblem::NoUser(id) => format!("IDが{id}のユーザーはいません。"),
        GroupProblem::NoUserNamed(name) => format!("「{name}」というユーザーはいません。"),
    }
}
