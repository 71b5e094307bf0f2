//! The records of the turns that run in this process, by message.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use tallybook_protocol::MessageId;

use super::{live::TurnLog, lock::lock};

/// The live turns of this process.
#[derive(Debug, Default)]
pub struct Journal {
    live: Mutex<HashMap<MessageId, Arc<TurnLog>>>,
}

impl Journal {
    /// Begins the record of a turn, known by its assistant message.
    pub fn open(&self, message_id: MessageId, epoch: i32) -> Arc<TurnLog> {
        let log = Arc::new(TurnLog::new(message_id, epoch));
        lock(&self.live).insert(message_id, Arc::clone(&log));
        log
    }

    /// The record of a turn that runs in this process.
    pub fn find(&self, message_id: MessageId) -> Option<Arc<TurnLog>> {
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
