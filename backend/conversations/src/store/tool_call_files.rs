//! SQL of `tool_call_files`: the images that tools returned. The images of copied calls are in `message_files`.

use std::collections::HashMap;

use tallybook_agent::CallFile;
use tallybook_database::{Database, Transaction, select};
use tallybook_files::{FileRow, file_columns};
use tallybook_protocol::{MessageFile, MessageId, ToolCallId};

use crate::store::{
    by_ids::by_ids,
    rows::{ToolCallRow, is_copied},
};

/// A file of a call.
#[derive(sqlx::FromRow)]
struct CallFileRow {
    tool_call_id: ToolCallId,
    position: i32,
    #[sqlx(flatten)]
    file: FileRow,
}

/// Stores the files of a call that ends in this transaction.
pub(crate) async fn create(tx: &mut Transaction, id: ToolCallId, files: &[CallFile]) -> sqlx::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let mut insert = tx.query("INSERT INTO tool_call_files (tool_call_id, position, file_id) VALUES ");
    insert.push_rows((0_i32..).zip(files), |row, (position, file)| {
        row.push(id).push(position).push(file.row_id);
    });
    insert.execute().await.map(|_| ())
}

/// A file of a call of a message.
#[derive(sqlx::FromRow)]
struct AnswerFileRow {
    message_id: MessageId,
    #[sqlx(flatten)]
    call: CallFileRow,
}

/// Returns the files of all calls of these messages, in order.
pub(crate) async fn list_of_messages(
    db: &Database,
    ids: &[MessageId],
) -> sqlx::Result<HashMap<MessageId, Vec<MessageFile>>> {
    let mut rows: Vec<AnswerFileRow> = by_ids(
        db,
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
pub(crate) async fn add_files(db: &Database, calls: &mut [ToolCallRow]) -> sqlx::Result<()> {
    let with_output = || calls.iter().filter(|call| call.output.is_some());
    let ids: Vec<ToolCallId> = with_output().map(|call| call.id).filter(|id| !is_copied(*id)).collect();
    let mut copies: Vec<MessageId> =
        with_output().filter(|call| is_copied(call.id)).map(|call| call.message_id).collect();
    copies.dedup();
    let mut rows: Vec<CallFileRow> = by_ids(
        db,
        select!(concat!(
            "SELECT t.tool_call_id, t.position, ",
            file_columns!(),
            " FROM tool_call_files t JOIN files f ON f.id = t.file_id WHERE t.tool_call_id IN ("
        )),
        &ids,
        ")",
    )
    .await?;
    let of_copies = by_ids(
        db,
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
