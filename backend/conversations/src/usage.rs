//! Reports model usage by purpose: for a user's current month, a conversation, or an answer. A user's remaining quotas
//! are in `admission`.

use chrono::{DateTime, Datelike as _, NaiveTime, Utc};
use tallybook_accounts::UserId;
use tallybook_database::now;
use tallybook_protocol::{MessageId, PurposeUsage, UsageByPurpose};
use uuid::Uuid;

use crate::{
    ServiceError,
    service::ConversationService,
    store::{
        messages,
        usage::{self, PurposeRow},
    },
};

impl ConversationService {
    /// Returns a user's usage since the month began.
    pub async fn list_usage_this_month(&self, user: UserId) -> Result<Vec<PurposeUsage>, ServiceError> {
        let longest_turn = self.context.agent.limits().turn_time;
        let rows = usage::list_by_purpose(&self.context.db, user, month_of(now()), longest_turn).await?;
        Ok(by_purpose(rows).items)
    }

    /// Returns a conversation's usage: all versions of its answers, and auxiliary model calls.
    pub async fn find_conversation_usage(&self, user: UserId, uuid: Uuid) -> Result<UsageByPurpose, ServiceError> {
        let row = self.context.find_conversation(user, uuid).await?;
        Ok(by_purpose(usage::list_of_conversation(&self.context.db, row.id).await?))
    }

    /// Returns an answer's usage, from its stored model calls. The sum equals the usage that the answer shows.
    pub async fn find_message_usage(
        &self,
        user: UserId,
        uuid: Uuid,
        id: MessageId,
    ) -> Result<UsageByPurpose, ServiceError> {
        let db = &self.context.db;
        let row = self.context.find_conversation(user, uuid).await?;
        let message = messages::find_message(db, row.id, id).await?.ok_or(ServiceError::NoSuchMessage)?;
        Ok(by_purpose(usage::list_of_answer(db, message.id).await?))
    }
}

fn by_purpose(rows: Vec<PurposeRow>) -> UsageByPurpose {
    UsageByPurpose { items: rows.into_iter().map(PurposeUsage::from).collect() }
}

/// Returns the first moment of the month of `time`.
fn month_of(time: DateTime<Utc>) -> DateTime<Utc> {
    time.with_day(1).unwrap_or(time).with_time(NaiveTime::MIN).single().unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use crate::usage::month_of;

    #[test]
    fn a_month_starts_on_its_first_day() {
        let month = |text: &str| month_of(text.parse().unwrap()).to_rfc3339();
        assert_eq!(month("2028-02-29T23:59:59.999Z"), "2028-02-01T00:00:00+00:00");
        assert_eq!(month("2026-12-01T00:00:00Z"), "2026-12-01T00:00:00+00:00");
    }
}
