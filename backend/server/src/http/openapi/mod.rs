//! `GET /openapi.json`: the API described (`document`), put together from what stands beside the handlers. Every handler of `/api`,
//! `/v1`, `/mcp` and of the server's own addresses is annotated and named there or in its folder; a test compares that with the
//! table of routes. What all operations have in common is added by `finish`. The page that shows it is `page`.

mod document;
mod examples;
mod finish;
mod line;
mod operation;
mod page;
mod words;

use actix_web::{http::Method, web::ServiceConfig};

use super::methods::Endpoint;

/// The addresses, where strangers are let in: they say nothing of anybody, and the same to everybody.
pub(super) const PUBLIC: [&str; 2] = ["/openapi.json", "/docs/api"];

/// What is answered.
pub(super) fn pages(app: &mut ServiceConfig) {
    app.service(Endpoint::at("/openapi.json").on(Method::GET, document::show))
        .service(Endpoint::at("/docs/api").on(Method::GET, page::show));
}
