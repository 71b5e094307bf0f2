//! HTTP handlers for budgets: `/api/admin/budgets`.

use actix_web::{http::Method, web};
use tallybook_protocol::Budget;
use tallybook_runtime_settings::RuntimeSettings;
use utoipa::OpenApi;

use super::{
    body::JsonList, caller::Admin, error::ApiError, methods::Endpoint, shared_responses::Invalid, state::State,
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
pub(crate) async fn list(state: State, _: Admin) -> Result<web::Json<Vec<Budget>>, ApiError> {
    Ok(web::Json(state.settings.list_budgets().await?))
}

/// Replaces all budgets.
///
/// They apply at once, and on the other servers of the database within two seconds. Usage of the current day or month that
/// came before counts. If several budgets apply to a user, each must have something left when a turn begins.
#[utoipa::path(
    put, path = "/api/admin/budgets", operation_id = "replace_budgets", tag = "Settings", security(("session" = [])),
    request_body = Vec<Budget>, responses((status = 200, body = Vec<Budget>), Invalid),
)]
pub(crate) async fn replace(
    state: State,
    Admin(caller): Admin,
    JsonList(budgets): JsonList<Budget>,
) -> Result<web::Json<Vec<Budget>>, ApiError> {
    let work = move |settings: RuntimeSettings| async move { settings.replace_budgets(caller.user, budgets).await };
    Ok(web::Json(state.run_settings(work).await?))
}
