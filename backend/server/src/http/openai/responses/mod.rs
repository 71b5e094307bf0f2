//! `POST /v1/responses` (<https://platform.openai.com/docs/api-reference/responses>), for clients that speak no other API.
//! `wire`, `items` and `ask` parse the request. `create`, `body` and `events` write the answer. `stored` has the answer by its
//! id. The turn, its tools and its end are those of chat completions.

mod ask;
mod body;
mod create;
mod events;
mod items;
mod stored;
mod wire;

use utoipa::OpenApi;

pub(crate) use create::create;
pub(crate) use stored::{delete, find};

/// Returns the API description of these routes.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(create::create, stored::find, stored::delete), components(schemas(wire::InputItem)))]
    struct Documented;
    Documented::openapi()
}
