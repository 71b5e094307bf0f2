//! HTTP handlers for the settings of the server that admins change while it runs: `/api/admin/settings`.

use actix_web::{HttpRequest, HttpResponse, http::Method, web};
use serde_json::{Map, Value};
use tallybook_protocol::{CurrentServerSettings, SettingsHistory};
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
    app.service(Endpoint::at("/admin/settings").on(Method::GET, find).on(Method::PATCH, update))
        .service(Endpoint::at("/admin/settings/history").on(Method::GET, history))
        .service(Endpoint::at("/admin/settings/history/{change_id}/restore").on(Method::POST, restore));
}

/// Returns the API description of these routes.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(find, update, history, restore))]
    struct Documented;
    Documented::openapi()
}

/// Returns the settings of the server that can change while it runs.
#[utoipa::path(
    get, path = "/api/admin/settings", operation_id = "get_settings", tag = "Settings", security(("session" = [])),
    responses((status = 200, body = CurrentServerSettings)),
)]
pub(crate) async fn find(state: State, _: Admin) -> Result<HttpResponse, ApiError> {
    Ok(show(&state.settings.find_settings().await?))
}

/// Changes settings.
///
/// Each member of the body replaces a setting as a whole, and null gives it its default again. With the header
/// `If-Match`, nothing is changed if the settings have another version. The change applies at once, and on the other
/// servers of the database within two seconds; running turns continue with the settings that they started with.
#[utoipa::path(
    patch, path = "/api/admin/settings", operation_id = "change_settings", tag = "Settings",
    security(("session" = [])), params(("If-Match" = Option<String>, Header, description = "The version, as in `ETag`.")),
    request_body(content = Object, description = "Some of the members of `ServerSettings`, each with a value or null."),
    responses(
        (status = 200, body = CurrentServerSettings), Conflict, Invalid,
        (status = 412, description = "Another admin has changed the settings."),
    ),
)]
pub(crate) async fn update(
    state: State,
    Admin(caller): Admin,
    request: HttpRequest,
    body: JsonBody<Map<String, Value>>,
) -> Result<HttpResponse, ApiError> {
    let version = expected_version(&request, SettingsError::SettingsChanged)?;
    let work =
        move |settings: RuntimeSettings| async move { settings.update_settings(caller.user, body.0, version).await };
    Ok(show(&state.run_settings(work).await?))
}

/// Lists the latest changes of the settings.
#[utoipa::path(
    get, path = "/api/admin/settings/history", operation_id = "list_settings_changes", tag = "Settings",
    security(("session" = [])), responses((status = 200, body = SettingsHistory)),
)]
pub(crate) async fn history(state: State, _: Admin) -> Result<web::Json<SettingsHistory>, ApiError> {
    Ok(web::Json(state.settings.list_settings_changes().await?))
}

/// Restores the settings as they were after a change.
///
/// Settings of the settings file or the environment stay as they are there. The restoring is a change of its own.
#[utoipa::path(
    post, path = "/api/admin/settings/history/{change_id}/restore", operation_id = "restore_settings", tag = "Settings",
    security(("session" = [])), params(("If-Match" = Option<String>, Header, description = "The version, as in `ETag`.")),
    responses(
        (status = 200, body = CurrentServerSettings), Unknown, Invalid,
        (status = 412, description = "Another admin has changed the settings."),
    ),
)]
pub(crate) async fn restore(
    state: State,
    Admin(caller): Admin,
    request: HttpRequest,
    id: web::Path<i64>,
) -> Result<HttpResponse, ApiError> {
    let version = expected_version(&request, SettingsError::SettingsChanged)?;
    let work = move |settings: RuntimeSettings| async move {
        settings.restore_settings(caller.user, id.into_inner(), version).await
    };
    Ok(show(&state.run_settings(work).await?))
}

fn show(settings: &CurrentServerSettings) -> HttpResponse {
    with_version(HttpResponse::Ok(), Some(settings.version), settings)
}
