//! HTTP handlers for orchestrators and monitoring: liveness, readiness, and metrics.

use actix_web::HttpResponse;

use super::{caller::Operator, error::ApiError, metrics::Metrics, state::State};

/// The process answers.
#[utoipa::path(
    get, path = "/healthz", operation_id = "live", tag = "Server", security(()),
    responses((status = 200, body = String, content_type = "text/plain")),
)]
pub(crate) async fn live() -> &'static str {
    "ok\n"
}

/// The database can be written to and new turns are taken.
#[utoipa::path(
    get, path = "/readyz", operation_id = "ready", tag = "Server", security(()),
    responses((status = 200, body = String, content_type = "text/plain")),
)]
pub(crate) async fn ready(state: State) -> Result<&'static str, ApiError> {
    state.run(|service| async move { service.check_ready().await }).await?;
    Ok("ready\n")
}

/// Figures for Prometheus and its like.
///
/// For admins, and by a key of an admin's, since they tell more than everybody should know.
#[utoipa::path(
    get, path = "/metrics", operation_id = "metrics", tag = "Server",
    responses((status = 200, body = String, content_type = "application/openmetrics-text")),
)]
pub(crate) async fn metrics(state: State, _: Operator) -> Result<HttpResponse, ApiError> {
    let text = state.metrics.text(&state.service)?;
    Ok(HttpResponse::Ok().content_type(Metrics::MEDIA_TYPE).body(text))
}
