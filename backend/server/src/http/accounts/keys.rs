//! HTTP handlers for API keys, with which clients send requests on behalf of a user: `/api/keys`, and for admins the
//! keys of a user.

use actix_web::{HttpRequest, HttpResponse, web};
use chrono::{DateTime, Utc};
use serde::Deserialize;
use tallybook_accounts::{Accounts, NewKey, Password, Permission, UserId};
use tallybook_protocol::{CreatedKey, KeyInfo};
use utoipa::ToSchema;

use super::{
    super::{
        body::JsonBody,
        caller::{Admin, SessionUser},
        error::ApiError,
        shared_responses::{Invalid, List, NoAccounts, TooMany, TooManyAttempts},
        state::State,
    },
    session::browser_of,
};

// Has no `Debug`, so that the password cannot be logged.
/// An API key to create.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewKey)]
pub(crate) struct NewKeyBody {
    /// The purpose of the key.
    #[schema(min_length = 1, max_length = 64)]
    name: String,
    /// Your password. Required if your account has one.
    password: Option<String>,
    /// When the key expires, within ten years; absent for a key that does not expire.
    expires_at: Option<DateTime<Utc>>,
}

/// Creates an API key, with which a client can send requests on your behalf.
///
/// Only this response contains the key. Because a key outlasts the session, the request requires your password. If your
/// account has no password, sign in at most ten minutes before the request.
#[utoipa::path(
    post, path = "/api/keys", operation_id = "create_key", tag = "Account", security(("session" = [])),
    request_body = NewKeyBody,
    responses((status = 201, body = CreatedKey), NoAccounts, TooMany, Invalid, TooManyAttempts),
)]
pub(crate) async fn create(
    state: State,
    request: HttpRequest,
    user: SessionUser,
    body: JsonBody<NewKeyBody>,
) -> Result<HttpResponse, ApiError> {
    state.require(user.0.user, Permission::MakeKeys).await?;
    let NewKeyBody { name, password, expires_at } = body.0;
    let (wanted, password) = (NewKey { name, expires_at }, password.map(Password::new));
    let address = browser_of(&state, &request).address;
    let work = |accounts: Accounts| async move { accounts.create_key(&user.0, wanted, password, address).await };
    Ok(HttpResponse::Created().json(state.run_accounts(work).await?))
}

/// Lists your API keys.
#[utoipa::path(
    get, path = "/api/keys", operation_id = "list_keys", tag = "Account", security(("session" = [])),
    responses((status = 200, body = List<KeyInfo>), NoAccounts),
)]
pub(crate) async fn list(state: State, user: SessionUser) -> Result<HttpResponse, ApiError> {
    let items = state.run_accounts(|accounts: Accounts| async move { accounts.list_keys(&user.0).await }).await?;
    Ok(HttpResponse::Ok().json(List { items }))
}

/// Revokes an API key.
#[utoipa::path(
    delete, path = "/api/keys/{key_id}", operation_id = "revoke_key", tag = "Account", security(("session" = [])),
    responses((status = 204, description = "The API key no longer works.")),
)]
pub(crate) async fn delete(state: State, user: SessionUser, id: web::Path<i64>) -> Result<HttpResponse, ApiError> {
    state.run_accounts(|accounts: Accounts| async move { accounts.revoke_key(&user.0, *id).await }).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Lists a user's API keys.
///
/// For admins.
#[utoipa::path(
    get, path = "/api/users/{user_id}/keys", operation_id = "list_keys_of", tag = "People", security(("session" = [])),
    responses((status = 200, body = List<KeyInfo>)),
)]
pub(crate) async fn list_of(state: State, _: Admin, user: web::Path<UserId>) -> Result<HttpResponse, ApiError> {
    let items = state.run_accounts(|accounts: Accounts| async move { accounts.list_keys_of(*user).await }).await?;
    Ok(HttpResponse::Ok().json(List { items }))
}

/// Revokes a user's API key.
///
/// For admins.
#[utoipa::path(
    delete, path = "/api/users/{user_id}/keys/{key_id}", operation_id = "revoke_key_of", tag = "People",
    security(("session" = [])), responses((status = 204, description = "The API key no longer works.")),
)]
pub(crate) async fn delete_of(
    state: State,
    admin: Admin,
    ids: web::Path<(UserId, i64)>,
) -> Result<HttpResponse, ApiError> {
    let (user, id) = ids.into_inner();
    state.run_accounts(|accounts: Accounts| async move { accounts.revoke_key_of(&admin.0, user, id).await }).await?;
    Ok(HttpResponse::NoContent().finish())
}
