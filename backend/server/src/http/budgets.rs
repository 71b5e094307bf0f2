//! HTTP handlers for budgets: `/api/admin/budgets`.

use actix_web::{HttpRequest, HttpResponse, http::Method, web};
use tallybook_protocol::Budget;
use tallybook_runtime_settings::{RuntimeSettings, SettingsError};
use utoipa::OpenApi;

use super::{
    body::JsonList,
    caller::Admin,
    error::ApiError,
    methods::Endpoint,
    shared_responses::Invalid,
    state::State,
    versions::{expected_version, with_version},
};

/// Registers the routes under `/api`.
pub(crate) fn api(app: &mut web::ServiceConfig) {
    app.service(Endpoint::at("/admin/budgets").on(Method::GET, list).on(Method::PUT, replace));
}

/// Returns the API description of these routes.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(list, replace))]
    struct Documented;
    Documented::openapi()
}

/// Lists the budgets.
#[utoipa::path(
    get, path = "/api/admin/budgets", operation_id = "list_budgets", tag = "Settings", security(("session" = [])),
    responses((status = 200, body = Vec<Budget>)),
)]
pub(crate) async fn list(state: State, _: Admin) -> Result<HttpResponse, ApiError> {
    let (budgets, version) = state.settings.list_budgets().await?;
    Ok(with_version(HttpResponse::Ok(), Some(version), &budgets))
}

/// Replaces all budgets.
///
/// With the header `If-Match`, nothing is changed if the budgets have another version. They apply at once, and on the
/// other replicas within two seconds. Usage of the current day or month that came before counts. If
/// several budgets apply to a user, each must have something left when a turn begins.
#[utoipa::path(
    put, path = "/api/admin/budgets", operation_id = "replace_budgets", tag = "Settings", security(("session" = [])),
    params(("If-Match" = Option<String>, Header, description = "The version, as in `ETag`.")),
    request_body = Vec<Budget>,
    responses(
        (status = 200, body = Vec<Budget>), Invalid, (status = 412, description = "Another admin has changed the budgets."),
    ),
)]
pub(crate) async fn replace(
    state: State,
    Admin(caller): Admin,
    request: HttpRequest,
    JsonList(budgets): JsonList<Budget>,
) -> Result<HttpResponse, ApiError> {
    let version = expected_version(&request, SettingsError::SettingsChanged)?;
    let work =
        move |settings: RuntimeSettings| async move { settings.replace_budgets(caller.user, budgets, version).await };
    let (budgets, version) = state.run_settings(work).await?;
    Ok(with_version(HttpResponse::Ok(), Some(version), &budgets))
}
