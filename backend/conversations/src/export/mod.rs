//! Exports one conversation (the shown branch), or all conversations of a user, as a file. It is written message by
//! message, and each message in portions, so that memory use stays small however large the conversation is. `markdown`
//! and `json` write the messages, and `output` sends them, also as an archive with the files of the messages.

mod json;
mod markdown;
mod output;
mod plan;
mod sanitize;

use std::{collections::HashSet, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt as _;
use serde_json::Value;
use tallybook_accounts::UserId;
use tallybook_files::{FilesError, Variant};
use tallybook_protocol::{Message, MessageFile, MessageId, MessageStatus, ToolCall};
use tokio::{sync::mpsc, time::timeout};
use uuid::Uuid;
use zip::result::ZipError;

use self::output::ExportAborted;
use crate::journal::stored;
use crate::{
    ServiceError,
    branch::tree::branch,
    context::Context,
    export::output::{Output, Sender, entry_name},
    limits::MAX_WAITING_EXPORT_PARTS,
    service::ConversationService,
    store::{
        ConversationId, conversations,
        message_files::{self, MessageFileRow},
        messages, model_calls, plans, reasonings,
        rows::ConversationRow,
        summaries, tool_calls,
    },
};

/// Time that an export waits for other exports before it is refused.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// Number of conversations per read when all conversations are exported.
const CONVERSATIONS_AT_ONCE: u32 = 50;

/// Number of files per read when an account is exported.
const FILES_AT_ONCE: u32 = 200;

/// Format of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// For reading.
    Markdown,
    /// For other software: the JSON of the API, and a `version`.
    Json,
    /// An archive with both, and with all files of the messages.
    Zip,
}

/// A conversation that is being written.
#[derive(Debug)]
pub struct Export {
    /// The conversation's title.
    pub title: String,
    /// The file.
    pub parts: ExportParts,
}

/// A file in portions. It is complete only if none of them is an error.
pub type ExportParts = mpsc::Receiver<Result<Bytes, ExportAborted>>;

impl ConversationService {
    /// Exports the branch that is shown, with all tool calls. A running turn is included with the text that is stored
    /// so far. Fails with `TooManyExports` if other exports take too long.
    pub async fn export_conversation(
        &self,
        user: UserId,
        uuid: Uuid,
        format: ExportFormat,
    ) -> Result<Export, ServiceError> {
        let row = self.context.find_conversation(user, uuid).await?;
        let title = row.title.clone();
        let parts = self.export(user, ExportSource::Conversation(Box::new(row), format)).await?;
        Ok(Export { title, parts })
    }

    /// Writes the object `account` with a list of the user's files, and then all conversations of the user with all
    /// versions of their messages, as one line of JSON each.
    pub async fn export_all(&self, user: UserId, account: Value) -> Result<ExportParts, ServiceError> {
        self.export(user, ExportSource::All { account }).await
    }

    async fn export(&self, user: UserId, what: ExportSource) -> Result<ExportParts, ServiceError> {
        let Ok(Some(slot)) = timeout(START_TIMEOUT, self.context.exports.acquire(user)).await else {
            return Err(ServiceError::TooManyExports);
        };
        let (sender, parts) = mpsc::channel(MAX_WAITING_EXPORT_PARTS + 1);
        // Reserves a slot for the error that marks an incomplete file, because a client that stopped reading would not
        // free one.
        let complaint = sender.clone().try_reserve_owned();
        let context = Arc::clone(&self.context);
        let writing = async move {
            let written = context.draining.run_until_cancelled(write_export(&context, user, what, sender)).await;
            drop(slot);
            if let Some(Err(error)) = &written {
                tracing::warn!(%error, "an export failed");
            }
            if let (None | Some(Err(_) | Ok(false)), Ok(complaint)) = (written, complaint) {
                complaint.send(Err(ExportAborted));
            }
        };
        self.context.spawn(writing);
        Ok(parts)
    }
}

/// The reason why the rest of a file cannot be written.
#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error("the conversation was deleted meanwhile")]
    Gone,
    #[error(transparent)]
    Storage(#[from] sqlx::Error),
    #[error(transparent)]
    Encode(#[from] serde_json::Error),
    #[error("a file cannot be read: {0}")]
    File(#[from] FilesError),
    #[error(transparent)]
    Archive(#[from] ZipError),
}

/// The content of a file.
enum ExportSource {
    Conversation(Box<ConversationRow>, ExportFormat),
    All { account: Value },
}

/// The messages of a conversation that are written.
#[derive(Clone, Copy)]
enum BranchScope {
    /// The branch that is shown.
    Branch,
    /// All versions, oldest first.
    All,
}

/// Writes the file. Returns `false` if the client stopped reading before its end.
async fn write_export(
    context: &Context,
    user: UserId,
    what: ExportSource,
    sender: Sender,
) -> Result<bool, ExportError> {
    let account = match what {
        ExportSource::Conversation(row, ExportFormat::Zip) => {
            return write_archive(context, user, &row, Output::archive(sender)).await;
        }
        ExportSource::Conversation(row, format) => {
            let mut output = Output::plain(sender);
            return write_conversation(context, user, &row, format, BranchScope::Branch, &mut output).await;
        }
        ExportSource::All { account } => account,
    };
    let mut output = Output::plain(sender);
    let mut wanted = write_account(context, user, &account, &mut output).await?;
    let mut last = ConversationId::default();
    while wanted {
        let rows = conversations::list_after(&context.db, user, last, CONVERSATIONS_AT_ONCE).await?;
        let Some(row) = rows.last() else { return Ok(true) };
        last = row.id;
        for row in &rows {
            wanted = wanted
                && write_conversation(context, user, row, ExportFormat::Json, BranchScope::All, &mut output).await?;
        }
    }
    Ok(false)
}

/// Writes the line of the account, with a list of all files, of which some may be in no message. Returns `false` if the
/// client stopped reading.
async fn write_account(
    context: &Context,
    user: UserId,
    account: &Value,
    output: &mut Output,
) -> Result<bool, ExportError> {
    let mut wanted = output.send(json::account_head(account)?).await?;
    let mut last = Uuid::nil();
    while wanted {
        let files = context.files.list_after(user, last, FILES_AT_ONCE).await?;
        let is_first = last.is_nil();
        let Some(end) = files.last() else { return Ok(output.send(json::END).await?) };
        last = end.file.id;
        wanted = output.send(json::files(&files, is_first)?).await?;
    }
    Ok(false)
}

/// Writes an archive with the conversation as Markdown and as JSON, and with its files. Returns `false` if the client
/// stopped reading.
async fn write_archive(
    context: &Context,
    user: UserId,
    row: &ConversationRow,
    mut output: Output,
) -> Result<bool, ExportError> {
    for (name, format) in [("conversation.md", ExportFormat::Markdown), ("conversation.json", ExportFormat::Json)] {
        output.begin_entry(name)?;
        if !write_conversation(context, user, row, format, BranchScope::Branch, &mut output).await? {
            return Ok(false);
        }
    }
    for (number, file) in (1..).zip(list_files(context, row).await?) {
        output.begin_entry(&entry_name(number, &file.name))?;
        let original = context.files.content(user, file.id, Variant::Original).await?;
        let mut parts = context.files.read(&original, 0..original.bytes).await?;
        while let Some(part) = parts.next().await {
            if !output.send(part?).await? {
                return Ok(false);
            }
        }
    }
    Ok(output.finish().await?)
}

/// Returns the files of the branch that is shown: those of the user's messages, and the images that tools returned.
/// Each file is listed once.
async fn list_files(context: &Context, row: &ConversationRow) -> Result<Vec<MessageFile>, ExportError> {
    let nodes = messages::list_tree_nodes(&context.db, row.id).await?;
    let ids: Vec<MessageId> = branch(&nodes, row.head_message_id).iter().map(|place| place.id).collect();
    let mut attached = message_files::list(&context.db, &ids).await?;
    let mut returned = message_files::list_of_calls(&context.db, &ids).await?;
    let (mut files, mut known) = (Vec::new(), HashSet::new());
    for id in ids {
        let attached = attached.remove(&id).unwrap_or_default().into_iter().map(MessageFileRow::into_file);
        let all = attached.chain(returned.remove(&id).unwrap_or_default());
        files.extend(all.filter(|file| known.insert(file.id)));
    }
    Ok(files)
}

/// Writes one conversation. Returns `false` if the client stopped reading.
async fn write_conversation(
    context: &Context,
    user: UserId,
    row: &ConversationRow,
    format: ExportFormat,
    extent: BranchScope,
    output: &mut Output,
) -> Result<bool, ExportError> {
    let nodes = messages::list_tree_nodes(&context.db, row.id).await?;
    let ids: Vec<MessageId> = match extent {
        BranchScope::Branch => branch(&nodes, row.head_message_id).iter().map(|place| place.id).collect(),
        BranchScope::All => nodes.iter().map(|node| node.id).collect(),
    };
    let head = match format {
        ExportFormat::Markdown => markdown::head(&row.summary()),
        ExportFormat::Json | ExportFormat::Zip => {
            let mut summaries = summaries::list(&context.db, row.id).await?;
            summaries.retain(|summary| ids.contains(&summary.message_id));
            json::head(row, &summaries)?
        }
    };
    let truncation = match (format, ids.last()) {
        (ExportFormat::Markdown, Some(last)) => summaries::find_truncation(&context.db, *last).await?,
        _ => None,
    };
    let usage = model_calls::list_usage(&context.db, row.id).await?;
    let mut wanted = output.send(head).await?;
    for (number, id) in ids.into_iter().enumerate() {
        if !wanted {
            return Ok(false);
        }
        if let Some(truncation) = truncation.as_ref().filter(|truncation| truncation.from == id) {
            wanted = output.send(markdown::truncation_notice(truncation)).await?;
        }
        let mut message = find_message(context, row.id, id).await?;
        message.usage = usage.iter().find(|usage| usage.message_id == message.id).and_then(|usage| usage.usage());
        let writer = MessageWriter::new(format, message, number == 0)?;
        wanted = wanted && write_message(context, user, id, writer, output).await?;
    }
    Ok(match format {
        ExportFormat::Markdown => wanted,
        ExportFormat::Json | ExportFormat::Zip => wanted && output.send(json::END).await?,
    })
}

/// Reads a message without its tool calls.
async fn find_message(
    context: &Context,
    conversation_id: ConversationId,
    id: MessageId,
) -> Result<Message, ExportError> {
    let row = messages::find_message(&context.db, conversation_id, id).await?.ok_or(ExportError::Gone)?;
    let files = message_files::list_of(&context.db, std::slice::from_ref(&row)).await?.remove(&id).unwrap_or_default();
    let mut message = row.into_message(Vec::new(), None);
    message.files = files.into_iter().map(MessageFileRow::into_file).collect();
    if message.status == MessageStatus::Streaming {
        let partial = stored::load_partial(&context.db, id).await?;
        (message.content, message.reasoning, message.plan) = (partial.content, partial.reasoning, partial.plan);
    } else {
        message.reasoning = reasonings::list_of_turn(&context.db, id).await?;
        message.plan = plans::find_of_turn(&context.db, id).await?;
    }
    Ok(message)
}

/// Writes a message. Reads its tool calls one by one, since a message can have thousands of them, of 1 MiB each.
/// Returns `false` if the client stopped reading.
async fn write_message(
    context: &Context,
    user: UserId,
    id: MessageId,
    mut writer: MessageWriter,
    output: &mut Output,
) -> Result<bool, ExportError> {
    let mut wanted = output.send(writer.begin()).await?;
    for call in tool_calls::list_tool_calls(&context.db, &[id], 0).await? {
        if !wanted {
            return Ok(false);
        }
        if let Some(call) = tool_calls::find_tool_call(&context.db, user, call.id).await? {
            wanted = output.send(writer.call(&call.to_tool_call())?).await?;
        }
    }
    Ok(wanted && output.send(writer.end()).await?)
}

/// Writer of one message in the file's format.
enum MessageWriter {
    Markdown(Box<markdown::MessageWriter>),
    Json(json::MessageWriter),
}

impl MessageWriter {
    fn new(format: ExportFormat, message: Message, is_first: bool) -> serde_json::Result<Self> {
        Ok(match format {
            ExportFormat::Markdown => Self::Markdown(Box::new(markdown::MessageWriter::new(message))),
            ExportFormat::Json | ExportFormat::Zip => Self::Json(json::MessageWriter::new(message, is_first)?),
        })
    }

    fn begin(&mut self) -> String {
        match self {
            Self::Markdown(writer) => writer.begin(),
            Self::Json(writer) => writer.begin(),
        }
    }

    fn call(&mut self, call: &ToolCall) -> serde_json::Result<String> {
        match self {
            Self::Markdown(writer) => Ok(writer.call(call)),
            Self::Json(writer) => writer.call(call),
        }
    }

    fn end(self) -> String {
        match self {
            Self::Markdown(writer) => writer.end(),
            Self::Json(writer) => writer.end(),
        }
    }
}
