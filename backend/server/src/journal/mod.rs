//! The numbered record of all that a turn sends out: the live tail in memory (`live`), which feeds every reader
//! (`subscription`), and the stored copy (`stored`). It knows neither agents nor HTTP: what an event looks like on the wire, its readers decide.

mod buffer;
mod entry;
mod event_id;
mod limits;
mod live;
mod lock;
mod progress;
mod registry;
pub(crate) mod stored;
mod subscription;

pub use buffer::TextPiece;
pub use entry::{LogEntry, WireFormat};
pub use event_id::EventId;
pub use live::TurnLog;
pub(crate) use lock::lock;
pub use registry::Journal;
pub use subscription::TurnSubscription;
