//! Conversations: the use cases (`service`), the turns that run in them (`turn`, `recorder`), what a model is told of
//! earlier turns (`history`), and what is stored (`model`, `repository`). Knows no HTTP.

mod error;
mod feed;
mod follow;
mod history;
mod housekeeping;
mod input;
mod model;
mod recorder;
mod repository;
mod resume;
mod service;
mod turn;

pub use error::ServiceError;
pub use service::{ConversationService, EventsAnswer, Lifetimes};
