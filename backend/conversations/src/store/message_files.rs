//! SQL of `message_files`, the files of user messages and of the copied calls of answers, and of `tool_call_files`, the
//! images that tools returned.

use std::collections::HashMap;

use tallybook_agent::CallFile;
use tallybook_database::{Database, Transaction, select, with_retries};
use tallybook_files::{FileId, FileRow, file_columns};
use tallybook_protocol::{MessageFile, MessageId, ToolCallId};

use crate::store::rows::{ConversationId, MessageRow, ToolCallRow, is_copied};

/// The context of a file whose content the model did not receive.
pub(crate) const NAME_ONLY: &str = "name only";

/// Maximum number of documents of a conversation that models can read on in.
const MAX_DOCUMENTS: u32 = 1000;

/// A file of a message.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct MessageFileRow {
    pub message_id: MessageId,
    pub position: i32,
    /// The part of the file that the model received.
    pub context: Option<String>,
    #[sqlx(flatten)]
    pub file: FileRow,
}

impl MessageFileRow {
    pub(crate) fn into_file(self) -> MessageFile {
        self.file.into_message_file(self.context)
    }
}

/// Stores the files of a new message.
pub(crate) async fn create(tx: &mut Transaction, message: MessageId, files: &[FileRow]) -> sqlx::Result<()> {
    let files: Vec<FileId> = files.iter().map(|file| file.id).collect();
    create_in_order(tx, "INSERT INTO message_files (message_id, position, file_id) VALUES ", message.0, &files).await
}

/// Stores files of a message or of a call. `insert` is the text before the first row's values: the owner, the position
/// and the file.
async fn create_in_order(tx: &mut Transaction, insert: &'static str, owner: i64, files: &[FileId]) -> sqlx::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let mut insert = tx.query(insert);
    insert.push_rows((0_i32..).zip(files), |row, (position, file)| {
        row.push(owner).push(position).push(*file);
    });
    insert.execute().await.map(|_| ())
}

/// Returns the files of the messages `ids`, each message's in the order of its parts.
pub(crate) async fn list(db: &Database, ids: &[MessageId]) -> sqlx::Result<HashMap<MessageId, Vec<MessageFileRow>>> {
    let mut rows: Vec<MessageFileRow> = db
        .reader()
        .list_by_ids(
            select!(concat!(
                "SELECT m.message_id, m.position, m.context, ",
                file_columns!(),
                " FROM message_files m JOIN files f ON f.id = m.file_id WHERE m.message_id IN ("
            )),
            ids,
            ")",
        )
        .await?;
    rows.sort_by_key(|row| (row.message_id, row.position));
    let mut files: HashMap<MessageId, Vec<MessageFileRow>> = HashMap::new();
    for row in rows {
        files.entry(row.message_id).or_default().push(row);
    }
    Ok(files)
}

/// Returns the files of those of these messages that have some. Makes no query if none has.
pub(crate) async fn list_of(
    db: &Database,
    messages: &[MessageRow],
) -> sqlx::Result<HashMap<MessageId, Vec<MessageFileRow>>> {
    let with_files: Vec<MessageId> =
        messages.iter().filter(|message| message.has_files()).map(|message| message.id).collect();
    list(db, &with_files).await
}

/// Returns the files of one message, in the order of its parts.
pub(crate) async fn list_of_message(db: &Database, message: MessageId) -> sqlx::Result<Vec<MessageFileRow>> {
    Ok(list(db, &[message]).await?.remove(&message).unwrap_or_default())
}

/// A document in a conversation.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct DocumentRow {
    pub name: String,
    pub sha256: String,
    pub pages: i32,
    pub truncated: bool,
}

/// Lists the newest files with text of a conversation, on all branches, newest first.
pub(crate) async fn list_documents(db: &Database, conversation: ConversationId) -> sqlx::Result<Vec<DocumentRow>> {
    db.reader()
        .query(select!(
            "SELECT f.name, f.sha256, f.pages, f.truncated FROM messages m JOIN message_files x ON x.message_id = m.id \
             JOIN files f ON f.id = x.file_id WHERE m.conversation_id = ? AND f.pages > 0 \
             ORDER BY m.created_at DESC, m.id DESC, x.position LIMIT ?"
        ))
        .bind(conversation)
        .bind(MAX_DOCUMENTS)
        .fetch_all()
        .await
}

/// Records which part of each of a message's files the model receives. `contexts` are in the order of the files.
pub(crate) async fn set_contexts(db: &Database, message: MessageId, contexts: &[String]) -> sqlx::Result<()> {
    for (position, context) in (0_i32..).zip(contexts) {
        let set = || {
            db.writer()
                .query("UPDATE message_files SET context = ? WHERE message_id = ? AND position = ?")
                .bind(context.as_str())
                .bind(message)
                .bind(position)
                .execute()
        };
        with_retries(set).await?;
    }
    Ok(())
}

/// Records that the model received none of a message's images.
pub(crate) async fn forget_images(db: &Database, message: MessageId) -> sqlx::Result<()> {
    db.writer()
        .query("UPDATE message_files SET context = ? WHERE message_id = ? AND context LIKE 'image %'")
        .bind(NAME_ONLY)
        .bind(message)
        .execute()
        .await
        .map(|_| ())
}

/// A file of a call.
#[derive(sqlx::FromRow)]
struct CallFileRow {
    tool_call_id: ToolCallId,
    position: i32,
    #[sqlx(flatten)]
    file: FileRow,
}

/// Stores the files of a call that ends in this transaction.
pub(crate) async fn create_of_call(tx: &mut Transaction, id: ToolCallId, files: &[CallFile]) -> sqlx::Result<()> {
    let files: Vec<FileId> = files.iter().map(|file| FileId(file.row_id)).collect();
    create_in_order(tx, "INSERT INTO tool_call_files (tool_call_id, position, file_id) VALUES ", id.0, &files).await
}

/// A file of a call of a message.
#[derive(sqlx::FromRow)]
struct AnswerFileRow {
    message_id: MessageId,
    #[sqlx(flatten)]
    call: CallFileRow,
}

/// Returns the files of all calls of these messages, in order.
pub(crate) async fn list_of_calls(
    db: &Database,
    ids: &[MessageId],
) -> sqlx::Result<HashMap<MessageId, Vec<MessageFile>>> {
    let mut rows: Vec<AnswerFileRow> = db
        .reader()
        .list_by_ids(
            select!(concat!(
                "SELECT c.message_id, t.tool_call_id, t.position, ",
                file_columns!(),
                " FROM tool_call_files t JOIN tool_calls c ON c.id = t.tool_call_id JOIN files f ON f.id = t.file_id \
             WHERE c.message_id IN ("
            )),
            ids,
            ")",
        )
        .await?;
    rows.sort_by_key(|row| (row.call.tool_call_id, row.call.position));
    let mut files: HashMap<MessageId, Vec<MessageFile>> = HashMap::new();
    for row in rows {
        files.entry(row.message_id).or_default().push(row.call.file.into_message_file(None));
    }
    Ok(files)
}

/// Adds the files to calls that have an output.
pub(crate) async fn add_call_files(db: &Database, calls: &mut [ToolCallRow]) -> sqlx::Result<()> {
    let with_output = || calls.iter().filter(|call| call.output.is_some());
    let ids: Vec<ToolCallId> = with_output().map(|call| call.id).filter(|id| !is_copied(*id)).collect();
    let mut copies: Vec<MessageId> =
        with_output().filter(|call| is_copied(call.id)).map(|call| call.message_id).collect();
    copies.dedup();
    let mut rows: Vec<CallFileRow> = db
        .reader()
        .list_by_ids(
            select!(concat!(
                "SELECT t.tool_call_id, t.position, ",
                file_columns!(),
                " FROM tool_call_files t JOIN files f ON f.id = t.file_id WHERE t.tool_call_id IN ("
            )),
            &ids,
            ")",
        )
        .await?;
    let of_copies = db.reader().list_by_ids(
        select!(concat!(
            "SELECT -t.copied_call_id AS tool_call_id, t.position, ",
            file_columns!(),
            " FROM message_files t JOIN files f ON f.id = t.file_id WHERE t.copied_call_id IS NOT NULL \
             AND t.message_id IN ("
        )),
        &copies,
        ")",
    );
    rows.append(&mut of_copies.await?);
    rows.sort_by_key(|row| (row.tool_call_id, row.position));
    let mut files: HashMap<ToolCallId, Vec<MessageFile>> = HashMap::new();
    for row in rows {
        files.entry(row.tool_call_id).or_default().push(row.file.into_message_file(None));
    }
    for call in calls {
        call.files = files.remove(&call.id).unwrap_or_default();
    }
    Ok(())
}
