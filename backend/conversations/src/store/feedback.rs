//! SQL that writes `feedback`. `messages` reads it together with the answers.

use tallybook_database::{Database, is_unique_violation, now};
use tallybook_protocol::{Feedback, MessageId};

/// Stores the feedback on an answer in place of any earlier feedback.
pub(crate) async fn replace(db: &Database, answer: MessageId, feedback: &Feedback) -> sqlx::Result<()> {
    let now = now();
    let update = async || {
        db.writer()
            .query("UPDATE feedback SET rating = ?, reason = ?, updated_at = ? WHERE message_id = ?")
            .bind(feedback.rating.as_str())
            .bind(feedback.reason.as_deref())
            .bind(now)
            .bind(answer)
            .execute()
            .await
    };
    if update().await?.rows == 1 {
        return Ok(());
    }
    let inserted = db
        .writer()
        .query("INSERT INTO feedback (message_id, rating, reason, created_at, updated_at) VALUES (?, ?, ?, ?, ?)")
        .bind(answer)
        .bind(feedback.rating.as_str())
        .bind(feedback.reason.as_deref())
        .bind(now)
        .bind(now)
        .execute()
        .await;
    match inserted {
        // Another request has inserted the row since the update.
        Err(error) if is_unique_violation(&error) => update().await.map(|_| ()),
        inserted => inserted.map(|_| ()),
    }
}

/// Deletes the feedback on an answer, if there is any.
pub(crate) async fn delete(db: &Database, answer: MessageId) -> sqlx::Result<()> {
    db.writer().query("DELETE FROM feedback WHERE message_id = ?").bind(answer).execute().await.map(|_| ())
}
