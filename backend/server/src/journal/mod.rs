//! The numbered record of all that a turn sends out: the live tail in memory (`live`), which feeds every reader
//! (`subscription`), the stored copy (`stored`), and what is made of that for readers (`shared`). It knows neither agents nor
//! HTTP: what an event looks like on the wire, its readers decide.

mod buffer;
mod entry;
mod event_id;
mod item;
mod limits;
mod live;
mod lock;
mod progress;
mod registry;
mod shared;
pub(crate) mod stored;
mod subscription;
mod words;

pub use buffer::Stored;
pub use entry::{LogEntry, WireFormat};
pub use event_id::EventId;
pub use live::TurnLog;
pub(crate) use lock::lock;
pub use registry::Journal;
pub use subscription::TurnSubscription;
pub use words::Words;
