//! A conversation as a file: the branch that is shown, message by message, so that however large it is only one message
//! at a time is in memory. How a message looks as Markdown is in `markdown`; as JSON it looks as everywhere in the API.

mod markdown;
mod sanitize;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use serde::Serialize;
use tallybook_protocol::{ConversationSummary, Message, MessageId, MessageStatus};
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{
    ServiceError,
    branch::tree::branch,
    context::Context,
    service::ConversationService,
    store::{
        ConversationId, messages, model_calls,
        rows::{ConversationRow, ToolCallRow},
        tool_calls,
    },
};
use crate::{accounts::UserId, journal::stored};

/// The version of the JSON file's shape; raised when a reader of the old shape could no longer read it.
const JSON_VERSION: u32 = 1;

/// How many messages may wait for a reader that is slower than the database.
const MAX_WAITING_PARTS: usize = 4;

/// More characters than any text of a call has.
const MAX_STORED_CHARS: usize = i32::MAX as usize;

/// How long a reader may take for one message before it is given up.
const READER_TIMEOUT: Duration = Duration::from_mins(1);

/// What the file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// For people.
    Markdown,
    /// For programs: the API's own shape and a `version`.
    Json,
}

/// A conversation that is being written.
#[derive(Debug)]
pub struct Export {
    /// The conversation's title.
    pub title: String,
    /// The file in portions. Whole only when none of them is an error.
    pub parts: mpsc::Receiver<Result<Bytes, BrokenOff>>,
}

/// The rest of a file cannot be written: the database failed, the server stops, or the reader took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the export was broken off")]
pub struct BrokenOff;

impl ConversationService {
    /// Writes the branch that is shown, with all tool calls. A turn that runs is in it as far as it is.
    pub async fn export_conversation(
        &self,
        user: UserId,
        uuid: Uuid,
        format: ExportFormat,
    ) -> Result<Export, ServiceError> {
        let row = self.context.find_conversation(user, uuid).await?;
        let title = row.title.clone();
        let (sender, parts) = mpsc::channel(MAX_WAITING_PARTS + 1);
        // A place for the error that ends an incomplete file, which a reader that stopped reading would not free.
        let complaint = sender.clone().try_reserve_owned();
        let context = Arc::clone(&self.context);
        let writing = async move {
            let written = context.draining.run_until_cancelled(write_export(&context, &row, format, &sender)).await;
            if let Some(Err(error)) = &written {
                tracing::warn!(%error, "an export was broken off");
            }
            if let (None | Some(Err(_) | Ok(false)), Ok(complaint)) = (written, complaint) {
                complaint.send(Err(BrokenOff));
            }
        };
        self.context.spawn(writing);
        Ok(Export { title, parts })
    }
}

type Sender = mpsc::Sender<Result<Bytes, BrokenOff>>;

/// False when nobody read it to its end.
async fn write_export(
    context: &Context,
    row: &ConversationRow,
    format: ExportFormat,
    sender: &Sender,
) -> Result<bool, ServiceError> {
    let places = branch(&messages::list_places(&context.db, row.id).await?, row.head_message_id);
    let head = match format {
        ExportFormat::Markdown => markdown::head(&row.summary()),
        ExportFormat::Json => json_head(row)?,
    };
    let usage = model_calls::list_usage(&context.db, row.id).await?;
    let mut wanted = send(sender, head).await;
    for (number, place) in places.iter().enumerate() {
        if !wanted {
            return Ok(false);
        }
        let mut message = find_exported(context, row.id, place.id).await?;
        message.usage = usage.iter().find(|usage| usage.message_id == message.id).and_then(|usage| usage.usage());
        let part = match format {
            ExportFormat::Markdown => markdown::message(&message),
            ExportFormat::Json if number == 0 => serde_json::to_string(&message)?,
            ExportFormat::Json => format!(",{}", serde_json::to_string(&message)?),
        };
        wanted = send(sender, part).await;
    }
    Ok(match format {
        ExportFormat::Markdown => wanted,
        ExportFormat::Json => wanted && send(sender, "]}\n".to_owned()).await,
    })
}

async fn find_exported(
    context: &Context,
    conversation_id: ConversationId,
    id: MessageId,
) -> Result<Message, ServiceError> {
    let row = messages::find_message(&context.db, conversation_id, id).await?.ok_or(ServiceError::NotFound)?;
    let calls = tool_calls::list_tool_calls(&context.db, &[id], MAX_STORED_CHARS).await?;
    let mut message = row.into_message(calls.iter().map(ToolCallRow::to_tool_call).collect(), None);
    if message.status == MessageStatus::Streaming {
        message.content = stored::find_text(&context.db, id).await?;
    }
    Ok(message)
}

/// False when nobody reads any more.
async fn send(sender: &Sender, part: String) -> bool {
    matches!(tokio::time::timeout(READER_TIMEOUT, sender.send(Ok(part.into()))).await, Ok(Ok(())))
}

/// Everything before the messages.
fn json_head(row: &ConversationRow) -> Result<String, ServiceError> {
    #[derive(Serialize)]
    struct Head {
        version: u32,
        #[serde(flatten)]
        summary: ConversationSummary,
        active_message_id: Option<MessageId>,
        messages: [Message; 0],
    }
    let head =
        Head { version: JSON_VERSION, summary: row.summary(), active_message_id: row.active_message_id, messages: [] };
    let mut json = serde_json::to_string(&head)?;
    // The list stays open: its messages follow one by one.
    json.truncate(json.len() - "]}".len());
    Ok(json)
}
