//! Reading a conversation as it is shown: the whole branch, its newest messages, or those before one. Of what is not
//! asked for, only places and counts are read.

use std::collections::HashMap;

use tallybook_protocol::{Conversation, Earlier, Message, MessageStatus, ToolCall, Usage, Window};
use uuid::Uuid;

use super::{
    ServiceError,
    model::ConversationRow,
    repository::{calls, conversations, messages},
    service::{ConversationService, Inner},
    tree::{Place, Versions, beginning, branch},
};
use crate::accounts::UserId;

impl ConversationService {
    /// A conversation with those messages of the branch that is shown which `window` asks for, and their calls.
    pub async fn find_conversation(
        &self,
        user: UserId,
        uuid: Uuid,
        window: Window,
    ) -> Result<Option<Conversation>, ServiceError> {
        let inner = &self.inner;
        let Some(row) = conversations::find_conversation(&inner.db, user, uuid).await? else { return Ok(None) };
        let places = messages::list_places(&inner.db, row.id).await?;
        let branch = wanted_branch(&places, &row, window)?;
        let usage = inner.usage_by_message(row.id).await?;
        let (earlier, shown) = branch.split_at(beginning(&branch, window));
        let messages = inner.list_shown(&row, shown, &Versions::of(&places), &usage).await?;
        let earlier = (!earlier.is_empty()).then(|| Earlier {
            count: i64::try_from(earlier.len()).unwrap_or(i64::MAX),
            usage: earlier.iter().filter_map(|place| usage.get(&place.id).copied()).sum(),
        });
        Ok(Some(Conversation { messages, earlier, active_message_id: row.active_message_id, summary: row.summary() }))
    }
}

/// The branch that is shown, or the way to the message before which something is wanted.
fn wanted_branch(places: &[Place], row: &ConversationRow, window: Window) -> Result<Vec<Place>, ServiceError> {
    let Some(before) = window.before else { return Ok(branch(places, row.head_message_id)) };
    let mut way = branch(places, Some(before));
    way.pop().ok_or(ServiceError::NoSuchMessage)?;
    Ok(way)
}

impl Inner {
    async fn usage_by_message(&self, conversation_id: i64) -> sqlx::Result<HashMap<i64, Usage>> {
        let rows = calls::list_usage(&self.db, conversation_id).await?;
        Ok(rows.into_iter().filter_map(|row| Some((row.message_id, row.usage()?))).collect())
    }

    async fn list_shown(
        &self,
        row: &ConversationRow,
        shown: &[Place],
        versions: &Versions,
        usage: &HashMap<i64, Usage>,
    ) -> sqlx::Result<Vec<Message>> {
        let ids: Vec<i64> = shown.iter().map(|place| place.id).collect();
        let rows = messages::list_messages(&self.db, &ids).await?;
        let mut calls_of: HashMap<i64, Vec<ToolCall>> = HashMap::new();
        for call in calls::list_tool_calls(&self.db, &ids).await? {
            calls_of.entry(call.message_id).or_default().push(call.to_tool_call());
        }
        let live = row.active_message_id.and_then(|id| self.journal.find(id));
        let messages = rows.into_iter().map(|message| {
            let place = Place { id: message.id, parent_id: message.parent_id };
            let of_message = calls_of.remove(&place.id).unwrap_or_default();
            let message = message.into_message(of_message, usage.get(&place.id).copied());
            let mut message = Message { siblings: versions.siblings(place), ..message };
            // While a turn runs its row has no text yet; its journal has.
            if let (MessageStatus::Streaming, Some(log)) = (message.status, &live) {
                (message.content, message.tool_calls) = log.content_and_calls();
            }
            message
        });
        Ok(messages.collect())
    }
}
