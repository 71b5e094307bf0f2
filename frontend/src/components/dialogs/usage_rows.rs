//! Rows of usage: one for each purpose, and the total.

use leptos::prelude::*;
use tallybook_protocol::{PurposeUsage, Usage};

use crate::language::Language;

/// The rows; none without usage.
pub(crate) fn usage_rows(items: Vec<PurposeUsage>, text: Language) -> Vec<AnyView> {
    let mut all = PurposeUsage { purpose: String::new(), calls: 0, usage: Usage::default() };
    for row in &items {
        all.calls += row.calls;
        all.usage += row.usage;
    }
    let is_sum_of_many = items.len() > 1;
    let row = |row: PurposeUsage| {
        view! {
            <div class="usage-row" data-testid="usage-row">
                <span>{text.purpose(&row.purpose)}</span>
                <span>{text.model_calls(row.calls)} " · " {text.usage(row.usage)}</span>
            </div>
        }
        .into_any()
    };
    items.into_iter().chain(is_sum_of_many.then_some(all)).map(row).collect()
}
