//! Settings of tool servers that admins add in the page, and their tests.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{EntryProblem, SettingsOrigin};

/// Settings of a tool server, as in a section `[tool_servers.NAME]` of the settings file, but without programs, tokens
/// and variables. A missing setting has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolServerFields {
    /// Name of the server; unique. 1 to 50 characters.
    pub name: String,
    /// URL of a server that speaks Streamable HTTP.
    pub url: String,
    /// `true` if the URL may use plain HTTP to hosts other than localhost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_http: bool,
    /// Calls that need approval: `high` (all, the default), `low` (none) or `claimed` (those that the server does not
    /// mark as read-only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<String>,
    /// Tools to make available; `*` matches any characters. If empty, all tools are made available.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Tools to leave out, as in `include`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Timeout of a call in seconds, if it is shorter than the timeout of every tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_secs: Option<u64>,
    /// Action when a tool's definition changes: `warn` (the default) or `block`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
}

/// Body of `POST /api/admin/tool-servers` and `POST /api/admin/tool-servers/test`: a tool server and its headers.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewToolServer {
    /// The settings.
    #[serde(flatten)]
    pub fields: ToolServerFields,
    /// Headers of every request, for example `Authorization`. They are stored encrypted, and no response contains their
    /// values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// A tool server in the settings, as `GET /api/admin/tool-servers` lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConfiguredToolServer {
    /// The settings. For a server of the settings file, the URL is without its query and without secrets, and empty if
    /// the server is a program.
    #[serde(flatten)]
    pub fields: ToolServerFields,
    /// The place where the server is configured.
    pub origin: SettingsOrigin,
    /// `true` if the server has headers.
    pub has_headers: bool,
    /// `connected`, `connecting` or `failed`; absent if the server is not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Number of the server's available tools.
    pub tools: usize,
    /// Reason why the server cannot be used; absent if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Code of that reason, unless it is an error of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem_code: Option<EntryProblem>,
    /// Version of an added server, for the header `If-Match`; changes with every change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// Time of the last change of an added server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<DateTime<Utc>>,
}

/// Response of `GET /api/admin/tool-servers`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConfiguredToolServers {
    /// The servers of the settings files, then the added ones, oldest first.
    pub items: Vec<ConfiguredToolServer>,
}

/// Outcome of a test of a tool server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolServerTest {
    /// `true` if the server listed its tools.
    pub ok: bool,
    /// Time until the tools were listed, in milliseconds.
    pub ms: u64,
    /// Reason why the tools could not be listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Tools that would be available.
    pub tools: Vec<TestedTool>,
    /// Tools that would not be available.
    pub left_out: Vec<LeftOutTestedTool>,
}

/// A tool of a tested server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TestedTool {
    /// Name that the server uses for the tool.
    pub name: String,
    /// Description of the tool.
    pub description: String,
    /// Risk of its calls: `low`, or `high` if they need approval.
    pub risk: String,
}

/// A tool of a tested server that would not be available.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeftOutTestedTool {
    /// Name that the server uses for the tool.
    pub name: String,
    /// Reason why it would not be available.
    pub reason: String,
}
