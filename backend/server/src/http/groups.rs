//! HTTP handlers for groups of users: `/api/groups`.

use actix_web::{HttpRequest, HttpResponse, http::Method, web};
use tallybook_accounts::GroupId;
use tallybook_protocol::{Group, GroupMembers, Groups, NewGroup, NewGroupMembers, UpdateGroup};
use tallybook_runtime_settings::{RuntimeSettings, SettingsError};
use utoipa::OpenApi;

use super::{
    body::JsonBody,
    caller::Admin,
    error::ApiError,
    methods::Endpoint,
    shared_responses::{Conflict, Invalid, Unknown},
    state::State,
    versions::{expected_version, with_version},
};

/// Registers the routes under `/api`.
pub(crate) fn api(app: &mut web::ServiceConfig) {
    app.service(Endpoint::at("/groups").on(Method::GET, list).on(Method::POST, create))
        .service(
            Endpoint::at("/groups/{group_id}")
                .on(Method::GET, find)
                .on(Method::PATCH, update)
                .on(Method::DELETE, delete),
        )
        .service(Endpoint::at("/groups/{group_id}/members").on(Method::GET, list_members).on(Method::PUT, set_members));
}

/// Returns the API description of these routes.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(list, create, find, update, delete, list_members, set_members))]
    struct Documented;
    Documented::openapi()
}

/// Lists the groups.
///
/// For admins.
#[utoipa::path(
    get, path = "/api/groups", operation_id = "list_groups", tag = "People", security(("session" = [])),
    responses((status = 200, body = Groups)),
)]
pub(crate) async fn list(state: State, _: Admin) -> Result<web::Json<Groups>, ApiError> {
    Ok(web::Json(state.settings.list_groups().await?))
}

/// Creates a group without members.
///
/// For admins. The identity provider sets the members of a group with the origin `oidc`. If a permission is granted to
/// groups, only their members and admins have it; otherwise all users do.
#[utoipa::path(
    post, path = "/api/groups", operation_id = "create_group", tag = "People", security(("session" = [])),
    request_body = NewGroup, responses((status = 201, body = Group), Conflict, Invalid),
)]
pub(crate) async fn create(
    state: State,
    Admin(caller): Admin,
    body: JsonBody<NewGroup>,
) -> Result<HttpResponse, ApiError> {
    let work = |settings: RuntimeSettings| async move { settings.create_group(caller.user, body.0).await };
    let group = state.run_settings(work).await?;
    Ok(with_version(HttpResponse::Created(), Some(group.version), &group))
}

/// Returns a group.
///
/// For admins.
#[utoipa::path(
    get, path = "/api/groups/{group_id}", operation_id = "find_group", tag = "People", security(("session" = [])),
    responses((status = 200, body = Group), Unknown),
)]
pub(crate) async fn find(state: State, _: Admin, id: web::Path<i64>) -> Result<HttpResponse, ApiError> {
    let group = state.settings.find_group(GroupId(*id)).await?;
    Ok(with_version(HttpResponse::Ok(), Some(group.version), &group))
}

/// Changes the name or the grants of a group.
///
/// For admins. The change applies to turns that begin from now on, and on the other replicas within two
/// seconds. With the header `If-Match`, nothing is changed if the group has another version.
#[utoipa::path(
    patch, path = "/api/groups/{group_id}", operation_id = "update_group", tag = "People", security(("session" = [])),
    params(("If-Match" = Option<String>, Header, description = "The version, as in `ETag`.")),
    request_body = UpdateGroup,
    responses(
        (status = 200, body = Group), Unknown, Conflict, Invalid,
        (status = 412, description = "Another admin has changed the group."),
    ),
)]
pub(crate) async fn update(
    state: State,
    Admin(caller): Admin,
    request: HttpRequest,
    id: web::Path<i64>,
    body: JsonBody<UpdateGroup>,
) -> Result<HttpResponse, ApiError> {
    let version = expected_version(&request, SettingsError::GroupChanged)?;
    let work = move |settings: RuntimeSettings| async move {
        settings.update_group(caller.user, GroupId(*id), body.0, None, version).await
    };
    let group = state.run_settings(work).await?;
    Ok(with_version(HttpResponse::Ok(), Some(group.version), &group))
}

/// Deletes a group.
///
/// For admins. All users then have the permissions that were granted only to this group. Its budgets are deleted.
#[utoipa::path(
    delete, path = "/api/groups/{group_id}", operation_id = "delete_group", tag = "People", security(("session" = [])),
    params(("If-Match" = Option<String>, Header, description = "The version, as in `ETag`.")),
    responses(
        (status = 204, description = "The group is deleted."), Unknown,
        (status = 412, description = "Another admin has changed the group."),
    ),
)]
pub(crate) async fn delete(
    state: State,
    Admin(caller): Admin,
    request: HttpRequest,
    id: web::Path<i64>,
) -> Result<HttpResponse, ApiError> {
    let version = expected_version(&request, SettingsError::GroupChanged)?;
    let work =
        move |settings: RuntimeSettings| async move { settings.delete_group(caller.user, GroupId(*id), version).await };
    state.run_settings(work).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Lists the members of a group.
///
/// For admins.
#[utoipa::path(
    get, path = "/api/groups/{group_id}/members", operation_id = "list_group_members", tag = "People",
    security(("session" = [])), responses((status = 200, body = GroupMembers), Unknown),
)]
pub(crate) async fn list_members(state: State, _: Admin, id: web::Path<i64>) -> Result<HttpResponse, ApiError> {
    let group = state.settings.find_group(GroupId(*id)).await?;
    let members = state.settings.list_group_members(GroupId(*id)).await?;
    Ok(with_version(HttpResponse::Ok(), Some(group.version), &members))
}

/// Replaces the members of a group.
///
/// For admins. The identity provider adds the members of a group with the origin `oidc`, so they can only be removed
/// here, until they sign in again.
#[utoipa::path(
    put, path = "/api/groups/{group_id}/members", operation_id = "set_group_members", tag = "People",
    security(("session" = [])), params(("If-Match" = Option<String>, Header, description = "The version, as in `ETag`.")),
    request_body = NewGroupMembers,
    responses(
        (status = 200, body = GroupMembers), Unknown, Conflict, Invalid,
        (status = 412, description = "Another admin has changed the group."),
    ),
)]
pub(crate) async fn set_members(
    state: State,
    Admin(caller): Admin,
    request: HttpRequest,
    id: web::Path<i64>,
    body: JsonBody<NewGroupMembers>,
) -> Result<HttpResponse, ApiError> {
    let version = expected_version(&request, SettingsError::GroupChanged)?;
    let (id, members) = (GroupId(*id), Some(body.0.user_ids));
    let work = move |settings: RuntimeSettings| async move {
        let group = settings.update_group(caller.user, id, UpdateGroup::default(), members, version).await?;
        Ok((group.version, settings.list_group_members(id).await?))
    };
    let (version, members) = state.run_settings(work).await?;
    Ok(with_version(HttpResponse::Ok(), Some(version), &members))
}
