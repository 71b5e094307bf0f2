//! SQL of `message_files`: the files of user messages.

use std::collections::HashMap;

use tallybook_database::{Database, Transaction, select, with_retries};
use tallybook_files::FileRow;
use tallybook_protocol::{FileKind, MessageFile, MessageId};
use uuid::Uuid;

use crate::store::{by_ids::by_ids, rows::ConversationId};

/// The context of a file whose content the model did not receive.
pub(crate) const NAME_ONLY: &str = "name only";

/// Maximum number of documents of a conversation that models can read on in.
const MAX_DOCUMENTS: u32 = 100;

/// A file of a message.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct MessageFileRow {
    pub message_id: MessageId,
    pub position: i32,
    /// The part of the file that the model received.
    pub context: Option<String>,
    #[sqlx(try_from = "String")]
    pub uuid: Uuid,
    pub sha256: String,
    pub name: String,
    #[sqlx(try_from = "String")]
    pub kind: FileKind,
    pub media_type: String,
    pub bytes: i64,
    pub width: Option<i32>,
    pub height: Option<i32>,
    pub pages: Option<i32>,
    pub model_sha256: Option<String>,
    pub model_width: Option<i32>,
    pub model_height: Option<i32>,
}

impl MessageFileRow {
    pub(crate) fn into_file(self) -> MessageFile {
        MessageFile {
            id: self.uuid,
            name: self.name,
            kind: self.kind,
            media_type: self.media_type,
            bytes: self.bytes,
            width: self.width,
            height: self.height,
            pages: self.pages,
            context: self.context,
        }
    }
}

/// Stores the files of a new message.
pub(crate) async fn create(tx: &mut Transaction, message: MessageId, files: &[FileRow]) -> sqlx::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let mut insert = tx.query("INSERT INTO message_files (message_id, position, file_id) VALUES ");
    insert.push_rows((0_i32..).zip(files), |row, (position, file)| {
        row.push(message).push(position).push(file.id);
    });
    insert.execute().await.map(|_| ())
}

/// Returns the files of the messages `ids`, each message's in the order of its parts.
pub(crate) async fn list(db: &Database, ids: &[MessageId]) -> sqlx::Result<HashMap<MessageId, Vec<MessageFileRow>>> {
    let mut rows: Vec<MessageFileRow> = by_ids(
        db,
        select!(
            "SELECT m.message_id, m.position, m.context, f.uuid, f.sha256, f.name, f.kind, f.media_type, f.bytes, \
             f.width, f.height, f.pages, f.model_sha256, f.model_width, f.model_height \
             FROM message_files m JOIN files f ON f.id = m.file_id WHERE m.message_id IN ("
        ),
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

/// A document in a conversation.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct DocumentRow {
    pub name: String,
    pub sha256: String,
    pub pages: i32,
}

/// Lists the newest files with text of a conversation, on all branches, newest first.
pub(crate) async fn list_documents(db: &Database, conversation: ConversationId) -> sqlx::Result<Vec<DocumentRow>> {
    db.reader()
        .query(select!(
            "SELECT f.name, f.sha256, f.pages FROM messages m JOIN message_files x ON x.message_id = m.id \
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
