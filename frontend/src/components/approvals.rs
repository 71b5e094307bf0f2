//! The approvals that stand: what runs without being asked for, and taking that back. Loaded when somebody wants to see it.

use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::{Approval, ApprovalId};
use uuid::Uuid;

use crate::{
    api,
    components::load_button::LoadButton,
    language::{Language, use_language},
    session::Loading,
};

/// The list, behind a button.
#[component]
pub(crate) fn Approvals() -> impl IntoView {
    let text = use_language();
    let approvals = RwSignal::new(None::<Vec<Approval>>);
    let loading = RwSignal::new(Loading::Idle);
    let load = move || {
        loading.set(Loading::Running);
        spawn_local(async move {
            loading.try_set(match api::list_approvals().await {
                Ok(found) => {
                    approvals.try_set(Some(found));
                    Loading::Idle
                }
                Err(error) => Loading::Failed(error.message(text)),
            });
        });
    };
    let revoke = Callback::new(move |id: ApprovalId| {
        spawn_local(async move {
            match api::revoke_approval(id).await {
                Err(error) if !error.is_not_found() => {
                    loading.try_set(Loading::Failed(error.message(text)));
                }
                // One that is gone was revoked elsewhere.
                Ok(()) | Err(_) => {
                    approvals.try_update(|held| held.iter_mut().for_each(|held| held.retain(|one| one.id != id)));
                }
            }
        });
    });
    let rows = move || {
        approvals.get().map(|approvals| {
            let is_empty = approvals.is_empty();
            let rows = approvals.into_iter().map(|approval| row(approval, revoke, text)).collect_view();
            view! {
                <ul class="approvals" data-testid="approvals">{rows}</ul>
                {is_empty.then(|| view! { <p class="help-note">{text.approvals_none()}</p> })}
            }
        })
    };
    view! {
        <h3>{text.approvals()}</h3>
        {rows}
        <LoadButton
            name="show-approvals"
            loading=loading.into()
            label=text.approvals_show().to_owned()
            loading_label=text.approvals_loading()
            load
        />
    }
    .into_any()
}

fn row(approval: Approval, revoke: Callback<ApprovalId>, text: Language) -> AnyView {
    let Approval { id, tool_name, scope, conversation_id, .. } = approval;
    let reach = text.scope(scope, false);
    let reach = match conversation_id {
        Some(uuid) => view! { <a href=conversation_address(uuid)>{reach}</a> }.into_any(),
        None => reach.into_any(),
    };
    let label = format!("{}: {tool_name}", text.revoke());
    view! {
        <li data-testid="approval">
            <span><b>{tool_name}</b>" "{reach}</span>
            <button type="button" class="button small" data-testid="revoke" aria-label=label on:click=move |_| revoke.run(id)>
                {text.revoke()}
            </button>
        </li>
    }
    .into_any()
}

fn conversation_address(uuid: Uuid) -> String {
    format!("/c/{uuid}")
}
