//! The numbered record of all that a turn sends out: the live tail in memory, which feeds every reader, and the stored
//! copy (`stored`). It knows neither agents nor HTTP.

mod event_id;
mod live;
pub(crate) mod stored;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

pub use event_id::EventId;
pub use live::{TurnLog, TurnSubscription};

/// The live turns of this process.
#[derive(Debug, Default)]
pub struct Journal {
    live: Mutex<HashMap<i64, Arc<TurnLog>>>,
}

impl Journal {
    /// Begins the record of a turn, known by its assistant message.
    pub fn open(&self, message_id: i64, epoch: i32) -> Arc<TurnLog> {
        let log = Arc::new(TurnLog::new(message_id, epoch));
        lock(&self.live).insert(message_id, Arc::clone(&log));
        log
    }

    /// The record of a turn that runs in this process.
    pub fn find(&self, message_id: i64) -> Option<Arc<TurnLog>> {
        lock(&self.live).get(&message_id).cloned()
    }

    /// Forgets a turn and ends its readers' streams once they have read what is there. The same message may go on under
    /// another record by then, which stays.
    pub fn close(&self, log: &Arc<TurnLog>) {
        let mut live = lock(&self.live);
        if live.get(&log.message_id()).is_some_and(|held| Arc::ptr_eq(held, log)) {
            live.remove(&log.message_id());
        }
        drop(live);
        log.end();
    }
}

/// Locks, also after a panic elsewhere: what these locks guard is whole after every statement.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
