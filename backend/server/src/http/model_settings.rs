//! HTTP handlers for models that admins add while the server runs: `/api/admin/models`.

use actix_web::{HttpRequest, HttpResponse, http::Method, web};
use serde_json::{Map, Value};
use tallybook_protocol::{ConfiguredModel, ConfiguredModels, DiscoverModels, DiscoveredModels, ModelTest, NewModel};
use tallybook_runtime_settings::{EntryKind, SettingsError};
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

/// Registers the routes under `/api`. A model cannot have the name of one of the fixed paths.
pub(crate) fn api(app: &mut web::ServiceConfig) {
    app.service(Endpoint::at("/admin/models").on(Method::GET, list).on(Method::POST, create))
        .service(Endpoint::at("/admin/models/discover").on(Method::POST, discover))
        .service(Endpoint::at("/admin/models/test").on(Method::POST, test_new))
        .service(
            Endpoint::at("/admin/models/{name}")
                .on(Method::GET, find)
                .on(Method::PATCH, update)
                .on(Method::DELETE, delete),
        )
        .service(Endpoint::at("/admin/models/{name}/test").on(Method::POST, test));
}

/// Returns the API description of these routes.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(list, create, find, update, delete, test, test_new, discover))]
    struct Documented;
    Documented::openapi()
}

/// Lists the models with their settings.
///
/// Models of the settings file or the environment come first; they can only be changed there. No response contains an
/// API key.
#[utoipa::path(
    get, path = "/api/admin/models", operation_id = "list_configured_models", tag = "Models",
    security(("session" = [])), responses((status = 200, body = ConfiguredModels)),
)]
pub(crate) async fn list(state: State, _: Admin) -> Result<web::Json<ConfiguredModels>, ApiError> {
    Ok(web::Json(state.settings.list_models().await?))
}

/// Adds a model.
///
/// It is available at once, and on the other replicas within two seconds. If only the demo model is
/// configured, the first added model becomes the default.
#[utoipa::path(
    post, path = "/api/admin/models", operation_id = "add_model", tag = "Models", security(("session" = [])),
    request_body = NewModel, responses((status = 201, body = ConfiguredModel), Conflict, Invalid),
)]
pub(crate) async fn create(
    state: State,
    Admin(caller): Admin,
    body: JsonBody<Map<String, Value>>,
) -> Result<HttpResponse, ApiError> {
    let work = |settings: Settings| async move { settings.create_model(caller.user, body.0).await };
    let model = state.run_settings(work).await?;
    Ok(with_version(HttpResponse::Created(), model.version, &model))
}

/// Returns a model with its settings.
#[utoipa::path(
    get, path = "/api/admin/models/{name}", operation_id = "find_configured_model", tag = "Models",
    security(("session" = [])), responses((status = 200, body = ConfiguredModel), Unknown),
)]
pub(crate) async fn find(state: State, _: Admin, name: web::Path<String>) -> Result<HttpResponse, ApiError> {
    let model = state.settings.find_model(&name).await?;
    Ok(with_version(HttpResponse::Ok(), model.version, &model))
}

/// Changes an added model.
///
/// Each member replaces a setting, and null removes it. `api_key` can be set, too. With the header `If-Match`, nothing
/// is changed if the model has another version. Running turns continue with the settings that they started with.
#[utoipa::path(
    patch, path = "/api/admin/models/{name}", operation_id = "update_model", tag = "Models",
    security(("session" = [])), params(("If-Match" = Option<String>, Header, description = "The version, as in `ETag`.")),
    request_body(content = Object, description = "Some of the members of `NewModel`, each with a value or null."),
    responses(
        (status = 200, body = ConfiguredModel), Unknown, Conflict, Invalid,
        (status = 412, description = "Another admin has changed the model."),
    ),
)]
pub(crate) async fn update(
    state: State,
    Admin(caller): Admin,
    request: HttpRequest,
    name: web::Path<String>,
    body: JsonBody<Map<String, Value>>,
) -> Result<HttpResponse, ApiError> {
    let version = expected_version(&request, SettingsError::VersionChanged(EntryKind::Model))?;
    let work =
        move |settings: Settings| async move { settings.update_model(caller.user, &name, body.0, version).await };
    let model = state.run_settings(work).await?;
    Ok(with_version(HttpResponse::Ok(), model.version, &model))
}

/// Removes an added model.
///
/// Turns that it answers continue. A conversation that chose it needs another model for its next message.
#[utoipa::path(
    delete, path = "/api/admin/models/{name}", operation_id = "remove_model", tag = "Models",
    security(("session" = [])), params(("If-Match" = Option<String>, Header, description = "The version, as in `ETag`.")),
    responses(
        (status = 204, description = "The model is removed."), Unknown, Conflict,
        (status = 412, description = "Another admin has changed the model."),
    ),
)]
pub(crate) async fn delete(
    state: State,
    Admin(caller): Admin,
    request: HttpRequest,
    name: web::Path<String>,
) -> Result<HttpResponse, ApiError> {
    let version = expected_version(&request, SettingsError::VersionChanged(EntryKind::Model))?;
    let work = move |settings: Settings| async move { settings.delete_model(caller.user, &name, version).await };
    state.run_settings(work).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Asks a model a few short questions.
///
/// If the model fails, the response has `ok: false` and the reason. The test takes at most 90 seconds. The body may
/// have changes of an added model. Its stored key is used if the changes have no key, and neither another provider nor
/// another URL.
#[utoipa::path(
    post, path = "/api/admin/models/{name}/test", operation_id = "test_model", tag = "Models",
    security(("session" = [])),
    request_body(content = Option<Object>, description = "Changes to test before they are stored: some of the members of `NewModel`."),
    responses((status = 200, body = ModelTest), Unknown, Conflict, Invalid),
)]
pub(crate) async fn test(
    state: State,
    _: Admin,
    name: web::Path<String>,
    OptionalBody(changes): OptionalBody<Map<String, Value>>,
) -> Result<web::Json<ModelTest>, ApiError> {
    Ok(web::Json(state.settings.test_model(&name, changes).await?))
}

/// Asks a model a few short questions before it is added.
#[utoipa::path(
    post, path = "/api/admin/models/test", operation_id = "test_new_model", tag = "Models", security(("session" = [])),
    request_body = NewModel, responses((status = 200, body = ModelTest), Invalid),
)]
pub(crate) async fn test_new(
    state: State,
    _: Admin,
    body: JsonBody<Map<String, Value>>,
) -> Result<web::Json<ModelTest>, ApiError> {
    Ok(web::Json(state.settings.test_new_model(body.0).await?))
}

/// Lists the models that a provider offers.
#[utoipa::path(
    post, path = "/api/admin/models/discover", operation_id = "discover_models", tag = "Models",
    security(("session" = [])), request_body = DiscoverModels,
    responses(
        (status = 200, body = DiscoveredModels), Unknown, Invalid,
        (status = 502, description = "The provider did not send a list. `detail` says why."),
    ),
)]
pub(crate) async fn discover(
    state: State,
    _: Admin,
    body: JsonBody<DiscoverModels>,
) -> Result<web::Json<DiscoveredModels>, ApiError> {
    Ok(web::Json(state.settings.discover_models(body.0).await?))
}

/// The service whose use cases the handlers run.
type Settings = tallybook_runtime_settings::RuntimeSettings;
