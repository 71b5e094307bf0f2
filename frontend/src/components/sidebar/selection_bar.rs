//! The bar with actions for the selected conversations.

use leptos::prelude::*;
use uuid::Uuid;

use crate::{
    browser,
    components::parts::ids::link_id,
    conversation_list::{ConversationList, ListView},
    language::use_language,
    mount_schedule::in_next_frame,
    reactive::memo,
};

/// The bar; empty unless the user is selecting conversations.
#[component]
pub(crate) fn SelectionBar(list: ConversationList) -> impl IntoView {
    let text = use_language();
    let is_selecting = memo(move |_| list.is_selecting());
    let chosen = memo(move |_| list.chosen());
    let are_archived = memo(move |_| list.view() == ListView::Archive);
    let are_pinned =
        memo(move |_| chosen.with(|chosen| chosen.iter().all(|uuid| list.find(*uuid).is_some_and(|item| item.pinned))));
    let act = move |name: &'static str, label: Signal<&'static str>, run: fn(ConversationList, &[Uuid])| {
        view! {
            <button
                type="button"
                class="button small"
                class:danger=name == "delete-chosen"
                data-testid=name
                disabled=move || chosen.with(Vec::is_empty)
                on:click=move |_| {
                    let chosen = chosen.get_untracked();
                    run(list, &chosen);
                    end(list, &chosen);
                }
            >
                {label}
            </button>
        }
        .into_any()
    };
    let count = memo(move |_| list.items().len());
    let is_all = memo(move |_| chosen.with(Vec::len) == count.get());
    let all_label = move || match () {
        () if is_all.get() => text.select_none().to_owned(),
        () if list.has_more() => text.select_all_loaded(count.get()),
        () => text.select_all().to_owned(),
    };
    let pin_label = Signal::derive(move || if are_pinned.get() { text.unpin() } else { text.pin() });
    let archive_label = Signal::derive(move || if are_archived.get() { text.unarchive() } else { text.archive() });
    move || {
        is_selecting.get().then(|| {
            view! {
                <div class="selection" role="group" aria-label=text.select_multiple() data-testid="selection">
                    <p class="selection-count" role="status">{move || text.selected_count(chosen.with(Vec::len))}</p>
                    <button
                        type="button"
                        class="button small"
                        data-testid="select-all"
                        on:click=move |_| list.choose_all()
                    >
                        {all_label}
                    </button>
                    {(!are_archived.get()).then(|| act("pin-chosen", pin_label, |list, chosen| {
                        let are_pinned = untrack(|| chosen.iter().all(|uuid| list.find(*uuid).is_some_and(|item| item.pinned)));
                        list.pin(chosen, !are_pinned);
                    }))}
                    {act("archive-chosen", archive_label, |list, chosen| {
                        list.archive(chosen, untrack(|| list.view() != ListView::Archive));
                    })}
                    {act("delete-chosen", Signal::stored(text.delete()), ConversationList::delete)}
                    <button
                        type="button"
                        class="button small quiet"
                        data-testid="cancel-selection"
                        on:click=move |_| end(list, &chosen.get_untracked())
                    >
                        {text.cancel()}
                    </button>
                </div>
            }
            .into_any()
        })
    }
}

/// Ends selecting. The focus moves to the first selected conversation if it is still shown, otherwise to the first link
/// of the list.
pub(crate) fn end(list: ConversationList, chosen: &[Uuid]) {
    let first = chosen.first().map(|uuid| link_id(*uuid));
    list.end_selection();
    in_next_frame(move || {
        let _ = first.is_some_and(|first| browser::focus_if_free(&first)) || browser::focus_if_free("new-chat");
    });
}
