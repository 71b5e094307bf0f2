//! Group commit: the words of all turns that this process runs are stored together, four times a second, so that what storing
//! costs hardly grows with their number. Whatever else a turn writes it writes alone (`writer`).

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex},
    time::Duration,
};
use tallybook_database::{Database, FailureKind, Transaction, classify};

use futures_util::FutureExt as _;
use tallybook_protocol::MessageId;
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use super::{
    super::store::turns,
    writer::{TurnWriter, UnstoredWords},
};
use crate::journal::{lock, stored};

/// How often words are stored: so much of them, in time, may be lost when the process dies.
const WORDS_STORED_EVERY: Duration = Duration::from_millis(250);

/// How many turns one transaction stores words of. Meanwhile none of them can write anything else.
const MAX_TURNS_PER_COMMIT: usize = 32;

/// The turns whose words are stored together.
pub(in super::super) struct GroupCommit {
    db: Database,
    /// What must have ended before the database is closed.
    tasks: TaskTracker,
    members: Mutex<Members>,
    /// Somebody left.
    left: Notify,
}

#[derive(Default)]
struct Members {
    writers: HashMap<(MessageId, i32), Arc<TurnWriter>>,
    /// Whether there is a task that stores their words. It ends with the last of them.
    has_task: bool,
}

/// Has the words of a turn stored until it is dropped.
pub(super) struct Membership {
    group: Arc<GroupCommit>,
    key: (MessageId, i32),
}

impl Drop for Membership {
    fn drop(&mut self) {
        lock(&self.group.members).writers.remove(&self.key);
        self.group.left.notify_one();
    }
}

impl GroupCommit {
    pub(in super::super) fn new(db: Database, tasks: TaskTracker) -> Arc<Self> {
        Arc::new(Self { db, tasks, members: Mutex::default(), left: Notify::new() })
    }

    /// Has the words of a turn stored from now on.
    pub(super) fn join(self: &Arc<Self>, writer: &Arc<TurnWriter>) -> Membership {
        let key = writer.turn();
        let mut members = lock(&self.members);
        members.writers.insert(key, Arc::clone(writer));
        if !std::mem::replace(&mut members.has_task, true) {
            self.tasks.spawn(store_words(Arc::clone(self)));
        }
        Membership { group: Arc::clone(self), key }
    }
}

async fn store_words(group: Arc<GroupCommit>) {
    loop {
        let pause = tokio::time::sleep(WORDS_STORED_EVERY);
        tokio::pin!(pause);
        loop {
            {
                let mut members = lock(&group.members);
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
        let writers: Vec<_> = lock(&group.members).writers.values().map(Arc::clone).collect();
        for writers in writers.chunks(MAX_TURNS_PER_COMMIT) {
            // A panic must not end the task, without which no words are stored any more.
            if AssertUnwindSafe(store_words_of(&group.db, writers)).catch_unwind().await.is_err() {
                tracing::error!("storing words panicked; they are stored with the next ones");
            }
        }
    }
}

async fn store_words_of(db: &Database, writers: &[Arc<TurnWriter>]) {
    let (mut together, mut alone) = (Vec::new(), Vec::new());
    for writer in writers.iter().filter(|writer| writer.has_unstored()) {
        match writer.unstored_words() {
            Some(words) => together.push(words),
            None => alone.push(writer),
        }
    }
    if let Err(error) = store_together(db, together).await {
        warn(&error);
        if classify(&error) == FailureKind::Permanent {
            // It may be about one of them, which the others need not suffer from.
            alone = writers.iter().collect();
        }
    }
    for writer in alone.into_iter().filter(|writer| writer.has_unstored()) {
        if let Err(error) = writer.store().await {
            warn(&error);
        }
    }
}

/// The words stay in memory; a write that must not fail will say so.
fn warn(error: &sqlx::Error) {
    tracing::warn!(%error, "words could not be stored yet");
}

async fn store_together(db: &Database, all: Vec<UnstoredWords<'_>>) -> sqlx::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    let mut tx = db.begin().await?;
    let mut written = all;
    let turns: Vec<_> = written.iter().map(UnstoredWords::turn).collect();
    if !turns::lock_turns(&mut tx, &turns).await? {
        // Somebody else has ended one of them, which finds that out by itself.
        written = still_ours(&mut tx, written).await?;
    }
    let mut events = Vec::new();
    for words in &written {
        events.append(&mut words.events()?);
    }
    stored::create_events(&mut tx, &events).await?;
    written.iter_mut().for_each(UnstoredWords::begin_commit);
    tx.commit().await?;
    written.iter_mut().for_each(UnstoredWords::end_commit);
    Ok(())
}

/// Those whose turns are still this process's own.
async fn still_ours<'a>(tx: &mut Transaction, all: Vec<UnstoredWords<'a>>) -> sqlx::Result<Vec<UnstoredWords<'a>>> {
    let mut ours = Vec::new();
    for words in all {
        if turns::lock_turns(tx, &[words.turn()]).await? {
            ours.push(words);
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

    use super::{super::testing::Fixture, Database, GroupCommit, TurnWriter};

    #[tokio::test]
    async fn words_are_stored_after_a_panic() {
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
        let group = GroupCommit::new(Database::of_sqlite(pool.clone(), pool), context.tasks.clone());
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
