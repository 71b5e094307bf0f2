//! HTTP handlers for tool servers that admins add while the server runs: `/api/admin/tool-servers`.

use actix_web::{HttpRequest, HttpResponse, http::Method, web};
use serde_json::{Map, Value};
use tallybook_protocol::{ConfiguredToolServer, ConfiguredToolServers, NewToolServer, ToolServerTest};
use tallybook_runtime_settings::{EntryKind, RuntimeSettings, SettingsError};
use utoipa::OpenApi;

use super::{
    body::{JsonBody, OptionalBody},
    caller::Admin,
    error::ApiError,
    methods::Endpoint,
    shared_responses::{Conflict, Invalid, Unknown},
    state::State,
    versions::{expected_version, with_version},
};

/// Registers the routes under `/api`. A tool server cannot have the name of the fixed path.
pub(crate) fn api(app: &mut web::ServiceConfig) {
    app.service(Endpoint::at("/admin/tool-servers").on(Method::GET, list).on(Method::POST, create))
        .service(Endpoint::at("/admin/tool-servers/test").on(Method::POST, test_new))
        .service(
            Endpoint::at("/admin/tool-servers/{name}")
                .on(Method::GET, find)
                .on(Method::PATCH, update)
                .on(Method::DELETE, delete),
        )
        .service(Endpoint::at("/admin/tool-servers/{name}/test").on(Method::POST, test));
}

/// Returns the API description of these routes.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(list, create, find, update, delete, test, test_new))]
    struct Documented;
    Documented::openapi()
}

/// Lists the tool servers with their settings and their state.
///
/// Servers of the settings files come first; they can only be changed there. No response contains the values of
/// headers.
#[utoipa::path(
    get, path = "/api/admin/tool-servers", operation_id = "list_configured_tool_servers", tag = "Tools",
    security(("session" = [])), responses((status = 200, body = ConfiguredToolServers)),
)]
pub(crate) async fn list(state: State, _: Admin) -> Result<web::Json<ConfiguredToolServers>, ApiError> {
    Ok(web::Json(state.settings.list_tool_servers().await?))
}

/// Adds a tool server.
///
/// Tallybook connects to it at once. New turns can use its tools as soon as it has listed them, and on the other
/// servers of the database within a few seconds. Servers that run as a program can only be set in the settings file.
#[utoipa::path(
    post, path = "/api/admin/tool-servers", operation_id = "add_tool_server", tag = "Tools",
    security(("session" = [])), request_body = NewToolServer,
    responses((status = 201, body = ConfiguredToolServer), Conflict, Invalid),
)]
pub(crate) async fn create(
    state: State,
    Admin(caller): Admin,
    body: JsonBody<Map<String, Value>>,
) -> Result<HttpResponse, ApiError> {
    let work = |settings: RuntimeSettings| async move { settings.create_tool_server(caller.user, body.0).await };
    let server = state.run_settings(work).await?;
    Ok(with_version(HttpResponse::Created(), server.version, &server))
}

/// Returns a tool server with its settings and its state.
#[utoipa::path(
    get, path = "/api/admin/tool-servers/{name}", operation_id = "find_configured_tool_server", tag = "Tools",
    security(("session" = [])), responses((status = 200, body = ConfiguredToolServer), Unknown),
)]
pub(crate) async fn find(state: State, _: Admin, name: web::Path<String>) -> Result<HttpResponse, ApiError> {
    let server = state.settings.find_tool_server(&name).await?;
    Ok(with_version(HttpResponse::Ok(), server.version, &server))
}

/// Changes an added tool server.
///
/// Each member replaces a setting, and null removes it. `headers` replaces all headers. With the header `If-Match`,
/// nothing is changed if the tool server has another version. Running turns keep the tools that they started with.
#[utoipa::path(
    patch, path = "/api/admin/tool-servers/{name}", operation_id = "update_tool_server", tag = "Tools",
    security(("session" = [])), params(("If-Match" = Option<String>, Header, description = "The version, as in `ETag`.")),
    request_body(content = Object, description = "Some of the members of `NewToolServer`, each with a value or null."),
    responses(
        (status = 200, body = ConfiguredToolServer), Unknown, Conflict, Invalid,
        (status = 412, description = "Another admin has changed the tool server."),
    ),
)]
pub(crate) async fn update(
    state: State,
    Admin(caller): Admin,
    request: HttpRequest,
    name: web::Path<String>,
    body: JsonBody<Map<String, Value>>,
) -> Result<HttpResponse, ApiError> {
    let version = expected_version(&request, SettingsError::VersionChanged(EntryKind::ToolServer))?;
    let work = move |settings: RuntimeSettings| async move {
        settings.update_tool_server(caller.user, &name, body.0, version).await
    };
    let server = state.run_settings(work).await?;
    Ok(with_version(HttpResponse::Ok(), server.version, &server))
}

/// Removes an added tool server.
///
/// Turns that started with its tools keep them.
#[utoipa::path(
    delete, path = "/api/admin/tool-servers/{name}", operation_id = "remove_tool_server", tag = "Tools",
    security(("session" = [])), params(("If-Match" = Option<String>, Header, description = "The version, as in `ETag`.")),
    responses(
        (status = 204, description = "The tool server is removed."), Unknown, Conflict,
        (status = 412, description = "Another admin has changed the tool server."),
    ),
)]
pub(crate) async fn delete(
    state: State,
    Admin(caller): Admin,
    request: HttpRequest,
    name: web::Path<String>,
) -> Result<HttpResponse, ApiError> {
    let version = expected_version(&request, SettingsError::VersionChanged(EntryKind::ToolServer))?;
    let work =
        move |settings: RuntimeSettings| async move { settings.delete_tool_server(caller.user, &name, version).await };
    state.run_settings(work).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Connects to a tool server and lists its tools.
///
/// If the server fails, the response has `ok: false` and the reason. A program of the settings file is not started
/// again: its running connection lists the tools. The body may have changes of an added server. Its stored headers are
/// sent if the changes have neither headers nor another URL.
#[utoipa::path(
    post, path = "/api/admin/tool-servers/{name}/test", operation_id = "test_tool_server", tag = "Tools",
    security(("session" = [])),
    request_body(content = Option<Object>, description = "Changes to test before they are stored: some of the members of `NewToolServer`."),
    responses((status = 200, body = ToolServerTest), Unknown, Conflict, Invalid),
)]
pub(crate) async fn test(
    state: State,
    _: Admin,
    name: web::Path<String>,
    OptionalBody(changes): OptionalBody<Map<String, Value>>,
) -> Result<web::Json<ToolServerTest>, ApiError> {
    Ok(web::Json(state.settings.test_tool_server(&name, changes).await?))
}

/// Connects to a tool server before it is added, and lists its tools.
#[utoipa::path(
    post, path = "/api/admin/tool-servers/test", operation_id = "test_new_tool_server", tag = "Tools",
    security(("session" = [])), request_body = NewToolServer, responses((status = 200, body = ToolServerTest), Invalid),
)]
pub(crate) async fn test_new(
    state: State,
    _: Admin,
    body: JsonBody<Map<String, Value>>,
) -> Result<web::Json<ToolServerTest>, ApiError> {
    Ok(web::Json(state.settings.test_new_tool_server(body.0).await?))
}
