//! Holds the logs of turns in memory, by message: of every turn that runs in this process, and of other turns while a
//! subscriber follows them. The log of another process's turn is read from the database once for all concurrent
//! followers, and dropped with the last of them.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tallybook_database::with_default_timeout;
use tallybook_protocol::MessageId;

use crate::journal::log::TurnLog;

/// The logs of turns that run in this process, and of other turns that are followed here.
#[derive(Debug, Default)]
pub struct Journal {
    /// The logs of turns that run in this process.
    live: Mutex<HashMap<MessageId, Arc<TurnLog>>>,
    /// The logs of other turns that are followed or being read. Unused slots are removed at each lookup.
    stored: Mutex<HashMap<Key, Arc<Slot>>>,
}

/// A turn (its assistant message) and an epoch.
type Key = (MessageId, i32);

/// Locked while the log is read. The reference is weak, so only subscribers keep the log alive.
type Slot = tokio::sync::Mutex<Weak<TurnLog>>;

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

    /// Returns the log of a turn that does not run in this process: the log that a subscriber already follows,
    /// otherwise the result of `read`. Concurrent callers wait for the first caller's read.
    pub async fn find_or_read(
        &self,
        message_id: MessageId,
        epoch: i32,
        read: impl Future<Output = sqlx::Result<Arc<TurnLog>>>,
    ) -> sqlx::Result<Arc<TurnLog>> {
        let slot = self.slot((message_id, epoch));
        let mut held = with_default_timeout(async { Ok(slot.lock().await) }).await?;
        if let Some(log) = held.upgrade().filter(|log| !log.is_incomplete()) {
            return Ok(log);
        }
        // `read` runs several statements, each with its own timeout. Without this overall timeout, waiting callers
        // would wait for their sum.
        let log = with_default_timeout(read).await?;
        *held = Arc::downgrade(&log);
        Ok(log)
    }

    fn slot(&self, key: Key) -> Arc<Slot> {
        let mut slots = self.stored.lock();
        // A slot that a caller uses has a second owner. Other slots stay only while a subscriber holds their log.
        slots
            .retain(|_, slot| Arc::strong_count(slot) > 1 || slot.try_lock().is_ok_and(|held| held.strong_count() > 0));
        Arc::clone(slots.entry(key).or_default())
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

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use futures_util::future::join_all;
    use tallybook_protocol::MessageId;
    use tokio::task::yield_now;

    use crate::journal::registry::{Journal, TurnLog};

    #[tokio::test]
    async fn concurrent_callers_share_one_read_and_only_they_keep_the_log() {
        let (journal, reads) = (Journal::default(), AtomicUsize::new(0));
        let key = (MessageId(7), 1);
        let read = async || {
            reads.fetch_add(1, Ordering::SeqCst);
            yield_now().await;
            Ok(Arc::new(TurnLog::copy(key.0, key.1)))
        };
        let logs = join_all((0..20).map(|_| journal.find_or_read(key.0, key.1, read()))).await;
        let first = logs[0].as_ref().unwrap();
        assert!(logs.iter().all(|log| Arc::ptr_eq(log.as_ref().unwrap(), first)));
        assert_eq!(reads.load(Ordering::SeqCst), 1);

        first.end();
        let reopened = journal.find_or_read(key.0, key.1, read()).await.unwrap();
        assert!(!Arc::ptr_eq(&reopened, first), "a broken log is not shared");
        drop((logs, reopened));
        for message in 8..20 {
            journal.find_or_read(MessageId(message), 1, read()).await.unwrap();
        }
        assert_eq!(journal.stored.lock().len(), 1, "a log without subscribers is removed");
    }

    #[tokio::test]
    async fn a_failed_read_is_retried_by_the_next_caller() {
        let journal = Journal::default();
        let key = (MessageId(7), 1);
        assert!(journal.find_or_read(key.0, key.1, async { Err(sqlx::Error::PoolTimedOut) }).await.is_err());
        assert!(journal.find_or_read(key.0, key.1, async { Ok(Arc::new(TurnLog::copy(key.0, key.1))) }).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_that_hangs_times_out_and_does_not_block_later_callers() {
        let journal = Journal::default();
        let key = (MessageId(7), 1);
        assert!(journal.find_or_read(key.0, key.1, std::future::pending()).await.is_err());
        assert!(journal.find_or_read(key.0, key.1, async { Ok(Arc::new(TurnLog::copy(key.0, key.1))) }).await.is_ok());
    }
}
