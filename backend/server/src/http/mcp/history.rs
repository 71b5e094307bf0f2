//! The history of tool calls as tools that read it: one's own, and an admin's is everybody's. An admin who looks at what is
//! somebody else's says why, as in the page.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tallybook_protocol::{ToolCallId, UserRole};

use super::super::{error::ApiError, state::State};
use crate::{
    accounts::{Caller, UserId},
    book::{BUILT_IN, Book, BookError, CallRow, CallsPage, DecisionRow, Filter, Order, Place, Subject, WholeCall},
};

const SEARCH: &str = "search_tool_calls";
const GET: &str = "get_tool_call";

/// Characters of an input that the list shows.
const SHOWN_CHARS: usize = 80;

/// Bytes of each text of a call that are given.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// Said of what is not there, and of what is another's.
const NO_SUCH_CALL: &str = "There is no such tool call. search_tool_calls finds those there are.";

/// What is found, or why nothing is, in words.
type Found = Result<Value, String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    #[serde(default)]
    filter: String,
    #[serde(default)]
    cursor: String,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Get {
    id: i64,
    reason: Option<String>,
}

/// What is told of them.
pub(super) fn tools() -> Vec<Value> {
    let text = |description: &str| json!({"type": "string", "description": description});
    let reason =
        text("For admins: why you look at what is somebody else's. Its owner sees it. Once an hour is enough.");
    let filter = text(
        "tool: server: status: conversation: model: since: until: slow:>5s, and words or \"phrases\" that stand in the \
         input, the output or the error; admins also user:. For example: status:error since:7d. Empty for all.",
    );
    let cursor = text("next_cursor of the page before.");
    let tool = |name: &str, description: &str, properties: Value, required: Value| {
        json!({
            "name": name, "description": description, "annotations": {"readOnlyHint": true},
            "inputSchema": {
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            },
        })
    };
    vec![
        tool(
            GET,
            "Gives one tool call of the history: its input, its output or error, when it ran and for how long.",
            json!({"id": {"type": "integer", "description": "The call's id."}, "reason": reason}),
            json!(["id"]),
        ),
        tool(
            SEARCH,
            "Lists tool calls of the history, the newest first, fifty a page.",
            json!({"filter": filter, "cursor": cursor, "reason": reason}),
            json!([]),
        ),
    ]
}

/// Whether a tool is one of these.
pub(super) fn is_there(name: &str) -> bool {
    matches!(name, SEARCH | GET)
}

/// Calls one.
pub(super) async fn call(state: &State, caller: Caller, name: &str, input: &str) -> Result<Found, ApiError> {
    let is_admin = caller.role == UserRole::Admin;
    let found = match name {
        SEARCH => match read::<Search>(input) {
            Ok(asked) => search(state, caller, is_admin, asked).await,
            Err(words) => return Ok(Err(words)),
        },
        _ => match read::<Get>(input) {
            Ok(asked) => get(state, caller, is_admin, asked).await,
            Err(words) => return Ok(Err(words)),
        },
    };
    match found {
        Err(ApiError::Book(BookError::NeedsReason { .. })) if is_admin => {
            Ok(Err("This is somebody else's. Say why you look at it, in reason.".to_owned()))
        }
        // Who is no admin learns nothing of what is another's.
        Err(ApiError::Book(BookError::NeedsReason { .. } | BookError::NoSuchConversation)) => {
            Ok(Err("There is no such conversation.".to_owned()))
        }
        Err(ApiError::Book(BookError::NoSuchCall)) => Ok(Err(NO_SUCH_CALL.to_owned())),
        Err(ApiError::Book(error @ (BookError::NoReason | BookError::NoSuchUser(_)))) => Ok(Err(error.to_string())),
        Err(error) => Err(error),
        Ok(found) => Ok(found),
    }
}

fn read<T: DeserializeOwned>(input: &str) -> Result<T, String> {
    serde_json::from_str(input).map_err(|error| format!("The arguments cannot be read: {error}."))
}

async fn search(state: &State, caller: Caller, is_admin: bool, asked: Search) -> Result<Found, ApiError> {
    let mut filter: Filter = match asked.filter.parse() {
        Ok(filter) => filter,
        Err(error) => return Ok(Err(error.to_string())),
    };
    if !is_admin {
        if filter.user.is_some() {
            return Ok(Err("Only admins may ask for user:. You are given your own calls.".to_owned()));
        }
        filter.user = caller.name.as_deref().map(str::to_owned);
    }
    let after = Place::from_cursor(&asked.cursor, Order::Newest);
    let user = caller.user;
    let work = move |book: Book| async move {
        if let Some(reason) = asked.reason.filter(|_| is_admin) {
            book.give_reason(&caller, &Subject::Calls(filter.clone()), &reason).await?;
        }
        book.list_calls(&caller, &filter, Order::Newest, after).await
    };
    let CallsPage { rows, next, is_complete } = state.run_book(work).await?;
    // What a person has deleted is there for admins alone.
    let rows = rows.into_iter().filter(|row| is_admin || !row.is_deleted);
    let calls: Vec<Value> = rows.map(|row| entry(row, user)).collect();
    let next_cursor = next.map(Place::to_cursor);
    Ok(Ok(json!({"tool_calls": calls, "next_cursor": next_cursor, "is_complete": is_complete})))
}

/// A call as the list has it. A title is its owner's alone to read.
fn entry(row: CallRow, reader: UserId) -> Value {
    let input = row.input_start.map(|start| start.chars().take(SHOWN_CHARS).collect::<String>());
    json!({
        "id": row.id, "started_at": row.started_at, "tool": row.tool_name, "server": server(row.server),
        "status": row.status, "duration_ms": row.duration_ms, "input": input, "input_bytes": row.input_bytes,
        "output_bytes": row.output_bytes, "error_bytes": row.error_bytes, "conversation": row.uuid,
        "user": row.user_name, "title": (row.user_id == reader && !row.is_deleted).then_some(row.title), "deleted": row.is_deleted,
    })
}

async fn get(state: &State, caller: Caller, is_admin: bool, asked: Get) -> Result<Found, ApiError> {
    let id = ToolCallId(asked.id);
    let work = move |book: Book| async move {
        if !is_admin && !book.is_own(&caller, id).await? {
            return Err(BookError::NoSuchCall);
        }
        if let Some(reason) = asked.reason.filter(|_| is_admin) {
            book.give_reason(&caller, &Subject::Call(id), &reason).await?;
        }
        book.open_call(&caller, id, None).await
    };
    let WholeCall { row, decisions, .. } = state.run_book(work).await?;
    let is_cut = [Some(&row.input), row.output.as_ref(), row.error.as_ref()]
        .into_iter()
        .flatten()
        .any(|text| text.len() > MAX_TEXT_BYTES);
    Ok(Ok(json!({
        "id": row.id, "started_at": row.started_at, "completed_at": row.completed_at, "duration_ms": row.duration_ms,
        "tool": row.tool_name, "server": server(row.server), "status": row.status, "model": row.model,
        "input": cut(&row.input), "output": row.output.as_deref().map(cut), "error": row.error.as_deref().map(cut),
        "error_type": row.error_type, "is_cut": is_cut, "conversation": row.uuid, "user": row.user_name,
        "decisions": decisions.iter().map(decision).collect::<Vec<_>>(),
    })))
}

fn decision(row: &DecisionRow) -> Value {
    json!({
        "decision": row.decision, "decided_by": row.decided_by, "decided_by_kind": row.decided_by_kind,
        "decided_by_user_id": row.decided_by_user_id, "reason": row.reason, "scope": row.scope.0, "decided_at": row.created_at,
    })
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT_BYTES)]
}

fn server(name: String) -> String {
    if name.is_empty() { BUILT_IN.to_owned() } else { name }
}
