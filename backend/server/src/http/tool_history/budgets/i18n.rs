//! Text of the page of budgets, in English and Japanese.

use tallybook_frontend::Language;

use super::super::{super::i18n::messages, i18n::Messages};

messages! {
    budgets: "Budgets", "予算";
    budgets_about:
        "A budget limits the tokens or the money that models may use within a day or a month, in UTC. When it is used up, no new answer begins. Leave the amounts of a row empty to remove it. For another group, add a new budget.",
        "予算は、1日または1か月（UTC）にモデルが使えるトークンや費用の上限です。使い切ると新しい回答は始まりません。行を削除するには、トークンと費用を空欄にしてください。別のグループには、新しい予算を追加してください。";
    budgets_saved: "The budgets are saved.", "予算を保存しました。";
    save_budgets: "Save", "保存";
    budget_principal: "Applies to", "対象";
    all_users: "All users together", "全ユーザーの合計";
    deleted_group: "Deleted group", "削除されたグループ";
    one_user: "One user", "1人のユーザー";
    budget_user: "User name", "ユーザー名";
    budget_period: "Period", "期間";
    budget_day: "Day", "1日";
    budget_month: "Month", "1か月";
    budget_tokens: "Tokens", "トークン";
    budget_money: "Money, in the currency of the prices", "費用（料金と同じ通貨）";
    budget_warn_at: "Warn at, in percent", "警告する割合（％）";
    budget_number: "Budget", "予算";
    new_budget: "New budget", "新しい予算";
}

impl Messages {
    pub(crate) fn invalid_budget(self, number: usize, field: &str) -> String {
        match self.0 {
            Language::English => format!("{field} of budget {number} is not valid."),
            Language::Japanese => format!("予算{number}の「{field}」が正しくありません。"),
        }
    }

    pub(crate) fn models_without_prices(self, names: &str) -> String {
        match self.0 {
            Language::English => format!(
                "These models have no prices, so budgets of money do not limit them: {names}. Set their prices, or limit tokens."
            ),
            Language::Japanese => format!(
                "次のモデルには料金が設定されていないため、費用の予算では制限されません: {names}。料金を設定するか、トークンを制限してください。"
            ),
        }
    }

    pub(crate) fn budget_of_group(self, name: &str) -> String {
        match self.0 {
            Language::English => format!("Group {name}"),
            Language::Japanese => format!("グループ「{name}」"),
        }
    }
}
