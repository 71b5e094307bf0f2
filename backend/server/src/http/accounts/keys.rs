//! `/api/keys`: the keys by which programs ask in one's name.

use actix_web::{HttpResponse, web};
use serde::Deserialize;
use tallybook_protocol::{KeyInfo, MadeKey};
use utoipa::ToSchema;

use super::super::{
    answers::{Invalid, List, NoAccounts, TooMany},
    body::JsonBody,
    caller::Person,
    error::ApiError,
    state::State,
};
use crate::accounts::Accounts;

/// A program that is to have a key.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewKey {
    /// What one calls it.
    #[schema(min_length = 1, max_length = 64)]
    name: String,
}

/// Makes a key by which a program asks in one's name.
///
/// The key is in this answer alone.
#[utoipa::path(
    post, path = "/api/keys", operation_id = "create_key", tag = "Account", security(("session" = [])),
    request_body = NewKey, responses((status = 201, body = MadeKey), NoAccounts, TooMany, Invalid),
)]
pub(super) async fn create(state: State, person: Person, body: JsonBody<NewKey>) -> Result<HttpResponse, ApiError> {
    let work = |accounts: Accounts| async move { accounts.create_key(&person.0, &body.0.name).await };
    Ok(HttpResponse::Created().json(state.run_accounts(work).await?))
}

/// One's keys.
#[utoipa::path(
    get, path = "/api/keys", operation_id = "list_keys", tag = "Account", security(("session" = [])),
    responses((status = 200, body = List<KeyInfo>), NoAccounts),
)]
pub(super) async fn list(state: State, person: Person) -> Result<HttpResponse, ApiError> {
    let items = state.run_accounts(|accounts: Accounts| async move { accounts.list_keys(&person.0).await }).await?;
    Ok(HttpResponse::Ok().json(List { items }))
}

/// Revokes a key.
#[utoipa::path(
    delete, path = "/api/keys/{key_id}", operation_id = "revoke_key", tag = "Account", security(("session" = [])),
    responses((status = 204, description = "Nobody gets in by it any more.")),
)]
pub(super) async fn delete(state: State, person: Person, id: web::Path<i64>) -> Result<HttpResponse, ApiError> {
    state.run_accounts(|accounts: Accounts| async move { accounts.revoke_key(&person.0, *id).await }).await?;
    Ok(HttpResponse::NoContent().finish())
}
