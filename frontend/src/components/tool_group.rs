//! The line that several finished items fold under.

use leptos::prelude::*;

use crate::{
    components::{
        icon::{Draw, Icon},
        items::{Items, Lines, element_id},
        tally_marks::tally,
        times::times,
    },
    format,
    language::use_language,
    reactive::memo,
    transcript::{Group, ItemKey, Line},
};

/// One group, closed until the reader opens it.
#[component]
pub(crate) fn ToolGroup(
    /// Its first item.
    first: Option<ItemKey>,
    lines: Lines,
    items: Items,
) -> impl IntoView {
    let text = use_language();
    let group = memo(move |_| lines.with(|lines| first.and_then(|first| find(lines, first)).cloned()));
    let read = move |words: fn(&Group) -> String| group.with(|group| group.as_ref().map(words));
    let failed = move || group.with(|group| group.as_ref().map_or(0, Group::failed));
    let open = memo(move |_| group.with(|group| group.as_ref().is_some_and(|group| items.is_group_open(&group.keys))));
    let toggle = move |_| {
        if let Some(group) = group.get_untracked() {
            items.set_group(&group.keys, !open.get_untracked());
        }
    };
    let duration = move || group.with(|group| group.as_ref()?.duration_ms).map(|ms| format::duration(text, ms));
    view! {
        <div class="tool tool-group">
            <button
                type="button"
                class="tool-line"
                data-testid="tool-group"
                data-failed=move || (failed() > 0).then_some("")
                title=move || times(text, group.with(|group| group.as_ref()?.span))
                aria-expanded=move || open.get().to_string()
                aria-controls=move || read(|group| group.keys.iter().copied().map(element_id).collect::<Vec<_>>().join(" "))
                on:click=toggle
            >
                <span class="tool-status">
                    {move || group.with(|group| group.as_ref().map(|group| tally(&group.failures)))}
                </span>
                <span class="tool-name">
                    {move || group.with(|group| group.as_ref().map(|group| text.tool_calls(group.calls())))}
                </span>
                // Spaces, which are not drawn, keep the words apart where they are read aloud.
                " "
                <span class="tool-summary">{move || read(Group::summary)}</span>
                <span class="tool-space">" "</span>
                {move || (failed() > 0).then(|| view! { <span class="tool-state">{text.failed_calls(failed())}</span> })}
                " "
                <span class="tool-duration">{duration}</span>
                <span class="tool-chevron"><Draw icon=Icon::Chevron /></span>
            </button>
        </div>
    }
    .into_any()
}

fn find(lines: &[Line], first: ItemKey) -> Option<&Group> {
    lines.iter().find_map(|line| match line {
        Line::Group(group) if group.keys.first() == Some(&first) => Some(group),
        Line::Group(_) | Line::Item { .. } => None,
    })
}

/// How an item stands to a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folding {
    /// It is in none.
    Alone,
    /// It is in one that is open.
    Unfolded,
    /// It is in one that is closed.
    Folded,
}

/// How an item stands to the groups in `lines`.
pub(crate) fn folding_of(lines: &[Line], key: ItemKey, items: Items) -> Folding {
    let group = lines.iter().find_map(|line| match line {
        Line::Item { key: other, group } if *other == key => *group,
        Line::Item { .. } | Line::Group(_) => None,
    });
    match group.and_then(|first| find(lines, first)) {
        None => Folding::Alone,
        Some(group) if items.is_group_open(&group.keys) => Folding::Unfolded,
        Some(_) => Folding::Folded,
    }
}
