//! Exports the calls that match a filter, chunk by chunk. The server reads a chunk only when the previous one is on its
//! way to the client. So memory use does not depend on the number of calls, and no query runs after the client
//! disconnects.

use bytes::Bytes;
use serde::Serialize;
use tallybook_accounts::Caller;
use tallybook_protocol::{ToolCallId, ToolCallStatus};

use super::{
    ToolHistory, ToolHistoryError,
    filter::{BUILT_IN, Filter},
    limits::{CALLS_IN_PORTION, MAX_PORTION_BYTES},
    list::find,
    store::{
        calls::{self, ExportedRow, ListPosition, Order},
        condition::Condition,
    },
};

/// File format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// CSV for spreadsheets.
    Csv,
    /// JSON Lines for programs: one object per line.
    Jsonl,
}

/// State of an export between two chunks.
#[derive(Clone, Debug)]
pub struct CallsExport {
    condition: Condition,
    format: ExportFormat,
    after: Option<ListPosition>,
    is_begun: bool,
    is_over: bool,
}

/// A call as it is written to the file.
#[derive(Serialize)]
struct Exported<'a> {
    id: ToolCallId,
    started_at: String,
    completed_at: Option<String>,
    tool: &'a str,
    server: &'a str,
    status: ToolCallStatus,
    duration_ms: Option<i64>,
    user: &'a str,
    conversation: &'a str,
    model: Option<&'a str>,
    input: &'a str,
    output: Option<&'a str>,
    error: Option<&'a str>,
    error_type: Option<&'a str>,
    /// When the call's owner deleted it.
    deleted_at: Option<String>,
}

/// Column names, in the order of the fields of [`Exported`].
const COLUMNS: [&str; 15] = [
    "id",
    "started_at",
    "completed_at",
    "tool",
    "server",
    "status",
    "duration_ms",
    "user",
    "conversation",
    "model",
    "input",
    "output",
    "error",
    "error_type",
    "deleted_at",
];

/// Byte order mark, by which spreadsheets recognize a UTF-8 file.
const BYTE_ORDER_MARK: &str = "\u{feff}";

impl ToolHistory {
    /// Starts an export. It needs a reason if the filter can match other users' calls.
    pub async fn begin_export(
        &self,
        caller: &Caller,
        filter: &Filter,
        format: ExportFormat,
    ) -> Result<CallsExport, ToolHistoryError> {
        let (condition, owner) = self.resolve(filter).await?;
        self.record_export(caller, owner, filter).await?;
        Ok(CallsExport { condition, format, after: None, is_begun: false, is_over: false })
    }

    /// Returns the next chunk of the file; `None` when the file is complete.
    pub async fn next_portion(&self, export: &mut CallsExport) -> Result<Option<Bytes>, ToolHistoryError> {
        let mut portion = Vec::new();
        if !export.is_begun {
            export.is_begun = true;
            if export.format == ExportFormat::Csv {
                portion.extend(BYTE_ORDER_MARK.bytes());
                portion.extend(csv_line(COLUMNS.map(str::to_owned))?);
            }
        }
        while portion.is_empty() && !export.is_over {
            self.write_next(export, &mut portion).await?;
        }
        Ok((!portion.is_empty()).then(|| portion.into()))
    }

    /// Writes the next calls, as many as fit in a chunk.
    async fn write_next(&self, export: &mut CallsExport, portion: &mut Vec<u8>) -> Result<(), ToolHistoryError> {
        let db = &self.context.db;
        let (order, condition) = (Order::Newest, &export.condition);
        let found = find(db, condition, order, export.after, CALLS_IN_PORTION, Some(self.context.page_time)).await?;
        let ids: Vec<ToolCallId> = found.rows.iter().map(|row| row.id).collect();
        let sizes = calls::list(db, &ids).await?;
        let mut bytes = 0;
        let fits = |row: &&calls::CallRow| {
            let is_first = bytes == 0;
            bytes += row.bytes();
            is_first || bytes <= MAX_PORTION_BYTES
        };
        let taken: Vec<ToolCallId> = sizes.iter().take_while(fits).map(|row| row.id).collect();
        let last = taken.last().filter(|_| taken.len() < sizes.len());
        let last = last.and_then(|last| found.rows.iter().find(|row| row.id == *last));
        match (last, found.next) {
            (Some(last), _) => export.after = Some(last.position(order)),
            (None, Some(next)) => export.after = Some(next),
            (None, None) => export.is_over = true,
        }
        for row in calls::list_whole(db, &taken).await? {
            match export.format {
                ExportFormat::Csv => portion.extend(csv_line(cells(&exported(&row)))?),
                ExportFormat::Jsonl => {
                    let written = serde_json::to_writer(&mut *portion, &exported(&row));
                    written.map_err(|error| ToolHistoryError::Write(error.into()))?;
                    portion.push(b'\n');
                }
            }
        }
        Ok(())
    }
}

fn exported(row: &ExportedRow) -> Exported<'_> {
    Exported {
        id: row.id,
        started_at: row.started_at.to_rfc3339(),
        completed_at: row.completed_at.map(|at| at.to_rfc3339()),
        tool: &row.tool_name,
        server: if row.server.is_empty() { BUILT_IN } else { &row.server },
        status: row.status,
        duration_ms: row.duration_ms,
        user: &row.user_name,
        conversation: &row.uuid,
        model: row.model.as_deref(),
        input: &row.input_text,
        output: row.output.as_deref(),
        error: row.error.as_deref(),
        error_type: row.error_type.as_deref(),
        deleted_at: row.deleted_at.map(|at| at.to_rfc3339()),
    }
}

fn cells(call: &Exported<'_>) -> [String; 15] {
    let text = |text: Option<&str>| text.map(harmless).unwrap_or_default();
    [
        call.id.to_string(),
        call.started_at.clone(),
        call.completed_at.clone().unwrap_or_default(),
        harmless(call.tool),
        harmless(call.server),
        call.status.as_str().to_owned(),
        call.duration_ms.map(|ms| ms.to_string()).unwrap_or_default(),
        harmless(call.user),
        call.conversation.to_owned(),
        text(call.model),
        harmless(call.input),
        text(call.output),
        text(call.error),
        text(call.error_type),
        call.deleted_at.clone().unwrap_or_default(),
    ]
}

/// Returns a text that no spreadsheet interprets as a formula. A text that starts like a formula gets a leading
/// apostrophe, which spreadsheets treat as the text marker.
fn harmless(text: &str) -> String {
    let is_formula = text
        .trim_start_matches([' ', '\u{3000}'])
        .starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    if is_formula { format!("'{text}") } else { text.to_owned() }
}

fn csv_line(cells: [String; 15]) -> Result<Vec<u8>, ToolHistoryError> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(cells).map_err(|error| ToolHistoryError::Write(error.into()))?;
    writer.into_inner().map_err(|error| ToolHistoryError::Write(error.into_error().into()))
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn values_that_begin_like_formulas_become_text() {
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "＝1"] {
            assert_eq!(harmless(formula), format!("'{formula}"));
        }
        for text in ["{\"a\":1}", "1-1", "", "a=b"] {
            assert_eq!(harmless(text), text);
        }
    }
}
