//! For orchestrators and monitoring: is the process alive, can it serve, what does it do.

use actix_web::HttpResponse;

use super::{caller::Operator, error::ApiError, metrics::Metrics, state::State};

/// The process answers.
pub(super) async fn live() -> &'static str {
    "ok\n"
}

/// The database can be written to and new turns are taken.
pub(super) async fn ready(state: State) -> Result<&'static str, ApiError> {
    state.run(|service| async move { service.check_ready().await }).await?;
    Ok("ready\n")
}

/// Figures for Prometheus and its like, which tell more than everybody should know where there are accounts.
pub(super) async fn metrics(state: State, _: Operator) -> Result<HttpResponse, ApiError> {
    let text = state.metrics.text(&state.service)?;
    Ok(HttpResponse::Ok().content_type(Metrics::MEDIA_TYPE).body(text))
}
