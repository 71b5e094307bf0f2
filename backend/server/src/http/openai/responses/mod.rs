//! `POST /v1/responses` (<https://platform.openai.com/docs/api-reference/responses>), for programs that speak nothing else:
//! what is asked (`wire`, `items`, `ask`), how it is answered (`create`, `body`, `events`), and an answer by its id (`stored`).
//! The turn, its tools and its end are those of chat completions.

mod ask;
mod body;
mod create;
mod events;
mod items;
mod stored;
mod wire;

use utoipa::OpenApi;

pub(super) use create::create;
pub(super) use stored::{delete, find};

/// What the document of the API says of them.
pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(create::create, stored::find, stored::delete), components(schemas(wire::InputItem)))]
    struct Documented;
    Documented::openapi()
}
