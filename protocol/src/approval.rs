//! Approval of tool calls: the calls that wait for a user, the user's decisions, and the votes of reviewing models.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{ApprovalId, RawJson, ToolCallId, time};

/// A high-risk call is stored as `awaiting_approval`. Its turn is about to pause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalRequested {
    /// Row id of the call.
    pub tool_call_id: ToolCallId,
    /// The tool's name.
    pub tool_name: String,
    /// The arguments as the model wrote them. If they are too long, one JSON string with their beginning.
    pub input: RawJson,
    /// Length of the arguments as the model wrote them, in UTF-8 bytes; only with `truncated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_bytes: Option<i64>,
    /// `true` if the arguments here are truncated. `GET /api/tool-calls/{id}` returns them in full.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Position of the call in the answer's text, in UTF-8 bytes.
    pub offset: i64,
    /// The tool's risk: `high`.
    pub risk: String,
    /// Votes of the reviewing models so far.
    #[serde(default)]
    pub reviews: Vec<ToolCallReview>,
}

/// A decision on a waiting call is stored. `tool_call_start` follows when an approved call runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalDecided {
    /// Row id of the call.
    pub tool_call_id: ToolCallId,
    /// The decision.
    pub decision: Decision,
    /// The decider's name: the user's, or a fixed word for the other kinds. A user may have the same name: compare the
    /// kind.
    pub decided_by: String,
    /// The kind of decider.
    #[serde(default)]
    pub decided_by_kind: DeciderKind,
    /// The user's row id; absent if no user decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by_user_id: Option<i64>,
    /// The scope of an approval beyond this call; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<ApprovalScope>,
    /// The time of the decision; absent in events that an earlier version stored.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "time::read_some")]
    pub decided_at: Option<DateTime<Utc>>,
    /// The decider's reason; absent if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The edited arguments that the call runs with; absent if they were not edited. Truncated as in
    /// [`ApprovalRequested`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<RawJson>,
}

impl ApprovalDecided {
    /// Returns the decision in the form that the call contains. An event of an earlier version has no time of its own,
    /// and gets `stored_at`.
    pub fn to_decision(&self, stored_at: DateTime<Utc>) -> ToolCallDecision {
        ToolCallDecision {
            decision: self.decision,
            decided_by: self.decided_by.clone(),
            decided_by_kind: self.decided_by_kind,
            decided_by_user_id: self.decided_by_user_id,
            scope: self.scope,
            decided_at: self.decided_at.unwrap_or(stored_at),
        }
    }
}

/// The last decision on a tool call, as it appears in the call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolCallDecision {
    /// The decision.
    pub decision: Decision,
    /// The decider's name, as in [`ApprovalDecided`].
    pub decided_by: String,
    /// The kind of decider.
    #[serde(default)]
    pub decided_by_kind: DeciderKind,
    /// The user's row id; absent if no user decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by_user_id: Option<i64>,
    /// The scope of an approval beyond this call; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<ApprovalScope>,
    /// The time of the decision.
    #[serde(deserialize_with = "time::read")]
    pub decided_at: DateTime<Utc>,
}

/// A reviewing model's vote on a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolCallReview {
    /// Row id of the call.
    pub tool_call_id: ToolCallId,
    /// The catalog's name of the model.
    pub model: String,
    /// Its vote.
    pub verdict: Verdict,
    /// The model's reason.
    pub reason: String,
    /// Duration of the review, in milliseconds.
    pub duration_ms: i64,
}

/// A decision on a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The call runs.
    Approve,
    /// The call does not run, and the model receives the denial.
    Deny,
}

impl Decision {
    /// Returns the name on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Deny => "deny",
        }
    }
}

impl From<String> for Decision {
    /// Converts every name except `approve` to a refusal.
    fn from(word: String) -> Self {
        if word == "approve" { Self::Approve } else { Self::Deny }
    }
}

/// The kind of decider of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeciderKind {
    /// The user that the conversation belongs to.
    User,
    /// The reviewing models.
    Review,
    /// The waiting time ended without a decision.
    Timeout,
    /// An earlier version recorded no kind, or this reader does not know it yet.
    #[default]
    #[serde(other)]
    Unknown,
}

impl DeciderKind {
    /// Returns the name on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Review => "review",
            Self::Timeout => "timeout",
            Self::Unknown => "unknown",
        }
    }
}

impl From<Option<String>> for DeciderKind {
    /// Converts the value of the column, which servers of an earlier version leave empty.
    fn from(word: Option<String>) -> Self {
        let known = [Self::User, Self::Review, Self::Timeout];
        known.into_iter().find(|kind| word.as_deref() == Some(kind.as_str())).unwrap_or_default()
    }
}

/// Vote of a reviewing model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The call may run.
    Approve,
    /// The call should not run.
    Reject,
    /// No vote: the model failed, answered too late, or answered something else.
    Abstain,
    /// A verdict that this version does not know.
    #[serde(other)]
    Unknown,
}

impl Verdict {
    /// Returns the name on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Abstain => "abstain",
            Self::Unknown => "unknown",
        }
    }
}

impl From<String> for Verdict {
    fn from(word: String) -> Self {
        let known = [Self::Approve, Self::Reject, Self::Abstain];
        known.into_iter().find(|verdict| verdict.as_str() == word).unwrap_or(Self::Unknown)
    }
}

/// Scope of an approval beyond its own call. Later calls of the tool within the scope need no approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalScope {
    /// The conversation of the call.
    Conversation,
    /// All conversations of the user.
    Always,
}

impl ApprovalScope {
    /// Returns the name on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Always => "always",
        }
    }
}

impl From<String> for ApprovalScope {
    /// Converts every name except `always` to a scope that is limited to the conversation.
    fn from(word: String) -> Self {
        if word == "always" { Self::Always } else { Self::Conversation }
    }
}

/// Body of `POST /api/tool-calls/{id}/decision`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewDecision {
    /// The decision.
    pub decision: Decision,
    /// The reason for a denial, which the model receives. At most 4 KiB.
    #[cfg_attr(feature = "openapi", schema(max_length = 4096))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Arguments that replace the model's; only with an approval.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<RawJson>,
    /// Saves the approval for later calls of this tool in the given scope; only with an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<ApprovalScope>,
}

/// One decision of [`NewDecisions`]: the fields of a [`NewDecision`], and the ID of the call.
// The fields are repeated, because a `RawJson` cannot be read through `flatten`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CallDecision {
    /// Row id of the call.
    pub tool_call_id: ToolCallId,
    /// The decision.
    pub decision: Decision,
    /// The reason, as in [`NewDecision`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The edited arguments, as in [`NewDecision`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<RawJson>,
    /// The scope of a saved approval, as in [`NewDecision`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<ApprovalScope>,
}

/// Body of `POST /api/conversations/{uuid}/decisions`: several decisions, of which all or none take effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewDecisions {
    /// The decisions, one for each call.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 1000))]
    pub decisions: Vec<CallDecision>,
}

/// A saved approval, as `GET /api/approvals` lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Approval {
    /// Row id, for `DELETE /api/approvals/{id}`.
    pub id: ApprovalId,
    /// The tool whose calls need no further approval.
    pub tool_name: String,
    /// The scope of the approval.
    pub scope: ApprovalScope,
    /// UUID of the conversation in which the approval applies; absent if it applies in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<Uuid>,
    /// Row id of the call that was approved.
    pub tool_call_id: ToolCallId,
    /// Name of the user who approved.
    pub decided_by: String,
    /// The kind of decider.
    #[serde(default)]
    pub decided_by_kind: DeciderKind,
    /// The user's row id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by_user_id: Option<i64>,
    /// Time of the approval.
    pub created_at: DateTime<Utc>,
}

/// Body and response of `PUT /api/conversations/{uuid}/tools`: the tools that are turned off in the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DisabledTools {
    /// Names of tools, sorted. Names of tools that do not exist at the moment are kept.
    #[cfg_attr(feature = "openapi", schema(max_items = 500))]
    pub disabled: Vec<String>,
}

/// Body of `POST /api/tools/settings`, which turns single tools of a conversation on or off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolSwitches {
    /// The conversation's UUID, or the id that an API client gave it in `X-OpenWebUI-Chat-Id` or
    /// `X-Tallybook-Conversation`.
    #[cfg_attr(feature = "openapi", schema(max_length = 200))]
    pub session_id: String,
    /// Names of tools, with `true` to turn a tool on and `false` to turn it off.
    pub tools: BTreeMap<String, bool>,
}

#[cfg(test)]
mod tests {
    use super::{ApprovalDecided, ApprovalScope, CallDecision, DeciderKind, Decision, NewDecisions, Verdict};

    #[test]
    fn as_str_returns_the_name_on_the_wire() {
        for decision in [Decision::Approve, Decision::Deny] {
            assert_eq!(serde_json::to_value(decision).unwrap(), decision.as_str());
            assert_eq!(Decision::from(decision.as_str().to_owned()), decision);
        }
        for verdict in [Verdict::Approve, Verdict::Reject, Verdict::Abstain] {
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.as_str());
            assert_eq!(Verdict::from(verdict.as_str().to_owned()), verdict);
        }
        for kind in [DeciderKind::User, DeciderKind::Review, DeciderKind::Timeout] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
            assert_eq!(DeciderKind::from(Some(kind.as_str().to_owned())), kind);
        }
        for scope in [ApprovalScope::Conversation, ApprovalScope::Always] {
            assert_eq!(serde_json::to_value(scope).unwrap(), scope.as_str());
            assert_eq!(ApprovalScope::from(scope.as_str().to_owned()), scope);
        }
    }

    #[test]
    fn a_decision_without_a_kind_is_of_an_unknown_kind() {
        let json = r#"{"tool_call_id":7,"decision":"deny","decided_by":"review","decided_by_kind":"committee"}"#;
        for json in [json.to_owned(), json.replace(r#","decided_by_kind":"committee""#, "")] {
            let decided: ApprovalDecided = serde_json::from_str(&json).unwrap();
            assert_eq!((decided.decided_by_kind, decided.decided_by_user_id), (DeciderKind::Unknown, None));
        }
        assert_eq!(DeciderKind::from(None), DeciderKind::Unknown);
    }

    #[test]
    fn an_edited_input_keeps_every_digit() {
        let json = r#"{"decisions":[{"tool_call_id":7,"decision":"approve","input":{"b": 0.10000000000000000001}}]}"#;
        let NewDecisions { decisions } = serde_json::from_str(json).unwrap();
        let [CallDecision { input: Some(input), remember: None, reason: None, .. }] = decisions.as_slice() else {
            panic!("{decisions:?}")
        };
        assert_eq!(input.as_str(), r#"{"b": 0.10000000000000000001}"#);
    }
}
