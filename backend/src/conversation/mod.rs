//! Conversations: the use cases (`service`), the turns that run in them (`begin`, `turn`, `recorder`, `resume`), what a
//! model is told of earlier turns (`history`), which branch is shown (`branches`) and how much of it (`window`), a
//! conversation as a file (`export`), its title (`title`), and what is stored (`model`, `tree`, `repository`). Knows no
//! HTTP.

mod begin;
mod branches;
mod error;
mod export;
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
mod title;
mod tree;
mod turn;
mod window;

pub use error::ServiceError;
pub use export::{Export, ExportFormat};
pub use service::{ConversationService, EventsAnswer, Lifetimes};
