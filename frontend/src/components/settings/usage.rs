//! What one may still use up, as of when the settings were opened.

use leptos::prelude::*;
use tallybook_protocol::{Allowance, Allowances};

use super::section::section;
use crate::language::Language;

/// Nothing where there are no limits.
pub(super) fn section_view(limits: Allowances, text: Language) -> Option<AnyView> {
    let Allowances { turns, messages_per_minute, tokens_per_day } = limits;
    let rows = [
        (text.limit_turns(), turns),
        (text.limit_messages(), messages_per_minute),
        (text.limit_tokens(), tokens_per_day),
    ];
    let rows = rows.into_iter().filter_map(|(label, allowance)| Some(row(label, allowance?, text))).collect::<Vec<_>>();
    let has_some = !rows.is_empty();
    has_some.then(|| section("usage", text.usage_limits(), text.usage_about(), rows.into_any()))
}

fn row(label: &'static str, Allowance { limit, left }: Allowance, text: Language) -> AnyView {
    view! {
        <div class="setting-allowance" data-testid="allowance">
            <span>{label}</span>
            <span>{text.left_of(left, limit)}</span>
            <meter aria-label=label min="0" max=limit.to_string() value=left.to_string()></meter>
        </div>
    }
    .into_any()
}
