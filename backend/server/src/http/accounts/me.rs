//! HTTP handlers for `/api/me`: the caller's account. With an API key, only `GET /api/me` is allowed.

use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tallybook_accounts::{AccountRules, Accounts, Caller, Password, UserId};
use tallybook_conversations::{ConversationService, ServiceError};
use tallybook_protocol::{Me, UpdateMe};
use tallybook_tool_history::ToolHistory;
use utoipa::ToSchema;

use super::{
    super::{
        body::JsonBody,
        caller::SessionUser,
        error::ApiError,
        export, preferences,
        shared_responses::{Conflict, Invalid, NoAccounts, TooManyAttempts},
        state::State,
    },
    session::{browser_of, end},
};
use crate::http::caller::Authenticated;

/// Version of the exported file's format. It increases when readers of the old format can no longer read the new one.
const EXPORT_VERSION: u32 = 1;

/// The account, with the preferences that the page stores in this browser.
#[derive(Serialize, ToSchema)]
#[schema(as = ShownMe)]
struct Shown {
    #[serde(flatten)]
    me: Me,
    /// The page's language in this browser.
    language: &'static str,
    /// The page's color scheme in this browser.
    theme: &'static str,
}

// Has no `Debug`, so that the passwords cannot be logged.
/// The current password and the new one.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPassword {
    current: String,
    #[schema(min_length = 12, max_length = 1024)]
    new: String,
    /// Also revokes the API keys.
    #[serde(default)]
    revoke_keys: bool,
}

// Has no `Debug`, so that the password cannot be logged.
/// The current password, as confirmation.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Confirmation {
    pub(crate) password: String,
}

/// Returns your account: name, role, limits and usage.
#[utoipa::path(
    get, path = "/api/me", operation_id = "find_me", tag = "Account", responses((status = 200, body = Shown)),
)]
pub(crate) async fn find(
    state: State,
    request: HttpRequest,
    Authenticated(caller): Authenticated,
) -> Result<HttpResponse, ApiError> {
    let asking = caller.clone();
    let me = state.run_accounts(|accounts: Accounts| async move { accounts.find_me(&asking).await }).await?;
    show(&state, &request, caller, me).await
}

async fn show(state: &State, request: &HttpRequest, caller: Caller, me: Me) -> Result<HttpResponse, ApiError> {
    let user = caller.user;
    let rules = state.accounts.rules();
    let me = state.run(move |service| async move { with_usage(&service, rules, user, me).await }).await?;
    let me = with_changes(state, caller, me).await?;
    let chosen = preferences::of(request);
    let (language, theme) = (chosen.language.code(), chosen.theme.name());
    Ok(HttpResponse::Ok().json(Shown { me, language, theme }))
}

/// Adds the user's limits, groups, rights, number of conversations and this month's usage to the account.
async fn with_usage(
    service: &ConversationService,
    rules: AccountRules,
    user: UserId,
    me: Me,
) -> Result<Me, ServiceError> {
    let (limits, budgets) = (service.find_quotas(user).await?, service.find_budgets(user).await?);
    let rights = service.permissions_of(user).await?.rights(rules);
    let (groups, this_month) = (service.list_groups_of(user).await?, service.list_usage_this_month(user).await?);
    let conversations = service.count_conversations(user).await?;
    Ok(Me { limits, budgets, groups, rights, conversations, this_month, ..me })
}

/// Adds the changes that others made to the account and that the caller has not acknowledged.
async fn with_changes(state: &State, caller: Caller, me: Me) -> Result<Me, ApiError> {
    let list = |history: ToolHistory| async move { history.list_account_changes(&caller).await };
    Ok(Me { account_changes: state.run_tool_history(list).await?, ..me })
}

/// Changes your instructions, which are part of every model's system prompt.
#[utoipa::path(
    patch, path = "/api/me", operation_id = "update_me", tag = "Account", security(("session" = [])),
    request_body = UpdateMe, responses((status = 200, body = Shown), Invalid),
)]
pub(crate) async fn update(
    state: State,
    request: HttpRequest,
    user: SessionUser,
    body: JsonBody<UpdateMe>,
) -> Result<HttpResponse, ApiError> {
    let (caller, update) = (user.0.clone(), body.0);
    let work = |accounts: Accounts| async move { accounts.update_me(&user.0, update).await };
    let me = state.run_accounts(work).await?;
    show(&state, &request, caller, me).await
}

/// Changes your password and ends your other sessions.
#[utoipa::path(
    put, path = "/api/me/password", operation_id = "change_password", tag = "Account", security(("session" = [])),
    request_body = NewPassword,
    responses((status = 204, description = "The password is changed."), NoAccounts, Conflict, Invalid, TooManyAttempts),
)]
pub(crate) async fn change_password(
    state: State,
    request: HttpRequest,
    user: SessionUser,
    body: JsonBody<NewPassword>,
) -> Result<HttpResponse, ApiError> {
    let NewPassword { current, new, revoke_keys } = body.0;
    let (current, new) = (Password::new(current), Password::new(new));
    let address = browser_of(&state, &request).address;
    let work =
        |accounts: Accounts| async move { accounts.change_password(&user.0, current, new, revoke_keys, address).await };
    state.run_accounts(work).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Permanently deletes your account and hides its conversations.
///
/// If your account has no password, send an empty string and sign in at most ten minutes before the request.
#[utoipa::path(
    delete, path = "/api/me", operation_id = "delete_me", tag = "Account", security(("session" = [])),
    request_body = Confirmation,
    responses((status = 204, description = "The account is deleted."), NoAccounts, Conflict, TooManyAttempts),
)]
pub(crate) async fn delete(
    state: State,
    request: HttpRequest,
    user: SessionUser,
    body: JsonBody<Confirmation>,
) -> Result<HttpResponse, ApiError> {
    let password = Password::new(body.0.password);
    let address = browser_of(&state, &request).address;
    let work = |accounts: Accounts| async move { accounts.delete_me(&user.0, password, address).await };
    state.run_accounts(work).await?;
    Ok(end(HttpResponse::NoContent(), &request).finish())
}

/// Exports all your data as JSON Lines.
///
/// The first line is the account, with a list of all its files (`files`). Each further line is a conversation with all
/// its versions, in the format of its own export.
#[utoipa::path(
    get, path = "/api/me/export", operation_id = "export_me", tag = "Account", security(("session" = [])),
    responses((status = 200, description = "The file.", body = String, content_type = "application/jsonl")),
)]
pub(crate) async fn export(state: State, SessionUser(caller): SessionUser) -> Result<HttpResponse, ApiError> {
    let (user, owner) = (caller.user, caller.clone());
    let find = |accounts: Accounts| async move {
        let (me, sessions) = (accounts.find_me(&owner).await?, accounts.list_sessions(&owner).await?);
        let keys = accounts.list_keys(&owner).await?;
        Ok((me, sessions, keys, accounts.list_identities(&owner).await?))
    };
    let (me, sessions, keys, identities) = state.run_accounts(find).await?;
    let me = with_changes(&state, caller, me).await?;
    let (name, rules) = (me.name.clone(), state.accounts.rules());
    let all = |service: ConversationService| async move {
        let me = with_usage(&service, rules, user, me).await?;
        let approvals = service.list_approvals(user).await?;
        let account = json!({
            "version": EXPORT_VERSION, "account": me, "sessions": sessions, "keys": keys, "identities": identities,
            "approvals": approvals,
        });
        service.export_all(user, account).await
    };
    let parts = state.run(all).await?;
    let title = format!("Tallybook {}", name.unwrap_or_default());
    Ok(export::file(&title, "application/jsonl; charset=utf-8", "jsonl", parts))
}
