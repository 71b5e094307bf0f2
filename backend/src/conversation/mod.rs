//! Conversations: the use cases (`service`), the turns that run in them (`turn`, `recorder`), what a model is told of
//! earlier turns (`history`), and what is stored (`model`, `repository`). Knows no HTTP.

mod error;
mod follow;
mod export;
mod history;
mod housekeeping;
mod input;
mod model;
mod recorder;
mod repository;
mod service;
mod tree;
mod turn;

pub use error::ServiceError;
pub use service::{ConversationService, EventsAnswer};
pub use export::{Export, ExportFormat};
