//! The section with the used and remaining quotas, as of the time when the settings were opened.

use leptos::prelude::*;
use tallybook_protocol::{PurposeUsage, Quota, Quotas};

use super::section::section;
use crate::{components::usage_rows::usage_rows, language::Language};

/// The section; empty without limits.
pub(super) fn limits_section(limits: Quotas, text: Language) -> Option<AnyView> {
    let Quotas { turns, messages_per_minute, tokens_per_day } = limits;
    let rows = [
        (text.limit_turns(), turns),
        (text.limit_messages(), messages_per_minute),
        (text.limit_tokens(), tokens_per_day),
    ];
    let rows = rows.into_iter().filter_map(|(label, allowance)| Some(row(label, allowance?, text))).collect::<Vec<_>>();
    let has_some = !rows.is_empty();
    has_some.then(|| section("limits", text.usage_limits(), text.usage_about(), rows.into_any()))
}

/// The usage of this month by purpose; empty without usage.
pub(super) fn month_section(this_month: Vec<PurposeUsage>, text: Language) -> Option<AnyView> {
    let rows = usage_rows(this_month, text);
    let has_some = !rows.is_empty();
    has_some.then(|| section("usage", text.usage_month(), text.usage_month_about(), rows.into_any()))
}

fn row(label: &'static str, Quota { limit, left }: Quota, text: Language) -> AnyView {
    view! {
        <div class="setting-allowance" data-testid="allowance">
            <span>{label}</span>
            <span>{text.quota_left(left, limit)}</span>
            <meter aria-label=label min="0" max=limit.to_string() value=left.to_string()></meter>
        </div>
    }
    .into_any()
}
