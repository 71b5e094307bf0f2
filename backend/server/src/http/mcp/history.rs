//! MCP tools that read the tool history. Users read their own calls, admins those of all users. As in the web UI, an
//! admin must give a reason for access to another user's calls.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tallybook_accounts::{Caller, UserId};
use tallybook_protocol::{ToolCallId, UserRole, first_bytes, first_chars};
use tallybook_tool_history::{
    BUILT_IN, CallDetails, CallRow, CallsPage, DecisionRow, Filter, ListPosition, Order, Subject, ToolHistory,
    ToolHistoryError,
};

use super::super::{error::ApiError, state::State};

const SEARCH: &str = "search_tool_calls";
const GET: &str = "get_tool_call";

/// Maximum length of an input in the list, in characters.
const SHOWN_CHARS: usize = 80;

/// Maximum length of each text of a call in the result, in bytes.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// The answer for a call that does not exist, and for a call of another user.
const NO_SUCH_CALL: &str = "This tool call does not exist. Use search_tool_calls to find tool calls.";

/// The result of a tool, or an error message.
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

/// Returns the definitions of the tools.
pub(crate) fn tools() -> Vec<Value> {
    let text = |description: &str| json!({"type": "string", "description": description});
    let reason = text(
        "For admins: the reason for access to another user's data. The owner can see it. One reason is valid for an \
         hour.",
    );
    let filter = text(
        "tool: server: status: conversation: model: rating: since: until: slow:>5s, and words or \"phrases\" that stand \
         in the input, the output or the error; admins also user:. For example: status:error since:7d. Empty for all.",
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

/// Returns `true` if `name` is the name of one of these tools.
pub(crate) fn is_there(name: &str) -> bool {
    matches!(name, SEARCH | GET)
}

/// Calls a tool.
pub(crate) async fn call(state: &State, caller: Caller, name: &str, input: &str) -> Result<Found, ApiError> {
    let is_admin = caller.role == UserRole::Admin;
    let found = match name {
        SEARCH => match read::<Search>(input) {
            Ok(asked) => search(state, caller, is_admin, asked).await,
            Err(text) => return Ok(Err(text)),
        },
        _ => match read::<Get>(input) {
            Ok(asked) => get(state, caller, is_admin, asked).await,
            Err(text) => return Ok(Err(text)),
        },
    };
    match found {
        Err(ApiError::ToolHistory(ToolHistoryError::NeedsReason { .. })) if is_admin => {
            Ok(Err("This belongs to another user. Set reason to say why you access it.".to_owned()))
        }
        // A user who is not an admin must learn nothing about other users' data.
        Err(ApiError::ToolHistory(ToolHistoryError::NeedsReason { .. } | ToolHistoryError::NoSuchConversation)) => {
            Ok(Err("This conversation does not exist.".to_owned()))
        }
        Err(ApiError::ToolHistory(ToolHistoryError::NoSuchCall)) => Ok(Err(NO_SUCH_CALL.to_owned())),
        Err(ApiError::ToolHistory(error @ (ToolHistoryError::NoReason | ToolHistoryError::NoSuchUser(_)))) => {
            Ok(Err(error.to_string()))
        }
        Err(error) => Err(error),
        Ok(found) => Ok(found),
    }
}

fn read<T: DeserializeOwned>(input: &str) -> Result<T, String> {
    serde_json::from_str(input).map_err(|error| format!("The arguments are not valid: {error}."))
}

async fn search(state: &State, caller: Caller, is_admin: bool, asked: Search) -> Result<Found, ApiError> {
    let mut filter: Filter = match asked.filter.parse() {
        Ok(filter) => filter,
        Err(error) => return Ok(Err(error.to_string())),
    };
    if !is_admin {
        if filter.user.is_some() {
            return Ok(Err("Only admins can use user:. Without it, you get your own calls.".to_owned()));
        }
        filter.user = caller.name.as_deref().map(str::to_owned);
    }
    let after = ListPosition::from_cursor(&asked.cursor, Order::Newest);
    let user = caller.user;
    let work = move |history: ToolHistory| async move {
        if let Some(reason) = asked.reason.filter(|_| is_admin) {
            history.give_reason(&caller, &Subject::Calls(filter.clone()), &reason).await?;
        }
        history.list_calls(&caller, &filter, Order::Newest, after).await
    };
    let CallsPage { rows, next, is_complete } = state.run_tool_history(work).await?;
    // Only admins see calls that their owner deleted.
    let rows = rows.into_iter().filter(|row| is_admin || !row.is_deleted);
    let calls: Vec<Value> = rows.map(|row| entry(row, user)).collect();
    let next_cursor = next.map(ListPosition::to_cursor);
    Ok(Ok(json!({"tool_calls": calls, "next_cursor": next_cursor, "is_complete": is_complete})))
}

/// Returns a call as an entry of the list. Only its owner gets the title of the conversation.
fn entry(row: CallRow, reader: UserId) -> Value {
    let input = row.input_start.map(|start| first_chars(&start, SHOWN_CHARS).to_owned());
    json!({
        "id": row.id, "started_at": row.started_at, "tool": row.tool_name, "server": server(row.server),
        "status": row.status, "duration_ms": row.duration_ms, "input": input, "input_bytes": row.input_bytes,
        "output_bytes": row.output_bytes, "error_bytes": row.error_bytes, "conversation": row.uuid,
        "user": row.user_name, "title": (row.user_id == reader && !row.is_deleted).then_some(row.title), "deleted": row.is_deleted,
    })
}

async fn get(state: &State, caller: Caller, is_admin: bool, asked: Get) -> Result<Found, ApiError> {
    let id = ToolCallId(asked.id);
    let work = move |history: ToolHistory| async move {
        if !is_admin && !history.is_own(&caller, id).await? {
            return Err(ToolHistoryError::NoSuchCall);
        }
        if let Some(reason) = asked.reason.filter(|_| is_admin) {
            history.give_reason(&caller, &Subject::Call(id), &reason).await?;
        }
        history.open_call(&caller, id, None).await
    };
    let CallDetails { row, decisions, .. } = state.run_tool_history(work).await?;
    let is_cut = [Some(&row.input), row.output.as_ref(), row.error.as_ref()]
        .into_iter()
        .flatten()
        .any(|text| text.len() > MAX_TEXT_BYTES);
    Ok(Ok(json!({
        "id": row.id, "started_at": row.started_at, "completed_at": row.completed_at, "duration_ms": row.duration_ms,
        "tool": row.tool_name, "server": server(row.server), "status": row.status, "model": row.model,
        "input": cut(&row.input), "output": row.output.as_deref().map(cut), "error": row.error.as_deref().map(cut),
        "error_type": row.error_type, "is_cut": is_cut, "conversation": row.uuid, "user": row.user_name,
        "feedback": row.feedback.into_feedback(), "decisions": decisions.iter().map(decision).collect::<Vec<_>>(),
    })))
}

fn decision(row: &DecisionRow) -> Value {
    json!({
        "decision": row.decision, "decided_by": row.decided_by, "decided_by_kind": row.decided_by_kind,
        "decided_by_user_id": row.decided_by_user_id, "reason": row.reason, "scope": row.scope.0, "decided_at": row.created_at,
    })
}

fn cut(text: &str) -> &str {
    first_bytes(text, MAX_TEXT_BYTES)
}

fn server(name: String) -> String {
    if name.is_empty() { BUILT_IN.to_owned() } else { name }
}
