//! Tools in the REST API: tool calls, and the available tools.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{MessageFile, RawJson, ToolCallDecision, ToolCallId, ToolCallReview, ToolCallStatus, time};

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolCall {
    /// Row id of the call.
    pub tool_call_id: ToolCallId,
    /// The tool's name as the model wrote it.
    pub tool_name: String,
    /// The arguments exactly as the model wrote them. If they are not valid JSON, or are truncated, they are one JSON
    /// string.
    pub input: RawJson,
    /// Length of the arguments as the model wrote them, in UTF-8 bytes; only with `truncated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_bytes: Option<i64>,
    /// The model's original arguments, if the user edited them before the call ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_input: Option<RawJson>,
    /// Position of the call in the message's text, in UTF-8 bytes.
    pub offset: i64,
    /// Status of the call.
    pub status: ToolCallStatus,
    /// The tool's output.
    pub output: Option<String>,
    /// Length of the output in UTF-8 bytes; only with `truncated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<i64>,
    /// The reason for a failure, for example `invalid_b: division by zero`.
    pub error: Option<String>,
    /// The kind of failure, e.g. `timeout` or `denied`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// `true` if texts here are truncated. `GET /api/tool-calls/{id}` returns them in full.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Duration of the call, in milliseconds; null while it runs.
    pub duration_ms: Option<i64>,
    /// Time at which the call was stored: just before it ran, or before it waited for approval.
    #[serde(deserialize_with = "time::read")]
    pub started_at: DateTime<Utc>,
    /// Votes of the reviewing models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<ToolCallReview>,
    /// The last decision on the call; absent if the call needed none or waits for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<ToolCallDecision>,
    /// Images that the tool returned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<MessageFile>,
}

/// Response of `GET /api/tools`: the available tools, and the tool servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolList {
    /// The tools, sorted by name.
    pub items: Vec<ToolInfo>,
    /// The tool servers, in the order of the settings.
    pub servers: Vec<ToolServerInfo>,
    /// `true` if the caller may accept changed definitions: an admin in a session.
    #[serde(default)]
    pub can_accept: bool,
}

/// A tool server as `GET /api/tools` describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolServerInfo {
    /// Name of the server in the settings.
    pub name: String,
    /// `connected`, `connecting` or `failed`.
    pub status: String,
    /// Reason why the server's tools are unavailable; absent if they are available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Number of the server's available tools.
    pub tools: u64,
    /// The server's tools that are left out.
    pub left_out: Vec<LeftOutTool>,
}

/// A tool that models do not receive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeftOutTool {
    /// The server's name of the tool.
    pub name: String,
    /// Reason why the tool is left out.
    pub reason: String,
    /// The definition to accept, if the tool is withheld because its definition is not accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<ChangedTool>,
}

/// A definition that is not accepted: the server changed the tool, or added it after its first listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangedTool {
    /// The server's name of the tool, for `POST /api/tool-servers/{server}/tools/{tool}/accept`.
    pub tool: String,
    /// SHA-256 of the current definition, in hex.
    pub hash: String,
    /// Description in the current definition.
    pub description: String,
}

/// Body of `POST /api/tool-servers/{server}/tools/{tool}/accept`. Optional.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AcceptTool {
    /// Hash of the definition that the admin has seen, as in [`ChangedTool`]. Another definition is not accepted. If
    /// absent, the current definition is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// A tool as `GET /api/tools` describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolInfo {
    /// Unique name.
    pub name: String,
    /// The description that models receive.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: serde_json::Value,
    /// Name of the tool's server; null for built-in tools.
    #[serde(default)]
    pub server: Option<String>,
    /// `low` or `high`.
    pub risk: String,
    /// `true` if running the tool twice has the same effect as running it once.
    #[serde(default)]
    pub idempotent: bool,
    /// `true` if new conversations use the tool.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// The current definition, if it is not accepted. Tallybook then ignores the server's claims about the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<ChangedTool>,
}

fn yes() -> bool {
    true
}
