//! The registry of turn logs: turns that run in this process, by message, and other turns while a subscriber follows them.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use tallybook_protocol::MessageId;

use crate::journal::{live::TurnLog, shared::SharedLogs};

/// The logs of turns that run in this process, and of other turns that are followed here.
#[derive(Debug, Default)]
pub struct Journal {
    live: Mutex<HashMap<MessageId, Arc<TurnLog>>>,
    shared: SharedLogs,
}

impl Journal {
    /// Creates and registers the log of a turn, which is identified by its assistant message.
    pub fn open(&self, message_id: MessageId, epoch: i32) -> Arc<TurnLog> {
        let log = Arc::new(TurnLog::new(message_id, epoch));
        self.live.lock().insert(message_id, Arc::clone(&log));
        log
    }

    /// Returns the log of a turn, or `None` if the turn does not run in this process.
    pub fn find(&self, message_id: MessageId) -> Option<Arc<TurnLog>> {
        self.live.lock().get(&message_id).cloned()
    }

    /// Returns the log of a turn that does not run in this process. `read` builds it from what is stored; concurrent
    /// followers share one log.
    pub async fn find_or_read(
        &self,
        message_id: MessageId,
        epoch: i32,
        read: impl Future<Output = sqlx::Result<Arc<TurnLog>>>,
    ) -> sqlx::Result<Arc<TurnLog>> {
        self.shared.find_or_read((message_id, epoch), read).await
    }

    /// Removes a turn's log and ends its subscribers' streams once they have read what is there. If the turn was
    /// resumed meanwhile under a new log, the new log stays.
    pub fn close(&self, log: &Arc<TurnLog>) {
        let mut live = self.live.lock();
        if live.get(&log.message_id()).is_some_and(|held| Arc::ptr_eq(held, log)) {
            live.remove(&log.message_id());
        }
        drop(live);
        log.end();
    }
}
