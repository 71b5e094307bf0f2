//! The line that several finished calls fold under.

use leptos::prelude::*;

use crate::{
    components::{
        icon::{Draw, Icon},
        tool_call::id_of_call,
        tool_calls::{Calls, Lines},
    },
    language::use_language,
    transcript::{Group, Line},
};

/// One group, closed until the reader opens it.
#[component]
pub(crate) fn ToolGroup(
    /// Its first call.
    first: i64,
    lines: Lines,
    calls: Calls,
) -> impl IntoView {
    let text = use_language();
    let group = Memo::new(move |_| lines.with(|lines| find(lines, first).cloned()));
    let read = move |words: fn(&Group) -> String| group.with(|group| group.as_ref().map(words));
    let failed = move || group.with(|group| group.as_ref().map_or(0, |group| group.failed));
    let open =
        Memo::new(move |_| group.with(|group| group.as_ref().is_some_and(|group| calls.is_group_open(&group.ids))));
    let toggle = move |_| {
        if let Some(group) = group.get_untracked() {
            calls.set_group(&group.ids, !open.get_untracked());
        }
    };
    view! {
        <div class="tool tool-group">
            <button
                type="button"
                class="tool-line"
                data-testid="tool-group"
                data-failed=move || (failed() > 0).then_some("")
                aria-expanded=move || open.get().to_string()
                aria-controls=move || read(|group| group.ids.iter().map(|id| id_of_call(*id)).collect::<Vec<_>>().join(" "))
                on:click=toggle
            >
                <span class="tool-status">
                    {move || {
                        let icon = if failed() > 0 { Icon::Warning } else { Icon::Check };
                        view! { <Draw icon /> }
                    }}
                </span>
                <span class="tool-name">
                    {move || group.with(|group| group.as_ref().map(|group| text.used_tools(group.ids.len())))}
                </span>
                <span class="tool-summary">{move || read(Group::summary)}</span>
                {move || (failed() > 0).then(|| view! { <span class="tool-state">{text.failed_calls(failed())}</span> })}
                <span class="tool-chevron"><Draw icon=Icon::Chevron /></span>
            </button>
        </div>
    }
    .into_any()
}

fn find(lines: &[Line], first: i64) -> Option<&Group> {
    lines.iter().find_map(|line| match line {
        Line::Group(group) if group.ids.first() == Some(&first) => Some(group),
        Line::Group(_) | Line::Call { .. } => None,
    })
}

/// How a call stands to a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folding {
    /// It is in none.
    Alone,
    /// It is in one that is open.
    Unfolded,
    /// It is in one that is closed.
    Folded,
}

/// How the call `id` stands to the groups in `lines`.
pub(crate) fn folding_of(lines: &[Line], id: i64, calls: Calls) -> Folding {
    let group = lines.iter().find_map(|line| match line {
        Line::Call { id: other, group } if *other == id => *group,
        Line::Call { .. } | Line::Group(_) => None,
    });
    match group.and_then(|first| find(lines, first)) {
        None => Folding::Alone,
        Some(group) if calls.is_group_open(&group.ids) => Folding::Unfolded,
        Some(_) => Folding::Folded,
    }
}
