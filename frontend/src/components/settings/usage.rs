//! The section with the used and remaining quotas, as of the time when the settings were opened.

use leptos::prelude::*;
use tallybook_protocol::{BudgetAmount, BudgetStatus, PurposeUsage, Quota, Quotas};

use super::section::section;
use crate::{components::dialogs::usage_rows::usage_rows, language::Language};

/// The section with limits and budgets; empty without any.
pub(super) fn limits_section(limits: Quotas, budgets: &[BudgetStatus], text: Language) -> Option<AnyView> {
    let Quotas { turns, messages_per_minute, tokens_per_day } = limits;
    let rows = [
        (text.limit_turns(), turns),
        (text.limit_messages(), messages_per_minute),
        (text.limit_tokens(), tokens_per_day),
    ];
    let rows = rows.into_iter().filter_map(|(label, quota)| Some(row(label.to_owned(), quota?, text)));
    let rows = rows.chain(budgets.iter().flat_map(|budget| budget_rows(budget, text))).collect::<Vec<_>>();
    let has_some = !rows.is_empty();
    has_some.then(|| section("limits", text.usage_limits(), text.usage_about(), rows.into_any()))
}

/// The usage of this month by purpose; empty without usage.
pub(super) fn month_section(this_month: Vec<PurposeUsage>, text: Language) -> Option<AnyView> {
    let rows = usage_rows(this_month, text);
    let has_some = !rows.is_empty();
    has_some.then(|| section("usage", text.usage_month(), text.usage_month_about(), rows.into_any()))
}

fn row(label: String, Quota { limit, left }: Quota, text: Language) -> AnyView {
    meter(label, text.quota_left(left, limit), limit.to_string(), left.to_string())
}

/// A row for the tokens of a budget, and one for its money.
fn budget_rows(budget: &BudgetStatus, text: Language) -> Vec<AnyView> {
    let show = |amount: Option<BudgetAmount>, is_cost: bool| {
        let amount = amount?;
        let words = text.budget_state(budget, amount, is_cost);
        Some(meter(text.budget(budget, is_cost), words, amount.limit.to_string(), amount.left().to_string()))
    };
    [show(budget.tokens, false), show(budget.cost_nanos, true)].into_iter().flatten().collect()
}

fn meter(label: String, words: String, max: String, value: String) -> AnyView {
    view! {
        <div class="setting-allowance" data-testid="allowance">
            <span>{label.clone()}</span>
            <span>{words}</span>
            <meter aria-label=label min="0" max=max value=value></meter>
        </div>
    }
    .into_any()
}
