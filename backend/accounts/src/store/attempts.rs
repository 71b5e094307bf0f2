//! SQL on `sign_in_attempts`.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, Transaction, now};

use super::super::throttle::Subject;

/// The outcome of counting an attempt.
pub(crate) enum CountOutcome {
    Counted(CountedAttempt),
    /// Nothing was counted, because attempts are blocked.
    Blocked {
        until: DateTime<Utc>,
    },
}

/// An attempt that was counted as a failure.
pub(crate) struct CountedAttempt {
    /// End of the block that this attempt began, if it began one.
    blocked_until: Option<DateTime<Utc>>,
}

/// Counts an attempt as a failure, before its outcome is known.
pub(crate) async fn count(
    tx: &mut Transaction,
    subject: &Subject,
    forgotten_before: DateTime<Utc>,
) -> sqlx::Result<CountOutcome> {
    let (time, hash) = (now(), &subject.hash.0);
    // Resets failures that are too old. Also locks the row, so that concurrent attempts are counted one after the
    // other.
    let reset = tx
        .query(
            "UPDATE sign_in_attempts SET failures = CASE WHEN updated_at < ? THEN 0 ELSE failures END \
             WHERE subject = ?",
        )
        .bind(forgotten_before)
        .bind(hash)
        .execute()
        .await?;
    if reset.rows != 1 {
        let blocked_until = subject.blocked_until(1, time);
        tx.query("INSERT INTO sign_in_attempts (subject, failures, blocked_until, updated_at) VALUES (?, 1, ?, ?)")
            .bind(hash)
            .bind(blocked_until)
            .bind(time)
            .execute()
            .await?;
        return Ok(CountOutcome::Counted(CountedAttempt { blocked_until }));
    }
    let (failures, blocked_until): (i32, Option<DateTime<Utc>>) = tx
        .query("SELECT failures, blocked_until FROM sign_in_attempts WHERE subject = ?")
        .bind(hash)
        .fetch_one()
        .await?;
    if let Some(until) = blocked_until.filter(|until| *until > time) {
        return Ok(CountOutcome::Blocked { until });
    }
    let failures = failures.saturating_add(1);
    let blocked_until = subject.blocked_until(failures, time);
    tx.query("UPDATE sign_in_attempts SET failures = ?, blocked_until = ?, updated_at = ? WHERE subject = ?")
        .bind(failures)
        .bind(blocked_until)
        .bind(time)
        .bind(hash)
        .execute()
        .await?;
    Ok(CountOutcome::Counted(CountedAttempt { blocked_until }))
}

/// Subtracts an attempt that turned out not to be a failure, and ends the block that it began. A block that other
/// attempts began meanwhile stays.
pub(crate) async fn forgive(db: &Database, subject: &Subject, attempt: &CountedAttempt) -> sqlx::Result<()> {
    db.writer()
        .query(
            "UPDATE sign_in_attempts SET failures = failures - 1, \
             blocked_until = CASE WHEN blocked_until = ? THEN NULL ELSE blocked_until END \
             WHERE subject = ? AND failures > 0",
        )
        .bind(attempt.blocked_until)
        .bind(&subject.hash.0)
        .execute()
        .await
        .map(|_| ())
}

/// Deletes the counter of a subject.
pub(crate) async fn forget(db: &Database, subject: &Subject) -> sqlx::Result<()> {
    db.writer()
        .query("DELETE FROM sign_in_attempts WHERE subject = ?")
        .bind(&subject.hash.0)
        .execute()
        .await
        .map(|_| ())
}

/// Deletes counters whose last attempt was before `before`, and the oldest ones beyond `most` rows.
pub(crate) async fn forget_old(db: &Database, before: DateTime<Utc>, most: i64) -> sqlx::Result<()> {
    db.writer().query("DELETE FROM sign_in_attempts WHERE updated_at < ?").bind(before).execute().await?;
    // MySQL cannot delete from a table that a subquery reads. The LIMIT makes it compute the inner query first.
    db.writer()
        .query(
            "DELETE FROM sign_in_attempts WHERE updated_at < (SELECT updated_at FROM \
             (SELECT updated_at FROM sign_in_attempts ORDER BY updated_at DESC LIMIT 1 OFFSET ?) oldest)",
        )
        .bind(most)
        .execute()
        .await
        .map(|_| ())
}
