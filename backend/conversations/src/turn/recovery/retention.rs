//! Purges old journals of turns, client-supplied inputs, and stored responses, after the retention period that the
//! operator set.

use std::{sync::Arc, time::Duration};

use crate::journal::stored;
use crate::{
    context::Context,
    store::{programs, responses, turns},
};

/// Interval between checks for old records.
const PURGE_EVERY: Duration = Duration::from_hours(1);

/// Pause before the next batch, so that the requests of users come in between.
const PURGE_PAUSE: Duration = Duration::from_millis(500);

/// Maximum number of turns whose records of one kind are purged at a time.
const MAX_PURGED_AT_ONCE: u32 = 50;

/// Purges records that are older than the retention period, until the server drains. Returns at once if they are kept
/// forever.
pub(crate) async fn purge_journals(context: Arc<Context>) {
    let Some(kept_for) = context.lifetimes.journal else { return };
    loop {
        let pause = if purge(&context, kept_for).await { PURGE_PAUSE } else { PURGE_EVERY };
        if context.draining.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
            return;
        }
    }
}

/// Purges one batch of each kind. A kind that fails does not keep the others from being purged. Returns `true` if there
/// may be more.
async fn purge(context: &Context, kept_for: Duration) -> bool {
    let db = &context.db;
    let time = match turns::database_now(db).await {
        Ok(now) => now - kept_for,
        Err(error) => {
            tracing::warn!(%error, "old journals could not be purged");
            return false;
        }
    };
    let mut has_more = false;
    for (kind, purged) in [
        ("turn_inputs", programs::delete_turn_inputs_before(db, time, MAX_PURGED_AT_ONCE).await),
        ("responses", responses::delete_before(db, time, MAX_PURGED_AT_ONCE).await),
        ("journal_events", stored::delete_events_before(db, time, MAX_PURGED_AT_ONCE).await),
    ] {
        match purged {
            Ok(count) => has_more |= count >= MAX_PURGED_AT_ONCE as usize,
            Err(error) => tracing::warn!(%error, kind, "old records of turns could not be purged"),
        }
    }
    has_more
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tallybook_database::select;

    use crate::turn::{
        recovery::retention::{MAX_PURGED_AT_ONCE, purge},
        testing::Fixture,
    };

    #[tokio::test]
    async fn one_kind_that_cannot_be_purged_keeps_none_of_the_others_and_each_goes_in_portions() {
        let fixture = Fixture::set_up().await;
        let context = &fixture.service.context;
        let (tx, _) = fixture.begin_turn().await;
        tx.commit().await.unwrap();
        for sql in [
            "UPDATE messages SET status = 'complete', completed_at = '2020-01-01T00:00:00+00:00' WHERE role = 'assistant'",
            "INSERT INTO turn_inputs (message_id, input) SELECT id, '{}' FROM messages WHERE role = 'assistant'",
            "CREATE TRIGGER refuse BEFORE DELETE ON turn_inputs BEGIN SELECT RAISE(ABORT, 'refused'); END",
            "INSERT INTO journal_events (message_id, epoch, seq, event, data, created_at) \
             SELECT id, 1, 0, 'x', '{}', '2020-01-01T00:00:00+00:00' FROM messages WHERE role = 'assistant'",
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) \
             INSERT INTO messages (conversation_id, role, content, status, created_at) \
             SELECT c.id, 'assistant', 'old', 'complete', '2020-01-01T00:00:00+00:00' FROM n, conversations c",
            "INSERT INTO responses (message_id, key_id, input, created_at) \
             SELECT id, 0, '[]', '2020-01-01T00:00:00+00:00' FROM messages WHERE content = 'old'",
        ] {
            fixture.execute(sql).await;
        }
        let count = async |sql| context.db.reader().query(sql).fetch_value::<i64>().await.unwrap();
        assert!(purge(context, Duration::ZERO).await, "there are more responses");
        assert_eq!(count(select!("SELECT COUNT(*) FROM journal_events")).await, 0);
        assert_eq!(count(select!("SELECT COUNT(*) FROM responses")).await, 60 - i64::from(MAX_PURGED_AT_ONCE));
        assert!(!purge(context, Duration::ZERO).await);
        assert_eq!(count(select!("SELECT COUNT(*) FROM responses")).await, 0);
        assert_eq!(count(select!("SELECT COUNT(*) FROM turn_inputs")).await, 1);
    }
}
