//! The API document at `GET /openapi.json` (`document`), assembled from the annotations of the handlers. Every handler
//! of `/api`, `/v1`, `/mcp` and of the server's own paths has an annotation, and is listed in `document` or in its own
//! module. A test compares this list with the routes. `finish` adds what all operations have in common. `page` renders
//! the document as HTML.

mod document;
mod examples;
mod finish;
mod i18n;
mod inline_text;
mod operation;
mod page;

use actix_web::{http::Method, web::ServiceConfig};

use super::methods::Endpoint;

/// Paths that need no authentication. They contain no user's data and are the same for all users.
pub(crate) const PUBLIC: [&str; 2] = ["/openapi.json", "/docs/api"];

/// Registers the routes.
pub(crate) fn pages(app: &mut ServiceConfig) {
    app.service(Endpoint::at("/openapi.json").on(Method::GET, document::show))
        .service(Endpoint::at("/docs/api").on(Method::GET, page::show));
}
