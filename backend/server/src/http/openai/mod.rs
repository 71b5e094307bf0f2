//! The agent as a model for clients of OpenAI's APIs. Turns are the same as in the web UI.
//!
//! For chat completions, `request` defines the request body, and `parse`, `conversation` and `tools` parse it.
//! `attachments` stores its images and files. `run` starts the answer, and streams or collects it. `follow` reads the
//! answer from a turn or a direct model call, and `chunk` writes it. `error` has the errors. `responses` is the
//! Responses API, and `thread` has simpler APIs.

mod attachments;
mod chunk;
mod conversation;
pub(crate) mod error;
mod follow;
mod models;
pub(crate) mod parse;
pub(crate) mod request;
mod responses;
pub(crate) mod run;
pub(crate) mod thread;
mod tools;

use actix_web::{HttpRequest, HttpResponse, Scope, http::Method, web};
use utoipa::OpenApi;

use super::{error::ApiError, methods::Endpoint};

/// Returns the routes under `/v1`.
pub(crate) fn v1() -> Scope {
    web::scope("/v1")
        .service(Endpoint::at("/chat/completions").on(Method::POST, run::create))
        .service(Endpoint::at("/responses").on(Method::POST, responses::create))
        .service(Endpoint::at("/responses/{id}").on(Method::GET, responses::find).on(Method::DELETE, responses::delete))
        .service(Endpoint::at("/chat").on(Method::POST, thread::create_v1))
        .service(Endpoint::at("/models").on(Method::GET, models::list))
        .service(Endpoint::at("/models/{id:.+}").on(Method::GET, models::find))
        .default_service(web::to(no_such_route))
}

/// Returns the API description of these routes.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(run::create, models::list, models::find), components(schemas(error::ErrorBody)))]
    struct Documented;
    let mut all = Documented::openapi();
    all.merge(responses::document());
    all.merge(thread::document());
    all
}

async fn no_such_route(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    Err(ApiError::NoSuchRoute(format!("{} {}", request.method(), request.path())))
}
