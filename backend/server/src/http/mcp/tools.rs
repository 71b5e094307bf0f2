//! Answers `tools/list` and `tools/call` of MCP clients: lists the tools that this server offers over MCP, and runs
//! one.

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tallybook_accounts::Caller;
use tallybook_conversations::ConversationService;
use tallybook_tools::ToolError;

use super::{
    super::{error::ApiError, state::State},
    history,
    rpc::{Answer, Failure, Message},
};

/// Parameters of `tools/call`.
#[derive(Deserialize)]
struct Call<'a> {
    name: String,
    /// The arguments as the client wrote them, so that no number loses a digit.
    #[serde(default, borrow)]
    arguments: Option<&'a RawValue>,
}

/// Returns the list of all tools.
pub(crate) fn list(service: &ConversationService) -> Value {
    let mut tools = history::tools();
    for spec in service.standalone_tools() {
        tools.push(json!({
            "name": spec.name, "description": spec.description, "inputSchema": spec.input_schema,
            "annotations": {"readOnlyHint": true},
        }));
    }
    json!({"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"})
}

/// Calls a tool. If the tool fails, the result contains its error message, so that a model can read it.
pub(crate) async fn call(state: &State, caller: Caller, message: &Message<'_>) -> Result<Answer, ApiError> {
    let Call { name, arguments } = match message.params() {
        Ok(call) => call,
        Err(failure) => return Ok(Err(failure)),
    };
    let input = arguments.map_or("{}", RawValue::get);
    if history::is_there(&name) {
        return Ok(Ok(match history::call(state, caller, &name, input).await? {
            Ok(found) => {
                let text = found.to_string();
                json!({"content": [{"type": "text", "text": text}], "structuredContent": found, "resultType": "complete"})
            }
            Err(text) => failed(&text),
        }));
    }
    if state.service.standalone_tools().iter().all(|spec| spec.name != name) {
        return Ok(Err(Failure::bad_params("This tool does not exist. tools/list returns the available tools.")));
    }
    let (service, user, input) = (state.service.clone(), caller.user, input.to_owned());
    tracing::info!(tool = name, "an API client calls a tool outside any turn");
    let returned = state.service.spawn(async move { service.call_tool(user, &name, &input).await });
    Ok(Ok(match returned.await.map_err(ApiError::Task)? {
        Ok(output) => json!({"content": [{"type": "text", "text": output.text}], "resultType": "complete"}),
        Err(ToolError { message, .. }) => failed(&message),
    }))
}

fn failed(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}], "isError": true, "resultType": "complete"})
}
