//! The book over HTTP: the pages under `/admin`, which the server draws and which need no scripts, and who has looked at whose.
//! What they say is in `words`, how figures are written in `format`, what is around every page in `frame`, and what they gain
//! from scripts in `script`.

mod call;
mod conversation;
mod export;
mod figures;
mod format;
mod frame;
mod list;
mod looks;
mod playback;
mod rerun;
mod script;
mod timeline;
mod visible;
mod words;

use actix_web::{http::Method, web::ServiceConfig};

use utoipa::OpenApi;

use super::methods::Endpoint;

/// What stands under `/api`.
pub(super) fn api(app: &mut ServiceConfig) {
    app.service(Endpoint::at("/looks").on(Method::GET, looks::list))
        .service(Endpoint::at("/looks/seen").on(Method::PUT, looks::acknowledge));
}

/// What the document of the API says of them.
pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(looks::list, looks::acknowledge))]
    struct Documented;
    Documented::openapi()
}

/// The pages.
pub(super) fn pages(app: &mut ServiceConfig) {
    app.service(Endpoint::at("/admin").on(Method::GET, list::show).on(Method::POST, list::give_reason))
        .service(Endpoint::at("/admin/book.js").on(Method::GET, script::show))
        .service(Endpoint::at("/admin/figures").on(Method::GET, figures::show))
        .service(Endpoint::at("/admin/export").on(Method::GET, export::download).on(Method::POST, export::give_reason))
        .service(
            Endpoint::at("/admin/calls/{tool_call_id}").on(Method::GET, call::show).on(Method::POST, call::give_reason),
        )
        .service(
            Endpoint::at("/admin/calls/{tool_call_id}/playback")
                .on(Method::GET, playback::show)
                .on(Method::POST, call::give_reason),
        )
        .service(
            Endpoint::at("/admin/calls/{tool_call_id}/reruns")
                .on(Method::POST, rerun::begin)
                .with_forms(rerun::forms()),
        )
        .service(
            Endpoint::at("/admin/conversations/{uuid}")
                .on(Method::GET, conversation::show)
                .on(Method::POST, conversation::give_reason),
        );
}
