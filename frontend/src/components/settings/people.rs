//! The section for admins with the users of this server: their roles, their keys, and invitations.

use std::sync::Arc;

use leptos::prelude::*;
use tallybook_protocol::{Invitation, InvitationInfo, KeyInfo, User, UserRole};

use super::{
    keys,
    list::{List, row_button},
    mutation::Mutation,
    section::section,
};
use crate::{
    api::{ApiError, account},
    browser,
    components::{message::copy::CopyButton, parts::times::when},
    language::Language,
    reactive::memo,
    session::Loading,
};

/// Maximum number of pages that are loaded. The API has the rest.
const MAX_PAGES: usize = 10;

/// A change that an admin makes to an account: its role, or whether it is disabled.
type Change = (i64, Option<UserRole>, Option<bool>);

pub(super) fn section_view(text: Language) -> AnyView {
    let list = List::new(text, list_users);
    let invitations = List::new(text, account::list_invitations);
    let link = RwSignal::new(None::<Invitation>);
    let (inviting, changing, revoking) = (Mutation::new(), Mutation::new(), Mutation::new());
    let change = Callback::new(move |(id, role, active): Change| {
        changing.run(text, account::update_user(id, role, active), move |changed| {
            list.items.update(|users| {
                if let Some(user) = users.iter_mut().flatten().find(|user| user.id == id) {
                    *user = changed;
                }
            });
            None
        });
    });
    let invite = move |_| {
        inviting.run(text, account::invite(UserRole::User), move |made| {
            link.set(Some(made));
            invitations.reload();
            None
        });
    };
    let revoke = Callback::new(move |id: i64| {
        revoking.run(text, account::revoke_invitation(id), move |()| {
            invitations.take_out(move |invitation: &InvitationInfo| invitation.id == id);
            link.update(|link| {
                link.take_if(|link| link.id == id);
            });
            None
        });
    });
    let content = view! {
        <div class="setting-buttons">
            <button type="button" class="button" data-testid="invite" aria-disabled=move || inviting.busy() on:click=invite>
                {text.invite()}
            </button>
        </div>
        {inviting.outcome()}
        <div role="status">{move || link.get().map(|link| link_view(&link, text))}</div>
        {invitations.view("invitations", text, None, move |invitation| invitation_row(invitation, revoke, text))}
        {revoking.outcome()}
        {list.view("people", text, None, move |user| row(user, change, text))}
        {changing.outcome()}
    };
    section("people", text.users(), text.users_about(), content.into_any())
}

async fn list_users() -> Result<Vec<User>, ApiError> {
    let mut page = account::list_users(None).await?;
    let mut users = std::mem::take(&mut page.items);
    for _ in 1..MAX_PAGES {
        let Some(cursor) = page.next_cursor else { break };
        page = account::list_users(Some(&cursor)).await?;
        users.append(&mut page.items);
    }
    Ok(users)
}

fn link_view(link: &Invitation, text: Language) -> AnyView {
    let address = browser::absolute(&link.url);
    let content: StoredValue<Arc<str>> = StoredValue::new(Arc::from(address.as_str()));
    let loading = memo(|_| Loading::Idle);
    view! {
        <div class="setting-secret" data-testid="invitation">
            <p>{text.invite_note()}</p>
            <code>{address}</code>
            <div class="setting-buttons">
                <CopyButton content=move || Some(content.get_value()) load=|| () loading />
                <span class="setting-note">{text.valid_until()}" "{when(link.expires_at.timestamp_millis())}</span>
            </div>
        </div>
    }
    .into_any()
}

fn invitation_row(invitation: InvitationInfo, revoke: Callback<i64>, text: Language) -> AnyView {
    let InvitationInfo { id, role, created_by, created_at, expires_at } = invitation;
    let label = format!("{}: {}, {created_by}", text.revoke(), text.invitation_unused());
    view! {
        <li data-testid="open-invitation">
            <span class="setting-item">
                <b>{text.invitation_unused()}</b>
                <span class="setting-note">
                    {text.role(role)}" · "{created_by}" · "{text.created_at()}" "{when(created_at.timestamp_millis())}
                    " · "{text.valid_until()}" "{when(expires_at.timestamp_millis())}
                </span>
            </span>
            {row_button(text.revoke(), "revoke-invitation", label, move || revoke.run(id))}
        </li>
    }
    .into_any()
}

/// A user's API keys, loaded on demand.
fn keys_view(user: i64, name: String, text: Language) -> AnyView {
    let list = List::new(text, move || account::list_keys_of(user));
    let revoking = Mutation::new();
    let revoke = Callback::new(move |id: i64| {
        revoking.run(text, account::revoke_key_of(user, id), move |()| {
            list.take_out(move |key: &KeyInfo| key.id == id);
            None
        });
    });
    view! {
        {list.view("user-keys", text, Some(text.keys_none()), move |key| keys::row(key, Some(name.clone()), revoke, text))}
        {revoking.outcome()}
    }
    .into_any()
}

fn row(user: User, change: Callback<Change>, text: Language) -> AnyView {
    let User { id, name, role, created_at, deactivated_at, deleted_at } = user;
    let state = match (deleted_at, deactivated_at) {
        (Some(_), _) => Some(text.deleted_account()),
        (None, Some(_)) => Some(text.deactivated()),
        (None, None) => None,
    };
    let button = |words: &'static str, test: &'static str, change_to: Change| {
        row_button(words, test, format!("{words}: {name}"), move || change.run(change_to))
    };
    let is_active = deactivated_at.is_none();
    let role_button = is_active.then(|| match role {
        UserRole::User => button(text.make_admin(), "make-admin", (id, Some(UserRole::Admin), None)),
        UserRole::Admin => button(text.make_user(), "make-user", (id, Some(UserRole::User), None)),
    });
    let active_button = deleted_at.is_none().then(|| {
        if is_active {
            button(text.deactivate(), "deactivate", (id, None, Some(false)))
        } else {
            button(text.reactivate(), "reactivate", (id, None, Some(true)))
        }
    });
    let are_keys_shown = RwSignal::new(false);
    let (keys_label, owner) = (format!("{}: {name}", text.keys()), name.clone());
    let keys_button = view! {
        <button
            type="button"
            class="button small"
            data-testid="show-user-keys"
            aria-label=keys_label
            aria-expanded=move || are_keys_shown.get().to_string()
            on:click=move |_| are_keys_shown.update(|shown| *shown = !*shown)
        >
            {text.keys()}
        </button>
    }
    .into_any();
    let (role_button, active_button) = (role_button.into_any(), active_button.into_any());
    view! {
        <li data-testid="user">
            <span class="setting-item">
                <b dir="auto">{name.clone()}</b>
                <span class="setting-note">
                    {text.role(role)}" · "{text.created_at()}" "{when(created_at.timestamp_millis())}
                    {state.map(|state| format!(" · {state}"))}
                </span>
            </span>
            <span class="setting-buttons">{role_button}{active_button}{keys_button}</span>
            {move || are_keys_shown.get().then(|| keys_view(id, owner.clone(), text))}
        </li>
    }
    .into_any()
}
