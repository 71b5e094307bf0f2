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

pub(super) use create::create;
pub(super) use stored::{delete, find};
