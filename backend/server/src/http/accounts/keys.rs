//! HTTP handlers for API keys, with which clients send requests on a user's behalf: `/api/keys`, and for admins the keys of a
//! user.

use actix_web::{HttpRequest, HttpResponse, web};
use chrono::{DateTime, Utc};
use serde::Deserialize;
use tallybook_accounts::{Accounts, NewKey, Password, UserId};
use tallybook_protocol::{KeyInfo, MadeKey};
use utoipa::ToSchema;

use super::{
    super::{
        answers::{Invalid, List, NoAccounts, TooMany, TooManyAttempts},
        body::JsonBody,
        caller::{Admin, Person},
        error::ApiError,
        state::State,
    },
    session::browser_of,
};

// Has no `Debug`, so that the password cannot be logged.
/// A key to be made.
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

/// Makes a key by which a program asks in your name.
///
/// The key is only in this answer. A key outlasts the session, so this needs your password. If your account has none, sign in
/// at most ten minutes before.
#[utoipa::path(
    post, path = "/api/keys", operation_id = "create_key", tag = "Account", security(("session" = [])),
    request_body = NewKeyBody,
    responses((status = 201, body = MadeKey), NoAccounts, TooMany, Invalid, TooManyAttempts),
)]
pub(crate) async fn create(
    state: State,
    request: HttpRequest,
    person: Person,
    body: JsonBody<NewKeyBody>,
) -> Result<HttpResponse, ApiError> {
    let NewKeyBody { name, password, expires_at } = body.0;
    let (wanted, password) = (NewKey { name, expires_at }, password.map(Password::new));
    let address = browser_of(&state, &request).address;
    let work = |accounts: Accounts| async move { accounts.create_key(&person.0, wanted, password, address).await };
    Ok(HttpResponse::Created().json(state.run_accounts(work).await?))
}

/// One's keys.
#[utoipa::path(
    get, path = "/api/keys", operation_id = "list_keys", tag = "Account", security(("session" = [])),
    responses((status = 200, body = List<KeyInfo>), NoAccounts),
)]
pub(crate) async fn list(state: State, person: Person) -> Result<HttpResponse, ApiError> {
    let items = state.run_accounts(|accounts: Accounts| async move { accounts.list_keys(&person.0).await }).await?;
    Ok(HttpResponse::Ok().json(List { items }))
}

/// Revokes a key.
#[utoipa::path(
    delete, path = "/api/keys/{key_id}", operation_id = "revoke_key", tag = "Account", security(("session" = [])),
    responses((status = 204, description = "Nobody gets in by it any more.")),
)]
pub(crate) async fn delete(state: State, person: Person, id: web::Path<i64>) -> Result<HttpResponse, ApiError> {
    state.run_accounts(|accounts: Accounts| async move { accounts.revoke_key(&person.0, *id).await }).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// A user's keys.
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

/// Revokes a user's key.
///
/// For admins.
#[utoipa::path(
    delete, path = "/api/users/{user_id}/keys/{key_id}", operation_id = "revoke_key_of", tag = "People",
    security(("session" = [])), responses((status = 204, description = "The key no longer works.")),
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
