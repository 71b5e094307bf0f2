//! Flushes the text and reasoning of all turns of this process together, four times a second (group commit). So the
//! cost of storing hardly grows with the number of turns. Each turn makes all other writes on its own (`writer`).

use std::{collections::HashMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tallybook_database::{Database, FailureKind, Transaction, classify};
use tallybook_protocol::MessageId;
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use crate::journal::stored;
use crate::{
    store::turns,
    turn::recorder::writer::{TurnWriter, UnstoredText},
};

/// Interval between flushes. If the process dies, about this much of the newest text and reasoning is lost.
const TEXT_FLUSH_INTERVAL: Duration = Duration::from_millis(250);

/// Maximum number of turns whose text one transaction stores. During the transaction, none of them can write anything
/// else.
const MAX_TURNS_PER_COMMIT: usize = 32;

/// Turns whose text and reasoning are flushed together.
pub(crate) struct TextFlusher {
    db: Database,
    /// Tasks that must end before the database is closed.
    tasks: TaskTracker,
    members: Mutex<Members>,
    /// Notified when a turn leaves the group.
    left: Notify,
}

#[derive(Default)]
struct Members {
    writers: HashMap<(MessageId, i32), Arc<TurnWriter>>,
    /// `true` while the flush task runs. It ends when the last turn has left.
    has_task: bool,
}

/// Membership of a turn in the group. Its text and reasoning are flushed until this is dropped.
pub(crate) struct Membership {
    group: Arc<TextFlusher>,
    key: (MessageId, i32),
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.group.members.lock().writers.remove(&self.key);
        self.group.left.notify_one();
    }
}

impl TextFlusher {
    pub(crate) fn new(db: Database, tasks: TaskTracker) -> Arc<Self> {
        Arc::new(Self { db, tasks, members: Mutex::default(), left: Notify::new() })
    }

    /// Adds a turn to the group, and spawns the flush task if it is not running.
    pub(crate) fn join(self: &Arc<Self>, writer: &Arc<TurnWriter>) -> Membership {
        let key = writer.turn();
        let mut members = self.members.lock();
        members.writers.insert(key, Arc::clone(writer));
        if !std::mem::replace(&mut members.has_task, true) {
            self.tasks.spawn(flush(Arc::clone(self)));
        }
        Membership { group: Arc::clone(self), key }
    }
}

async fn flush(group: Arc<TextFlusher>) {
    loop {
        let pause = tokio::time::sleep(TEXT_FLUSH_INTERVAL);
        tokio::pin!(pause);
        loop {
            {
                let mut members = group.members.lock();
                if members.writers.is_empty() {
                    members.has_task = false;
                    return;
                }
            }
            tokio::select! {
                () = &mut pause => break,
                () = group.left.notified() => {}
            }
        }
        let writers: Vec<_> = group.members.lock().writers.values().map(Arc::clone).collect();
        for writers in writers.chunks(MAX_TURNS_PER_COMMIT) {
            // A panic must not end the task, because then no text would be flushed any more.
            if AssertUnwindSafe(store_text_of(&group.db, writers)).catch_unwind().await.is_err() {
                tracing::error!("storing text panicked; retrying with the next flush");
            }
        }
    }
}

async fn store_text_of(db: &Database, writers: &[Arc<TurnWriter>]) {
    let (mut together, mut alone) = (Vec::new(), Vec::new());
    for writer in writers.iter().filter(|writer| writer.has_unstored()) {
        match writer.unstored_text() {
            Some(turn_text) => together.push(turn_text),
            None => alone.push(writer),
        }
    }
    if let Err(error) = store_together(db, together).await {
        warn(&error);
        if classify(&error) == FailureKind::Permanent {
            // The failure may concern only one of the turns. Storing each turn separately keeps it from affecting the
            // others.
            alone = writers.iter().collect();
        }
    }
    for writer in alone.into_iter().filter(|writer| writer.has_unstored()) {
        if let Err(error) = writer.store().await {
            warn(&error);
        }
    }
}

/// Logs a failed flush. The text stays in memory; if the failure persists, a write that must succeed reports it.
fn warn(error: &sqlx::Error) {
    tracing::warn!(%error, "text could not be stored yet");
}

async fn store_together(db: &Database, all: Vec<UnstoredText<'_>>) -> sqlx::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    let mut tx = db.begin().await?;
    let mut written = all;
    let turns: Vec<_> = written.iter().map(UnstoredText::turn).collect();
    if !turns::lock_turns(&mut tx, &turns).await? {
        // At least one of the turns was ended elsewhere. That turn's own task detects it.
        written = still_ours(&mut tx, written).await?;
    }
    let mut events = Vec::new();
    for turn_text in &written {
        events.append(&mut turn_text.events()?);
    }
    stored::create_events(&mut tx, &events).await?;
    written.iter_mut().for_each(UnstoredText::begin_commit);
    tx.commit().await?;
    written.iter_mut().for_each(UnstoredText::end_commit);
    Ok(())
}

/// Returns the entries whose turns still belong to this process.
async fn still_ours<'a>(tx: &mut Transaction, all: Vec<UnstoredText<'a>>) -> sqlx::Result<Vec<UnstoredText<'a>>> {
    let mut ours = Vec::new();
    for turn_text in all {
        if turns::lock_turns(tx, &[turn_text.turn()]).await? {
            ours.push(turn_text);
        }
    }
    Ok(ours)
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
        time::Duration,
    };

    use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
    use tallybook_database::select;
    use tallybook_protocol::{ChatEvent, ContentDelta};
    use tokio::time::{sleep, timeout};

    use crate::turn::{
        recorder::text_flusher::{Database, TextFlusher, TurnWriter},
        testing::Fixture,
    };

    #[tokio::test]
    async fn text_is_stored_after_a_panic() {
        let fixture = Fixture::set_up().await;
        let context = &fixture.service.context;
        let (tx, rows) = fixture.begin_turn().await;
        tx.commit().await.unwrap();
        let panics = Arc::new(AtomicBool::new(true));
        let panicking = Arc::clone(&panics);
        let pool = SqlitePoolOptions::new().max_connections(1).after_connect(move |_, _| {
            assert!(!panicking.swap(false, Ordering::SeqCst), "as a test asked for");
            Box::pin(async { Ok(()) })
        });
        let pool = pool.connect_lazy_with(SqliteConnectOptions::new().filename(fixture.file()));
        let group = TextFlusher::new(Database::of_sqlite(pool.clone(), pool), context.tasks.clone());
        let log = context.journal.open(rows.assistant_message_id, rows.epoch);
        let writer = Arc::new(TurnWriter::new(context.db.clone(), Arc::clone(&log), rows));
        let _membership = group.join(&writer);
        log.append(ChatEvent::ContentDelta(ContentDelta { offset: 0, delta: "Kept.".to_owned() }));
        let stored = async {
            let count = select!("SELECT COUNT(*) FROM journal_events WHERE event = 'content_delta'");
            while context.db.reader().query(count).fetch_value::<i64>().await.unwrap() == 0 {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(20), stored).await.unwrap();
        assert!(!panics.load(Ordering::SeqCst));
    }
}
