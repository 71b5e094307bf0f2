//! HTTP handlers for `/api/users` and `/api/invitations`, with which admins manage accounts.

use actix_web::{HttpResponse, web};
use serde::Deserialize;
use tallybook_accounts::{Accounts, Password, UserId, UserUpdate};
use tallybook_protocol::{Invitation, InvitationInfo, Page, User, UserRole};
use utoipa::{IntoParams, ToSchema};

use crate::http::{
    body::{JsonBody, OptionalBody},
    caller::Admin,
    error::ApiError,
    public_url::PublicUrl,
    query::Query,
    shared_responses::{Conflict, Invalid, List, NoAccounts, TooMany},
    state::State,
};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

// Has no `Debug`, so that the password cannot be logged.
/// An account to create.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewUser {
    #[schema(min_length = 1, max_length = 64)]
    name: String,
    #[schema(min_length = 12, max_length = 1024)]
    password: String,
    #[serde(default)]
    role: UserRole,
}

// Has no `Debug`, so that the password cannot be logged.
/// Changes to an account. Absent fields stay unchanged.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateUser {
    role: Option<UserRole>,
    active: Option<bool>,
    #[schema(min_length = 12, max_length = 1024)]
    password: Option<String>,
    /// Revokes the API keys.
    #[serde(default)]
    revoke_keys: bool,
}

/// An invitation to create.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewInvitation {
    #[serde(default)]
    role: UserRole,
}

/// Lists the accounts.
///
/// For admins.
#[utoipa::path(
    get, path = "/api/users", operation_id = "list_users", tag = "People", security(("session" = [])),
    params(ListQuery), responses((status = 200, body = Page<User>), NoAccounts, Invalid),
)]
pub(crate) async fn list(state: State, _: Admin, Query(query): Query<ListQuery>) -> Result<HttpResponse, ApiError> {
    let work = |accounts: Accounts| async move { accounts.list_users(query.cursor.as_deref()).await };
    Ok(HttpResponse::Ok().json(state.run_accounts(work).await?))
}

/// Creates an account.
///
/// For admins.
#[utoipa::path(
    post, path = "/api/users", operation_id = "create_user", tag = "People", security(("session" = [])),
    request_body = NewUser, responses((status = 201, body = User), NoAccounts, Conflict, Invalid),
)]
pub(crate) async fn create(state: State, admin: Admin, body: JsonBody<NewUser>) -> Result<HttpResponse, ApiError> {
    let NewUser { name, password, role } = body.0;
    let password = Password::new(password);
    let work = |accounts: Accounts| async move { accounts.create_user(&admin.0, &name, password, role).await };
    Ok(HttpResponse::Created().json(state.run_accounts(work).await?))
}

/// Returns an account.
///
/// For admins.
#[utoipa::path(
    get, path = "/api/users/{user_id}", operation_id = "find_user", tag = "People", security(("session" = [])),
    responses((status = 200, body = User)),
)]
pub(crate) async fn find(state: State, _: Admin, id: web::Path<UserId>) -> Result<HttpResponse, ApiError> {
    let work = |accounts: Accounts| async move { accounts.find_user(*id).await };
    Ok(HttpResponse::Ok().json(state.run_accounts(work).await?))
}

/// Changes a user's role or password, or deactivates or reactivates the account.
///
/// For admins.
#[utoipa::path(
    patch, path = "/api/users/{user_id}", operation_id = "update_user", tag = "People", security(("session" = [])),
    request_body = UpdateUser, responses((status = 200, body = User), Conflict, Invalid),
)]
pub(crate) async fn update(
    state: State,
    admin: Admin,
    id: web::Path<UserId>,
    body: JsonBody<UpdateUser>,
) -> Result<HttpResponse, ApiError> {
    let UpdateUser { role, active, password, revoke_keys } = body.0;
    let work = |accounts: Accounts| async move {
        if let Some(password) = password {
            accounts.set_password(&admin.0, *id, Password::new(password), revoke_keys).await?;
        } else if revoke_keys {
            accounts.revoke_keys_of(&admin.0, *id).await?;
        }
        accounts.update_user(&admin.0, *id, UserUpdate { role, active }).await
    };
    Ok(HttpResponse::Ok().json(state.run_accounts(work).await?))
}

/// Deactivates an account.
///
/// For admins. The user's conversations stay; sessions end, and API keys are revoked permanently.
#[utoipa::path(
    delete, path = "/api/users/{user_id}", operation_id = "deactivate_user", tag = "People", security(("session" = [])),
    responses((status = 204, description = "The account is deactivated."), Conflict),
)]
pub(crate) async fn deactivate(state: State, admin: Admin, id: web::Path<UserId>) -> Result<HttpResponse, ApiError> {
    let update = UserUpdate { active: Some(false), ..UserUpdate::default() };
    let work = |accounts: Accounts| async move { accounts.update_user(&admin.0, *id, update).await };
    state.run_accounts(work).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Creates an invitation: a link with which one user can create an account.
///
/// For admins.
#[utoipa::path(
    post, path = "/api/invitations", operation_id = "invite", tag = "People", security(("session" = [])),
    request_body = Option<NewInvitation>, responses((status = 201, body = Invitation), NoAccounts, TooMany),
)]
pub(crate) async fn invite(
    state: State,
    admin: Admin,
    body: OptionalBody<NewInvitation>,
) -> Result<HttpResponse, ApiError> {
    let work = |accounts: Accounts| async move { accounts.invite(&admin.0, body.0.role).await };
    let invitation = state.run_accounts(work).await?;
    let address = state.public_url.as_ref().map(PublicUrl::to_string).unwrap_or_default();
    Ok(HttpResponse::Created().json(Invitation { url: address + &invitation.url, ..invitation }))
}

/// Lists the unused invitations.
///
/// For admins. Their links are not shown again.
#[utoipa::path(
    get, path = "/api/invitations", operation_id = "list_invitations", tag = "People", security(("session" = [])),
    responses((status = 200, body = List<InvitationInfo>), NoAccounts),
)]
pub(crate) async fn list_invitations(state: State, _: Admin) -> Result<HttpResponse, ApiError> {
    let items = state.run_accounts(|accounts: Accounts| async move { accounts.list_invitations().await }).await?;
    Ok(HttpResponse::Ok().json(List { items }))
}

/// Revokes an invitation.
///
/// For admins.
#[utoipa::path(
    delete, path = "/api/invitations/{invitation_id}", operation_id = "revoke_invitation", tag = "People",
    security(("session" = [])), responses((status = 204, description = "Its link no longer works.")),
)]
pub(crate) async fn revoke_invitation(
    state: State,
    admin: Admin,
    id: web::Path<i64>,
) -> Result<HttpResponse, ApiError> {
    state.run_accounts(|accounts: Accounts| async move { accounts.revoke_invitation(&admin.0, *id).await }).await?;
    Ok(HttpResponse::NoContent().finish())
}
