//! HTTP handlers for the admin pages under `/admin`, which the server renders and which work without scripts: the tool
//! history, its statistics, the settings of the server (`settings`), groups and budgets. Also the access log
//! (`access_log`). `i18n` has the text of the pages, `refusals` that of refused changes, and `format` formats numbers
//! and times. `layout` has the frame of every page, and serves the optional script.

mod access_log;
mod budgets;
mod call;
mod conversation;
mod export;
mod figures;
mod form_values;
mod format;
mod groups;
mod i18n;
mod layout;
mod list;
mod playback;
mod refusals;
mod rerun;
mod settings;
mod timeline;
mod untrusted_text;

use actix_web::{http::Method, web::ServiceConfig};
use utoipa::OpenApi;

use super::methods::Endpoint;

/// Registers the routes under `/api`.
pub(crate) fn api(app: &mut ServiceConfig) {
    app.service(Endpoint::at("/looks").on(Method::GET, access_log::list))
        .service(Endpoint::at("/looks/seen").on(Method::PUT, access_log::acknowledge));
}

/// Returns the API description of these routes.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(access_log::list, access_log::acknowledge))]
    struct Documented;
    Documented::openapi()
}

/// Registers the pages.
pub(crate) fn pages(app: &mut ServiceConfig) {
    app.service(Endpoint::at("/admin").on(Method::GET, list::show).on(Method::POST, list::give_reason))
        .service(Endpoint::at("/admin/tool-history.js").on(Method::GET, layout::show))
        .service(Endpoint::at("/admin/figures").on(Method::GET, figures::show))
        .service(
            Endpoint::at("/admin/settings")
                .on(Method::GET, settings::show)
                .on(Method::POST, settings::change)
                .with_forms(settings::forms()),
        )
        .service(Endpoint::at("/admin/settings/{change_id}/restore").on(Method::POST, settings::restore))
        .service(Endpoint::at("/admin/groups").on(Method::GET, groups::list).on(Method::POST, groups::create))
        .service(
            Endpoint::at("/admin/groups/{group_id}")
                .on(Method::GET, groups::show)
                .on(Method::POST, groups::change)
                .with_forms(groups::forms()),
        )
        .service(Endpoint::at("/admin/groups/{group_id}/delete").on(Method::POST, groups::delete))
        .service(
            Endpoint::at("/admin/budgets")
                .on(Method::GET, budgets::show)
                .on(Method::POST, budgets::change)
                .with_forms(budgets::forms()),
        )
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
