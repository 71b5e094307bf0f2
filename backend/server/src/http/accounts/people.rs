//! `/api/users` and `/api/invitations`: what admins do about accounts.

use actix_web::{HttpResponse, web};
use serde::Deserialize;
use tallybook_protocol::UserRole;

use super::super::{body::OptionalBody, caller::Admin, error::ApiError, state::State};
use crate::accounts::{Accounts, Password, UserUpdate};

#[derive(Deserialize)]
pub(super) struct ListQuery {
    cursor: Option<String>,
}

/// It has no `Debug`, so that the password gets into no log.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewUser {
    name: String,
    password: String,
    #[serde(default)]
    role: UserRole,
}

/// The same.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateUser {
    role: Option<UserRole>,
    active: Option<bool>,
    password: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewInvitation {
    #[serde(default)]
    role: UserRole,
}

pub(super) async fn list(state: State, _: Admin, query: web::Query<ListQuery>) -> Result<HttpResponse, ApiError> {
    let work = |accounts: Accounts| async move { accounts.list_users(query.cursor.as_deref()).await };
    Ok(HttpResponse::Ok().json(state.run_accounts(work).await?))
}

pub(super) async fn create(state: State, admin: Admin, body: web::Json<NewUser>) -> Result<HttpResponse, ApiError> {
    let NewUser { name, password, role } = body.into_inner();
    let password = Password::new(password);
    let work = |accounts: Accounts| async move { accounts.create_user(&admin.0, &name, password, role).await };
    Ok(HttpResponse::Created().json(state.run_accounts(work).await?))
}

pub(super) async fn find(state: State, _: Admin, id: web::Path<i64>) -> Result<HttpResponse, ApiError> {
    let work = |accounts: Accounts| async move { accounts.find_user(*id).await };
    Ok(HttpResponse::Ok().json(state.run_accounts(work).await?))
}

pub(super) async fn update(
    state: State,
    admin: Admin,
    id: web::Path<i64>,
    body: web::Json<UpdateUser>,
) -> Result<HttpResponse, ApiError> {
    let UpdateUser { role, active, password } = body.into_inner();
    let work = |accounts: Accounts| async move {
        if let Some(password) = password {
            accounts.set_password(&admin.0, *id, Password::new(password)).await?;
        }
        accounts.update_user(&admin.0, *id, UserUpdate { role, active }).await
    };
    Ok(HttpResponse::Ok().json(state.run_accounts(work).await?))
}

/// What a person wrote stays; nobody can sign in to the account any more.
pub(super) async fn deactivate(state: State, admin: Admin, id: web::Path<i64>) -> Result<HttpResponse, ApiError> {
    let update = UserUpdate { active: Some(false), ..UserUpdate::default() };
    let work = |accounts: Accounts| async move { accounts.update_user(&admin.0, *id, update).await };
    state.run_accounts(work).await?;
    Ok(HttpResponse::NoContent().finish())
}

pub(super) async fn invite(
    state: State,
    admin: Admin,
    body: OptionalBody<NewInvitation>,
) -> Result<HttpResponse, ApiError> {
    let work = |accounts: Accounts| async move { accounts.invite(&admin.0, body.0.role).await };
    Ok(HttpResponse::Created().json(state.run_accounts(work).await?))
}
