//! The numbered record of everything a turn sends. The live log in memory (`live`) feeds every subscriber (`subscription`);
//! `stored` is the copy in the database, and `shared` makes logs from stored copies. The journal depends on neither the agent
//! nor HTTP: subscribers choose the wire format.

mod buffer;
mod entry;
mod event_id;
mod item;
mod limits;
mod live;
mod progress;
mod registry;
mod shared;
pub mod stored;
mod subscription;
mod words;

pub use buffer::Stored;
pub use entry::{LogEntry, WireFormat};
pub use event_id::EventId;
pub use live::TurnLog;
pub use registry::Journal;
pub use subscription::TurnSubscription;
pub use words::Words;
