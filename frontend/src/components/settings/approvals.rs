//! Saved approvals: lists the tools that run without asking, and revokes approvals.

use leptos::prelude::*;
use tallybook_protocol::{Approval, ApprovalId};

use super::{list::List, mutation::Mutation, section::section};
use crate::{address::Address, api, format, language::Language};

pub(super) fn section_view(text: Language) -> AnyView {
    let list = List::new(text, api::list_approvals);
    let mutation = Mutation::new();
    let revoke = Callback::new(move |id: ApprovalId| {
        mutation.run(text, api::revoke_approval(id), move |()| {
            list.take_out(|approval| approval.id == id);
            None
        });
    });
    let content = view! {
        {list.view("approvals", text, Some(text.saved_approvals_none()), move |approval| row(approval, revoke, text))}
        {mutation.outcome()}
    };
    section("approvals", text.saved_approvals(), text.saved_approvals_about(), content.into_any())
}

fn row(approval: Approval, revoke: Callback<ApprovalId>, text: Language) -> AnyView {
    let Approval { id, tool_name, scope, conversation_id, .. } = approval;
    let tool_name = format::tool_name(&tool_name).into_owned();
    let reach = text.scope(scope, false);
    let reach = match conversation_id {
        Some(uuid) => view! { <a href=Address::Conversation(uuid).pathname()>{reach}</a> }.into_any(),
        None => reach.into_any(),
    };
    let label = format!("{}: {tool_name}", text.revoke());
    view! {
        <li data-testid="approval">
            <span class="setting-item"><b>{tool_name}</b>" "<span class="setting-note">{reach}</span></span>
            <button type="button" class="button small" data-testid="revoke" aria-label=label on:click=move |_| revoke.run(id)>
                {text.revoke()}
            </button>
        </li>
    }
    .into_any()
}
