//! The records of turns: of those that run in this process, by message, and of others for as long as somebody follows them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use tallybook_protocol::MessageId;

use super::{live::TurnLog, lock::lock, shared::SharedLogs};

/// The turns of this process, and those that are followed here.
#[derive(Debug, Default)]
pub struct Journal {
    live: Mutex<HashMap<MessageId, Arc<TurnLog>>>,
    shared: SharedLogs,
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

    /// The record of a turn that does not run in this process, as `read` makes it of what is stored. All who follow it at the
    /// same time get the same.
    pub(crate) async fn find_or_read(
        &self,
        message_id: MessageId,
        epoch: i32,
        read: impl Future<Output = sqlx::Result<Arc<TurnLog>>>,
    ) -> sqlx::Result<Arc<TurnLog>> {
        self.shared.find_or_read((message_id, epoch), read).await
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
