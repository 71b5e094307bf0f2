//! HTTP handlers for orchestrators and monitoring: liveness, readiness, and metrics.

use actix_web::HttpResponse;

use super::{caller::MetricsReader, error::ApiError, metrics::Metrics, state::State};

/// Liveness probe: succeeds if the process responds.
#[utoipa::path(
    get, path = "/healthz", operation_id = "live", tag = "Server", security(()),
    responses((status = 200, body = String, content_type = "text/plain")),
)]
pub(crate) async fn live() -> &'static str {
    "ok\n"
}

/// Readiness probe: succeeds if the database is writable and the server accepts new turns.
#[utoipa::path(
    get, path = "/readyz", operation_id = "ready", tag = "Server", security(()),
    responses((status = 200, body = String, content_type = "text/plain")),
)]
pub(crate) async fn ready(state: State) -> Result<&'static str, ApiError> {
    state.run(|service| async move { service.check_ready().await }).await?;
    Ok("ready\n")
}

/// Returns metrics for Prometheus and compatible systems.
///
/// Requires the token in `METRICS_TOKEN`, an admin, or an API key of an admin, because the metrics describe the use of
/// the whole server.
#[utoipa::path(
    get, path = "/metrics", operation_id = "metrics", tag = "Server",
    responses((status = 200, body = String, content_type = "application/openmetrics-text")),
)]
pub(crate) async fn metrics(state: State, _: MetricsReader) -> Result<HttpResponse, ApiError> {
    let text = state.metrics.text(&state.service)?;
    Ok(HttpResponse::Ok().content_type(Metrics::MEDIA_TYPE).body(text))
}
