//! Tools in the REST API: tool calls, and the available tools.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{RawJson, ToolCallDecision, ToolCallId, ToolCallReview, ToolCallStatus, time};

/// One use of a tool, as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolCall {
    /// Row id.
    pub tool_call_id: ToolCallId,
    /// The tool's name as the model wrote it.
    pub tool_name: String,
    /// The arguments exactly as the model wrote them; a JSON string when they were not JSON, or with their beginning.
    pub input: RawJson,
    /// How many UTF-8 bytes the arguments have as the model wrote them; only with `truncated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_bytes: Option<i64>,
    /// What the model had asked for, where a person changed the arguments before they ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_input: Option<RawJson>,
    /// Where in the message's text it happened, in UTF-8 bytes.
    pub offset: i64,
    /// Where it stands.
    pub status: ToolCallStatus,
    /// What the tool gave back.
    pub output: Option<String>,
    /// How many UTF-8 bytes the output has; only with `truncated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<i64>,
    /// Why it failed, e.g. `invalid_b: division by zero`.
    pub error: Option<String>,
    /// The kind of failure, e.g. `timeout` or `denied`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// Whether something was left out of the texts here; `GET /api/tool-calls/{id}` gives all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// How long it ran, in milliseconds; absent while it runs.
    pub duration_ms: Option<i64>,
    /// When it was stored, which is just before it ran, or was asked for consent.
    #[serde(deserialize_with = "time::read")]
    pub started_at: DateTime<Utc>,
    /// What reviewing models said of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<ToolCallReview>,
    /// The last decision on it; absent if it needed none, or waits for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<ToolCallDecision>,
}

/// `GET /api/tools`: the tools on offer, and where they come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolList {
    /// The tools, in the order of names.
    pub items: Vec<ToolInfo>,
    /// The tool servers, in the order of the settings.
    pub servers: Vec<ToolServerInfo>,
}

/// A tool server as `GET /api/tools` describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolServerInfo {
    /// Its name in the settings.
    pub name: String,
    /// `connected`, `connecting` or `failed`.
    pub status: String,
    /// Why its tools are not on offer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How many of its tools are on offer.
    pub tools: u64,
    /// Its tools that are not.
    pub left_out: Vec<LeftOutTool>,
}

/// A tool that is not on offer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeftOutTool {
    /// What its server calls it.
    pub name: String,
    /// Why it is not on offer.
    pub reason: String,
    /// Set where it is withheld because its definition changed: what is to be accepted, or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<ChangedTool>,
}

/// A definition that is not accepted: the server changed the tool, or added it after its first listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangedTool {
    /// What its server calls it, for `POST /api/tool-servers/{server}/tools/{tool}/accept`.
    pub tool: String,
    /// SHA-256, in hex, of its definition now.
    pub hash: String,
    /// What it says now that it does.
    pub description: String,
}

/// Body of `POST /api/tool-servers/{server}/tools/{tool}/accept`. It may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AcceptTool {
    /// The definition that was looked at, as in [`ChangedTool`]: another one is not accepted. When absent, whatever the
    /// definition is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// A tool as `GET /api/tools` describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolInfo {
    /// Unique name.
    pub name: String,
    /// What it does, as the model is told.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: serde_json::Value,
    /// The tool server that it comes from; none where it is built in.
    #[serde(default)]
    pub server: Option<String>,
    /// `low` or `high`.
    pub risk: String,
    /// Whether running it twice is the same as running it once.
    #[serde(default)]
    pub idempotent: bool,
    /// Whether new conversations use it.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Set where its definition changed since it was accepted, or first seen: what its server claims of it counts no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<ChangedTool>,
}

fn yes() -> bool {
    true
}
