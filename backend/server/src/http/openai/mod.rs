//! The agent as a model for clients of OpenAI's APIs. Chat completions have their wire formats in `wire`, `chunk`, `whole` and
//! `error_body`, and request parsing in `ask`, `messages`, `conversation`, `tools` and `refusal`. `chat`, `begin`, `follow`, `plain`,
//! `respond` and `sink` make an answer out of a turn. `responses` is the Responses API, and `thread` has simpler APIs. Turns are
//! the same as in the web UI.

mod ask;
mod begin;
mod chat;
mod chunk;
mod conversation;
pub(crate) mod error_body;
mod follow;
mod limits;
mod messages;
mod models;
mod plain;
pub(crate) mod refusal;
mod respond;
mod responses;
mod sink;
pub(crate) mod thread;
mod tools;
mod whole;
mod wire;

use actix_web::{HttpRequest, HttpResponse, Scope, http::Method, web};
use utoipa::OpenApi;

use super::{error::ApiError, methods::Endpoint};

/// Returns the routes under `/v1`.
pub(crate) fn v1() -> Scope {
    web::scope("/v1")
        .service(Endpoint::at("/chat/completions").on(Method::POST, chat::create))
        .service(Endpoint::at("/responses").on(Method::POST, responses::create))
        .service(Endpoint::at("/responses/{id}").on(Method::GET, responses::find).on(Method::DELETE, responses::delete))
        .service(Endpoint::at("/chat").on(Method::POST, thread::create))
        .service(Endpoint::at("/models").on(Method::GET, models::list))
        .service(Endpoint::at("/models/{id:.+}").on(Method::GET, models::find))
        .default_service(web::to(no_such_route))
}

/// Returns the API description of these routes.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
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
