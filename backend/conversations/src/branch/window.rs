//! Reads a conversation as it is shown: the whole branch, its newest messages, or the messages before a given one. The
//! limits of one response apply. Reads only tree nodes, counts and sizes of the other messages.

use std::collections::HashMap;

use tallybook_accounts::UserId;
use tallybook_protocol::{Conversation, Earlier, Message, MessageId, MessageStatus, Usage, Window};
use uuid::Uuid;

use crate::journal::{PartialAnswer, stored};
use crate::{
    ServiceError,
    branch::tree::{Versions, beginning, branch},
    context::Context,
    limits::MAX_WINDOW_TEXT_BYTES,
    service::ConversationService,
    store::{
        ConversationId, conversations,
        message_files::{self, MessageFileRow},
        messages, model_calls, plans, reasonings,
        rows::{ConversationRow, TreeNode},
        tool_calls,
    },
};

impl ConversationService {
    /// Returns a conversation with the messages of its shown branch that `window` requests, and their tool calls.
    /// Returns `None` if the user has no such conversation.
    pub async fn find_conversation(
        &self,
        user: UserId,
        uuid: Uuid,
        window: Window,
    ) -> Result<Option<Conversation>, ServiceError> {
        let context = &self.context;
        let Some(row) = conversations::find_conversation(&context.db, user, uuid).await? else { return Ok(None) };
        let places = messages::list_tree_nodes(&context.db, row.id).await?;
        let branch = wanted_branch(&places, &row, window)?;
        let usage = usage_by_message(context, row.id).await?;
        let wanted = beginning(&branch, window);
        let (earlier, shown) = branch.split_at(wanted + carried_from(context, &branch[wanted..]).await?);
        let messages = list_shown(context, &row, shown, &Versions::of(&places), &usage).await?;
        let earlier = (!earlier.is_empty()).then(|| Earlier {
            count: i64::try_from(earlier.len()).unwrap_or(i64::MAX),
            usage: earlier.iter().filter_map(|place| usage.get(&place.id).copied()).sum(),
        });
        Ok(Some(Conversation {
            messages,
            earlier,
            active_message_id: row.running_message_id(),
            summary: row.summary(),
        }))
    }
}

/// Returns the branch that is shown. If the client requests the messages before a given one, returns the branch up to
/// there.
fn wanted_branch(places: &[TreeNode], row: &ConversationRow, window: Window) -> Result<Vec<TreeNode>, ServiceError> {
    let Some(before) = window.before else { return Ok(branch(places, row.head_message_id)) };
    let mut way = branch(places, Some(before));
    way.pop().ok_or(ServiceError::NoSuchMessage)?;
    Ok(way)
}

/// Number of exchanges whose sizes are read at a time.
const EXCHANGES_PER_READ: usize = 64;

/// Returns the index in `wanted` from which the texts fit into one response. `wanted` begins with a question; the last
/// exchange is always included.
async fn carried_from(context: &Context, wanted: &[TreeNode]) -> sqlx::Result<usize> {
    let exchanges: Vec<&[TreeNode]> = wanted.chunks(2).collect();
    let (mut bytes, mut from) = (0, wanted.len());
    for some in exchanges.rchunks(EXCHANGES_PER_READ) {
        let ids: Vec<MessageId> = some.iter().copied().flatten().map(|place| place.id).collect();
        let sizes: HashMap<_, _> = messages::list_text_bytes(&context.db, &ids).await?.into_iter().collect();
        for exchange in some.iter().rev() {
            bytes += exchange.iter().map(|place| text_bytes(context, &sizes, place.id)).sum::<i64>();
            if bytes > MAX_WINDOW_TEXT_BYTES && from < wanted.len() {
                return Ok(from);
            }
            from -= exchange.len();
        }
    }
    Ok(from)
}

/// Returns the size of a message's text. While a turn runs, its text is in its journal.
fn text_bytes(context: &Context, stored: &HashMap<MessageId, i64>, id: MessageId) -> i64 {
    let live = context.journal.find(id).map(|log| i64::try_from(log.text_bytes()).unwrap_or(i64::MAX));
    live.or_else(|| stored.get(&id).copied()).unwrap_or_default()
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
    shown: &[TreeNode],
    versions: &Versions,
    usage: &HashMap<MessageId, Usage>,
) -> sqlx::Result<Vec<Message>> {
    let ids: Vec<MessageId> = shown.iter().map(|place| place.id).collect();
    // Taken before the rows are read: a turn that ends in between is complete in the log or in the rows.
    let live = row.active_message_id.and_then(|id| context.journal.find(id));
    let rows = messages::list_messages(&context.db, &ids).await?;
    let mut calls_of = tool_calls::list_truncated_tool_calls(&context.db, &ids).await?;
    let mut reasoning_of = reasonings::list(&context.db, &ids).await?;
    let mut plan_of = plans::list(&context.db, &ids).await?;
    let mut files_of = message_files::list_of(&context.db, &rows).await?;
    let elsewhere = rows.iter().find(|message| live.is_none() && message.status == MessageStatus::Streaming);
    let mut words_elsewhere = match elsewhere {
        Some(message) => stored::load_partial(&context.db, message.id).await?,
        None => PartialAnswer::default(),
    };
    let messages = rows.into_iter().map(|message| {
        let place = TreeNode { id: message.id, parent_id: message.parent_id };
        let of_message = calls_of.remove(&place.id).unwrap_or_default();
        let message = message.into_message(of_message, usage.get(&place.id).copied());
        let reasoning = reasoning_of.remove(&place.id).unwrap_or_default();
        let plan = plan_of.remove(&place.id);
        let files = files_of.remove(&place.id).unwrap_or_default();
        let files = files.into_iter().map(MessageFileRow::into_file).collect();
        let mut message = Message { siblings: versions.siblings(place), reasoning, plan, files, ..message };
        // While a turn runs, its row has no text yet. The text is in the turn's log, or in the stored journal if
        // another process runs the turn.
        if message.status == MessageStatus::Streaming {
            let partial = if let Some(log) = &live {
                let (partial, calls) = log.partial_and_calls();
                message.tool_calls = calls;
                partial
            } else {
                std::mem::take(&mut words_elsewhere)
            };
            let PartialAnswer { content, reasoning, plan } = partial;
            message = Message { content, reasoning, plan, ..message };
        }
        message
    });
    Ok(messages.collect())
}
