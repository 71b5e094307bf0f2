//! A conversation as a file: the branch that is shown, message by message, so that however large it is only one message
//! at a time is in memory. How a message looks as Markdown is in `markdown`; as JSON it looks as everywhere in the API.

mod inert;
mod markdown;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use serde::Serialize;
use tallybook_protocol::{ConversationSummary, Message, MessageStatus};
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{
    ServiceError,
    model::{ConversationRow, ToolCallRow},
    repository::{calls, messages},
    service::{ConversationService, Inner},
    tree::branch,
};
use crate::{accounts::UserId, journal::stored};

/// The version of the JSON file's shape; raised when a reader of the old shape could no longer read it.
const JSON_VERSION: u32 = 1;

/// How many messages may wait for a reader that is slower than the database.
const BACKLOG: usize = 4;

/// How long a reader may take for one message before it is given up.
const READER_PATIENCE: Duration = Duration::from_mins(1);

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
        let row = self.inner.find(user, uuid).await?;
        let title = row.title.clone();
        let (sender, parts) = mpsc::channel(BACKLOG + 1);
        // Room for the word that the file is not whole, also when nobody makes any.
        let complaint = sender.clone().try_reserve_owned();
        let inner = Arc::clone(&self.inner);
        let writing = async move {
            let written = inner.draining.run_until_cancelled(inner.write_export(&row, format, &sender)).await;
            if let Some(Err(error)) = &written {
                tracing::warn!(%error, "an export was broken off");
            }
            if let (None | Some(Err(_) | Ok(false)), Ok(complaint)) = (written, complaint) {
                complaint.send(Err(BrokenOff));
            }
        };
        self.inner.tasks.spawn_on(writing, &self.inner.runtime);
        Ok(Export { title, parts })
    }
}

type Sender = mpsc::Sender<Result<Bytes, BrokenOff>>;

impl Inner {
    /// False when nobody read it to its end.
    async fn write_export(
        &self,
        row: &ConversationRow,
        format: ExportFormat,
        sender: &Sender,
    ) -> Result<bool, ServiceError> {
        let places = branch(&messages::list_places(&self.db, row.id).await?, row.head_message_id);
        let head = match format {
            ExportFormat::Markdown => markdown::head(&row.summary()),
            ExportFormat::Json => json_head(row)?,
        };
        let usage = calls::list_usage(&self.db, row.id).await?;
        let mut wanted = send(sender, head).await;
        for (number, place) in places.iter().enumerate() {
            if !wanted {
                return Ok(false);
            }
            let mut message = self.find_exported(row.id, place.id).await?;
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

    async fn find_exported(&self, conversation_id: i64, id: i64) -> Result<Message, ServiceError> {
        let row = messages::find_message(&self.db, conversation_id, id).await?.ok_or(ServiceError::NotFound)?;
        let calls = calls::list_tool_calls(&self.db, &[id]).await?;
        let mut message = row.into_message(calls.iter().map(ToolCallRow::to_tool_call).collect(), None);
        if message.status == MessageStatus::Streaming {
            message.content = stored::find_text(&self.db, id).await?;
        }
        Ok(message)
    }
}

/// False when nobody reads any more.
async fn send(sender: &Sender, part: String) -> bool {
    matches!(tokio::time::timeout(READER_PATIENCE, sender.send(Ok(part.into()))).await, Ok(Ok(())))
}

/// Everything before the messages.
fn json_head(row: &ConversationRow) -> Result<String, ServiceError> {
    #[derive(Serialize)]
    struct Head {
        version: u32,
        #[serde(flatten)]
        summary: ConversationSummary,
        active_message_id: Option<i64>,
        messages: [Message; 0],
    }
    let head =
        Head { version: JSON_VERSION, summary: row.summary(), active_message_id: row.active_message_id, messages: [] };
    let mut json = serde_json::to_string(&head)?;
    // The list is written on, message by message.
    json.truncate(json.len() - "]}".len());
    Ok(json)
}
