//! Reading a conversation as it is shown: the whole branch, its newest messages, or those before one. Of what is not
//! asked for, only places and counts are read.

use std::collections::HashMap;

use tallybook_protocol::{
    CallsBudget, Conversation, Earlier, Message, MessageId, MessageStatus, ToolCall, Usage, Window,
};
use uuid::Uuid;

use super::{
    super::{
        ServiceError,
        context::Context,
        service::ConversationService,
        store::{
            ConversationId, conversations, messages, model_calls,
            rows::{ConversationRow, Place},
            tool_calls,
        },
    },
    tree::{Versions, beginning, branch},
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
        let context = &self.context;
        let Some(row) = conversations::find_conversation(&context.db, user, uuid).await? else { return Ok(None) };
        let places = messages::list_places(&context.db, row.id).await?;
        let branch = wanted_branch(&places, &row, window)?;
        let usage = usage_by_message(context, row.id).await?;
        let (earlier, shown) = branch.split_at(beginning(&branch, window));
        let messages = list_shown(context, &row, shown, &Versions::of(&places), &usage).await?;
        let earlier = (!earlier.is_empty()).then(|| Earlier {
            count: i64::try_from(earlier.len()).unwrap_or(i64::MAX),
            usage: earlier.iter().filter_map(|place| usage.get(&place.id).copied()).sum(),
        });
        Ok(Some(Conversation { messages, earlier, active_message_id: row.active_message_id, summary: row.summary() }))
    }
}

/// The branch that is shown; where messages before another one are wanted, the branch up to there.
fn wanted_branch(places: &[Place], row: &ConversationRow, window: Window) -> Result<Vec<Place>, ServiceError> {
    let Some(before) = window.before else { return Ok(branch(places, row.head_message_id)) };
    let mut way = branch(places, Some(before));
    way.pop().ok_or(ServiceError::NoSuchMessage)?;
    Ok(way)
}

async fn usage_by_message(
    context: &Context,
    conversation_id: ConversationId,
) -> sqlx::Result<HashMap<MessageId, Usage>> {
    let rows = model_calls::list_usage(&context.db, conversation_id).await?;
    Ok(rows.into_iter().filter_map(|row| Some((row.message_id, row.usage()?))).collect())
}

async fn list_shown(
    context: &Context,
    row: &ConversationRow,
    shown: &[Place],
    versions: &Versions,
    usage: &HashMap<MessageId, Usage>,
) -> sqlx::Result<Vec<Message>> {
    let ids: Vec<MessageId> = shown.iter().map(|place| place.id).collect();
    let rows = messages::list_messages(&context.db, &ids).await?;
    let mut calls_of = truncated_calls(context, &ids).await?;
    let live = row.active_message_id.and_then(|id| context.journal.find(id));
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

/// The calls of messages, with as much of their texts as one answer carries: those of the newest messages first.
async fn truncated_calls(context: &Context, ids: &[MessageId]) -> sqlx::Result<HashMap<MessageId, Vec<ToolCall>>> {
    let mut calls_of: HashMap<MessageId, Vec<ToolCall>> = HashMap::new();
    for call in tool_calls::list_carried_tool_calls(&context.db, ids).await? {
        calls_of.entry(call.message_id).or_default().push(call.to_tool_call());
    }
    let mut budget = CallsBudget::default();
    for id in ids.iter().rev() {
        calls_of.get_mut(id).into_iter().flatten().for_each(|call| budget.fit(call));
    }
    Ok(calls_of)
}
