//! `/api/keys`: the keys by which programs ask in one's name.

use actix_web::{HttpResponse, web};
use serde::Deserialize;
use serde_json::json;

use super::super::{caller::Person, error::ApiError, state::State};
use crate::accounts::Accounts;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewKey {
    name: String,
}

pub(super) async fn create(state: State, person: Person, body: web::Json<NewKey>) -> Result<HttpResponse, ApiError> {
    let work = |accounts: Accounts| async move { accounts.create_key(&person.0, &body.name).await };
    Ok(HttpResponse::Created().json(state.run_accounts(work).await?))
}

pub(super) async fn list(state: State, person: Person) -> Result<HttpResponse, ApiError> {
    let items = state.run_accounts(|accounts: Accounts| async move { accounts.list_keys(&person.0).await }).await?;
    Ok(HttpResponse::Ok().json(json!({"items": items})))
}

pub(super) async fn delete(state: State, person: Person, id: web::Path<i64>) -> Result<HttpResponse, ApiError> {
    state.run_accounts(|accounts: Accounts| async move { accounts.revoke_key(&person.0, *id).await }).await?;
    Ok(HttpResponse::NoContent().finish())
}
