//! Requests of the settings: the user's own account, sessions, and API keys, and for admins the users and
//! invitations.

use serde::Serialize;
use serde_json::json;
use tallybook_protocol::{
    AccessRecord, CreatedKey, Identity, Invitation, InvitationInfo, KeyInfo, LinkRedirect, Me, Page, Session, UpdateMe,
    User, UserRole,
};

use super::{
    error::ApiError,
    request::{NO_BODY, call, encoded, request},
};

/// Address of the file with the user's data.
pub(crate) const EXPORT_URL: &str = "/api/me/export";

/// `GET /api/me`
pub(crate) async fn find_me() -> Result<Me, ApiError> {
    call("GET", "/api/me", NO_BODY).await
}

/// `PATCH /api/me`
pub(crate) async fn update_me(update: &UpdateMe) -> Result<Me, ApiError> {
    call("PATCH", "/api/me", Some(update)).await
}

/// `PUT /api/me/password`
pub(crate) async fn change_password(current: &str, new: &str, revoke_keys: bool) -> Result<(), ApiError> {
    let body = json!({"current": current, "new": new, "revoke_keys": revoke_keys});
    send("PUT", "/api/me/password", Some(&body)).await
}

/// `DELETE /api/me`
pub(crate) async fn delete_me(password: &str) -> Result<(), ApiError> {
    send("DELETE", "/api/me", Some(&json!({"password": password}))).await
}

/// `GET /api/sessions`
pub(crate) async fn list_sessions() -> Result<Vec<Session>, ApiError> {
    let page: Page<Session> = call("GET", "/api/sessions", NO_BODY).await?;
    Ok(page.items)
}

/// `DELETE /api/sessions/{id}`
pub(crate) async fn end_session(id: i64) -> Result<(), ApiError> {
    send("DELETE", &format!("/api/sessions/{id}"), NO_BODY).await
}

/// `DELETE /api/sessions`
pub(crate) async fn sign_out_everywhere(revoke_keys: bool) -> Result<(), ApiError> {
    send("DELETE", "/api/sessions", Some(&json!({"revoke_keys": revoke_keys}))).await
}

/// `GET /api/looks`: the newest admin access records.
pub(crate) async fn list_access_records() -> Result<Vec<AccessRecord>, ApiError> {
    let page: Page<AccessRecord> = call("GET", "/api/looks", NO_BODY).await?;
    Ok(page.items)
}

/// `PUT /api/looks/seen`: acknowledges the records up to `id`.
pub(crate) async fn acknowledge_access_records(id: i64) -> Result<(), ApiError> {
    send("PUT", "/api/looks/seen", Some(&json!({"id": id}))).await
}

/// `GET /api/keys`
pub(crate) async fn list_keys() -> Result<Vec<KeyInfo>, ApiError> {
    let page: Page<KeyInfo> = call("GET", "/api/keys", NO_BODY).await?;
    Ok(page.items)
}

/// `POST /api/keys`
pub(crate) async fn create_key(
    name: &str,
    password: Option<&str>,
    expires_at: Option<&str>,
) -> Result<CreatedKey, ApiError> {
    let body = json!({"name": name, "password": password, "expires_at": expires_at});
    call("POST", "/api/keys", Some(&body)).await
}

/// `DELETE /api/keys/{id}`
pub(crate) async fn revoke_key(id: i64) -> Result<(), ApiError> {
    send("DELETE", &format!("/api/keys/{id}"), NO_BODY).await
}

/// `GET /api/users/{id}/keys`
pub(crate) async fn list_keys_of(user: i64) -> Result<Vec<KeyInfo>, ApiError> {
    let page: Page<KeyInfo> = call("GET", &format!("/api/users/{user}/keys"), NO_BODY).await?;
    Ok(page.items)
}

/// `DELETE /api/users/{id}/keys/{id}`
pub(crate) async fn revoke_key_of(user: i64, id: i64) -> Result<(), ApiError> {
    send("DELETE", &format!("/api/users/{user}/keys/{id}"), NO_BODY).await
}

/// `GET /api/identities`
pub(crate) async fn list_identities() -> Result<Vec<Identity>, ApiError> {
    let page: Page<Identity> = call("GET", "/api/identities", NO_BODY).await?;
    Ok(page.items)
}

/// `POST /api/identities`: returns the address of the identity provider at which the user links an identity.
pub(crate) async fn begin_linking(password: &str) -> Result<LinkRedirect, ApiError> {
    call("POST", "/api/identities", Some(&json!({"password": password}))).await
}

/// `DELETE /api/identities/{id}`
pub(crate) async fn unlink_identity(id: i64) -> Result<(), ApiError> {
    send("DELETE", &format!("/api/identities/{id}"), NO_BODY).await
}

/// `GET /api/users`: a page of the users, after `cursor`.
pub(crate) async fn list_users(cursor: Option<&str>) -> Result<Page<User>, ApiError> {
    let cursor = cursor.map(|cursor| format!("?cursor={}", encoded(cursor))).unwrap_or_default();
    call("GET", &format!("/api/users{cursor}"), NO_BODY).await
}

/// `PATCH /api/users/{id}`
pub(crate) async fn update_user(id: i64, role: Option<UserRole>, active: Option<bool>) -> Result<User, ApiError> {
    call("PATCH", &format!("/api/users/{id}"), Some(&json!({"role": role, "active": active}))).await
}

/// `POST /api/invitations`
pub(crate) async fn invite(role: UserRole) -> Result<Invitation, ApiError> {
    call("POST", "/api/invitations", Some(&json!({"role": role}))).await
}

/// `GET /api/invitations`: the invitations that are not used yet.
pub(crate) async fn list_invitations() -> Result<Vec<InvitationInfo>, ApiError> {
    let page: Page<InvitationInfo> = call("GET", "/api/invitations", NO_BODY).await?;
    Ok(page.items)
}

/// `DELETE /api/invitations/{id}`
pub(crate) async fn revoke_invitation(id: i64) -> Result<(), ApiError> {
    send("DELETE", &format!("/api/invitations/{id}"), NO_BODY).await
}

/// Sends a request whose response has no content that matters.
async fn send(method: &str, url: &str, body: Option<&impl Serialize>) -> Result<(), ApiError> {
    request(method, url, body).await?.text().await?;
    Ok(())
}
