//! For orchestrators and monitoring: is the process alive, can it serve, what does it do.

use actix_web::HttpResponse;

use super::{State, error::ApiError};

/// The process answers.
pub(super) async fn live() -> &'static str {
    "ok\n"
}

/// The database answers and new turns are taken.
pub(super) async fn ready(state: State) -> Result<&'static str, ApiError> {
    state.run(|service| async move { service.check_ready().await }).await?;
    Ok("ready\n")
}

/// Figures in Prometheus' text format, version 0.0.4.
pub(super) async fn metrics(state: State) -> HttpResponse {
    let model = state.service.model_info();
    let text = format!(
        "# HELP tallybook_info What runs here.\n\
         # TYPE tallybook_info gauge\n\
         tallybook_info{{version={:?},provider={:?},model={:?}}} 1\n\
         # HELP tallybook_turns_running Turns that run in this process.\n\
         # TYPE tallybook_turns_running gauge\n\
         tallybook_turns_running {}\n",
        env!("CARGO_PKG_VERSION"),
        model.provider,
        model.model,
        state.service.running_turns(),
    );
    HttpResponse::Ok().content_type("text/plain; version=0.0.4; charset=utf-8").body(text)
}
