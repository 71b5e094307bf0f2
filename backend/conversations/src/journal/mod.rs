//! The numbered record of everything a turn sends.
//!
//! `log` is the record of one turn in memory, `registry` has the logs of this process, and `subscription` is one
//! subscriber's position in a log. `stored` is the copy in the database. The journal depends on neither the agent nor
//! HTTP: subscribers choose the wire format.

pub(crate) mod answer;
mod entry;
mod log;
mod registry;
pub mod stored;
mod subscription;

pub use answer::PartialAnswer;
pub use entry::{EventId, LogEntry, WireFormat};
pub use log::TurnLog;
pub use registry::Journal;
pub use stored::Stored;
pub use subscription::TurnSubscription;
