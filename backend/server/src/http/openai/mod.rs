//! The agent as a model, for programs that speak OpenAI Chat Completions: the shapes on the wire (`wire`, `chunk`, `whole`,
//! `error_body`), what a request asks for (`ask`, `messages`, `said`, `tools`, `refusal`), and how a turn becomes its answer
//! (`chat`, `begin`, `follow`, `plain`, `respond`, `sink`); the same for those that speak Responses (`responses`), and in
//! plainer shapes (`thread`). The turn is the same as the page's; nothing of it is decided here.

mod ask;
mod begin;
mod chat;
mod chunk;
pub(super) mod error_body;
mod follow;
mod limits;
mod messages;
mod models;
mod plain;
pub(super) mod refusal;
mod respond;
mod responses;
mod said;
mod sink;
pub(super) mod thread;
mod tools;
mod whole;
mod wire;

use actix_web::{HttpRequest, HttpResponse, Scope, http::Method, web};
use utoipa::OpenApi;

use super::{error::ApiError, methods::Endpoint};

/// What is under `/v1`.
pub(super) fn v1() -> Scope {
    web::scope("/v1")
        .service(Endpoint::at("/chat/completions").on(Method::POST, chat::create))
        .service(Endpoint::at("/responses").on(Method::POST, responses::create))
        .service(Endpoint::at("/responses/{id}").on(Method::GET, responses::find).on(Method::DELETE, responses::delete))
        .service(Endpoint::at("/chat").on(Method::POST, thread::create))
        .service(Endpoint::at("/models").on(Method::GET, models::list))
        .service(Endpoint::at("/models/{id:.+}").on(Method::GET, models::find))
        .default_service(web::to(no_such_route))
}

/// What the document of the API says of them.
pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(chat::create, models::list, models::find), components(schemas(error_body::ErrorBody)))]
    struct Documented;
    let mut all = Documented::openapi();
    all.merge(responses::document());
    all.merge(thread::document());
    all
}

async fn no_such_route(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    Err(ApiError::NoSuchRoute(format!("{} {}", request.method(), request.path())))
}
