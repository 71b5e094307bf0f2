//! The section with the user's share links, and their revocation.

use leptos::prelude::*;
use tallybook_protocol::{Share, ShareId};

use super::{list::List, mutation::Mutation, section::section};
use crate::{api, components::parts::times::when, language::Language};

pub(super) fn section_view(text: Language) -> AnyView {
    let list = List::new(text, api::list_shares);
    let mutation = Mutation::new();
    let revoke = Callback::new(move |id: ShareId| {
        mutation.run(text, api::revoke_share(id), move |()| {
            list.take_out(|share| share.id == id);
            None
        });
    });
    let content = view! {
        {list.view("my-shares", text, Some(text.shares_none()), move |share| row(share, revoke, text))}
        {mutation.outcome()}
    };
    section("shares", text.shares(), text.shares_about(), content.into_any())
}

fn row(share: Share, revoke: Callback<ShareId>, text: Language) -> AnyView {
    let Share { id, path, title, tool_calls, files, created_at, .. } = share;
    let calls = if tool_calls { text.share_with_calls() } else { text.share_without_calls() };
    let files = if files { text.share_with_files() } else { "" };
    let label = format!("{}: {title}", text.share_revoke());
    view! {
        <li data-testid="my-share">
            <span class="setting-item">
                <a href=path rel="external" target="_blank" dir="auto">{title}</a>
                <span class="setting-note">{when(created_at.timestamp_millis())}" · "{calls}{files}</span>
            </span>
            <button type="button" class="button small" data-testid="take-back" aria-label=label on:click=move |_| revoke.run(id)>
                {text.share_revoke()}
            </button>
        </li>
    }
    .into_any()
}
