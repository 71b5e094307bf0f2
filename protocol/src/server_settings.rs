//! Settings of the server that admins change while it runs, and the history of their changes.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Settings of the server that can change while it runs. The names are those of the settings file and, in lower case,
/// of the environment variables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ServerSettings {
    /// Name of the model that answers if a user chooses none; null for the first model.
    pub default_model: Option<String>,
    /// `true` if models write the titles of conversations.
    pub llm_titles: bool,
    /// The models that review high-risk tool calls; null if none do.
    pub review: Option<ReviewFields>,
    /// Summaries of long conversations.
    pub memory: MemoryFields,
    /// Answers by a plan.
    pub plan: PlanFields,
    /// Hours that a tool call waits for approval before it is denied; 0 for no timeout.
    pub consent_wait_hours: f64,
    /// `true` if users can share conversations with links.
    pub sharing: bool,
    /// The sign-up policy: who can create an account: `open` (everyone), `invitation` or `closed` (admins create
    /// accounts).
    pub sign_up: String,
    /// Maximum number of answers that are written at once for a user; 0 for no limit.
    pub max_turns_per_person: u32,
    /// Maximum number of messages of a user per minute; 0 for no limit.
    pub max_messages_per_minute: u32,
    /// Tokens that models may read and write for a user within 24 hours; 0 for no limit.
    pub max_tokens_per_day: u64,
    /// Days before deleted data is purged; 0 purges it immediately.
    pub retention_days: f64,
    /// Instructions for every conversation of every user, before the user's own; empty for none.
    pub instructions: String,
}

impl ServerSettings {
    /// Returns the settings by their names.
    #[must_use]
    pub fn to_map(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(members)) => members,
            _ => Map::new(),
        }
    }
}

/// The models that review high-risk tool calls, as in the section `[review]` of the settings file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReviewFields {
    /// Names of the models; each has one vote.
    pub models: Vec<String>,
    /// `advise` (a person decides and sees the votes; the default) or `decide`.
    #[serde(default = "advise")]
    pub mode: String,
    /// Minimum number of votes for a decision; null for the majority.
    #[serde(default)]
    pub quorum: Option<usize>,
    /// Timeout of the votes on the calls of one step, in seconds; null for 30.
    #[serde(default)]
    pub timeout_secs: Option<u64>,
}

fn advise() -> String {
    "advise".to_owned()
}

/// Summaries of long conversations, as in the section `[memory]` of the settings file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MemoryFields {
    /// Name of the model that writes summaries; null for the model that answered.
    #[serde(default)]
    pub summary_model: Option<String>,
    /// Number of tokens above which a conversation is summarized; null for 70 % of the model's context window.
    #[serde(default)]
    pub after_tokens: Option<usize>,
    /// Maximum length of a summary in characters; 0 turns summaries off.
    pub max_chars: usize,
}

/// Answers by a plan, as in the section `[plan]` of the settings file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PlanFields {
    /// Name of the model that makes plans; null for the model that answers.
    #[serde(default)]
    pub planner_model: Option<String>,
    /// Maximum number of attempts at one step.
    pub max_attempts: u32,
    /// Maximum number of attempts at all steps together.
    pub max_total_attempts: u32,
}

/// Response of `GET` and `PATCH /api/admin/settings`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CurrentServerSettings {
    /// The values that apply.
    pub settings: ServerSettings,
    /// Names of the settings that admins have changed. If one is set to null, it has its default again.
    pub changed: Vec<String>,
    /// Names of the settings that the settings file or the environment sets, so that they can only be changed there.
    pub set_in_file: Vec<String>,
    /// Sentences about settings that have no effect, such as a default model that was removed.
    pub problems: Vec<String>,
    /// ID of the latest change, 0 if there is none. Also in the header `ETag`.
    pub version: i64,
}

/// Response of `GET /api/admin/settings/history`: the latest changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SettingsHistory {
    /// The changes, latest first; at most 100.
    pub items: Vec<SettingsChange>,
}

/// A change of the server's settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SettingsChange {
    /// ID of the change: the version of the settings after it.
    pub id: i64,
    /// Name of the admin.
    pub changed_by: String,
    /// Time of the change.
    pub created_at: DateTime<Utc>,
    /// The values before the change, by the names of the settings; null is the default.
    pub before: BTreeMap<String, Value>,
    /// The values after the change.
    pub after: BTreeMap<String, Value>,
}
