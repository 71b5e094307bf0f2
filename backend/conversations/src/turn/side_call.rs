//! Records auxiliary model calls that are made outside a turn's run. Their tokens count toward the user's limits, and
//! each call is attributed to the answer that it is about.

use tallybook_agent::ModelCallRecord;
use tallybook_database::with_retries;
use tallybook_protocol::MessageId;

use crate::{context::Context, store::model_calls};

/// Stores the call with its answer, and adds it to the counters of this process.
pub(crate) async fn record(context: &Context, answer: MessageId, call: &ModelCallRecord) -> sqlx::Result<()> {
    let store = || async {
        let mut tx = context.db.begin().await?;
        model_calls::create_model_call(&mut tx, answer, call).await?;
        tx.commit().await
    };
    with_retries(store).await?;
    context.work_counts.count_model_call(call);
    Ok(())
}
