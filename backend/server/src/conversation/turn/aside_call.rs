//! Writing down that a model was asked beside a turn: its tokens count, and are those of the answer that it was asked about.

use tallybook_agent::ModelCallRecord;
use tallybook_database::with_retries;
use tallybook_protocol::MessageId;

use super::super::{context::Context, store::model_calls};

/// Stores and counts the call.
pub(super) async fn record(context: &Context, answer: MessageId, call: &ModelCallRecord) -> sqlx::Result<()> {
    let store = || async {
        let mut tx = context.db.begin().await?;
        model_calls::create_model_call(&mut tx, answer, call).await?;
        tx.commit().await
    };
    with_retries(store).await?;
    context.work_counts.count_model_call(call);
    Ok(())
}
