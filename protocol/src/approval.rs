//! Approval of tool calls: the calls that wait for a user, the user's decisions, and the votes of reviewing models.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{ApprovalId, RawJson, ToolCallId, time};

/// A high-risk call is stored as `awaiting_approval`; its turn is about to end its run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalRequested {
    /// Row id of the call.
    pub tool_call_id: ToolCallId,
    /// The tool's name.
    pub tool_name: String,
    /// The arguments as the model wrote them; as one JSON string with their beginning when they are long.
    pub input: RawJson,
    /// How many UTF-8 bytes the arguments have as the model wrote them; only with `truncated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_bytes: Option<i64>,
    /// Whether something was left out of the arguments here; `GET /api/tool-calls/{id}` gives all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Where in the answer's text it was asked for, in UTF-8 bytes.
    pub offset: i64,
    /// The tool's risk: `high`.
    pub risk: String,
    /// What reviewing models said of it so far.
    #[serde(default)]
    pub reviews: Vec<ToolCallReview>,
}

/// A decision on a call that waited is stored. One that was approved has its `tool_call_start` when it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalDecided {
    /// Row id of the call.
    pub tool_call_id: ToolCallId,
    /// What was decided.
    pub decision: Decision,
    /// The decider's name: the user's, or a fixed word for the other kinds. A user may have the same name: compare the kind.
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
    /// Why, in the decider's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The arguments that the call runs with, where they were edited; cut as in [`ApprovalRequested`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<RawJson>,
}

impl ApprovalDecided {
    /// Returns the decision in the form that the call contains. An event of an earlier version has no time of its own, and gets
    /// `stored_at`.
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

/// The last decision on a call, as the call carries it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolCallDecision {
    /// The decision.
    pub decision: Decision,
    /// As in [`ApprovalDecided`].
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
    /// Why, in its words.
    pub reason: String,
    /// How long it took, in milliseconds.
    pub duration_ms: i64,
}

/// What is decided of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It runs.
    Approve,
    /// It does not run, and the model is told so.
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

/// What a reviewing model advises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The call may run.
    Approve,
    /// It should not.
    Reject,
    /// No vote: the model failed, was late, or said something else.
    Abstain,
    /// A verdict that this reader does not know yet.
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

/// How far an approval reaches beyond its own call: this tool needs no other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalScope {
    /// In this conversation.
    Conversation,
    /// In all conversations of this person.
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
    /// What is decided.
    pub decision: Decision,
    /// Told to the model with a refusal; at most 4 KiB.
    #[cfg_attr(feature = "openapi", schema(max_length = 4096))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The arguments to run with in place of the model's; only with an approval.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<RawJson>,
    /// Approve this tool from now on; only with an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<ApprovalScope>,
}

/// One of the decisions in [`NewDecisions`]: a [`NewDecision`] and the call that it is about. Written out, since a
/// [`RawJson`] cannot be read through `flatten`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CallDecision {
    /// Row id of the call.
    pub tool_call_id: ToolCallId,
    /// What is decided.
    pub decision: Decision,
    /// As in [`NewDecision`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// As in [`NewDecision`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<RawJson>,
    /// As in [`NewDecision`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<ApprovalScope>,
}

/// Body of `POST /api/conversations/{uuid}/decisions`: several at once, all of them or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewDecisions {
    /// One for each call.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 1000))]
    pub decisions: Vec<CallDecision>,
}

/// A standing approval, as `GET /api/approvals` lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Approval {
    /// Row id, for `DELETE /api/approvals/{id}`.
    pub id: ApprovalId,
    /// The tool that runs without being asked for again.
    pub tool_name: String,
    /// How far it reaches.
    pub scope: ApprovalScope,
    /// The conversation that it holds for; absent where it holds for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<Uuid>,
    /// The call that it was given with.
    pub tool_call_id: ToolCallId,
    /// The name of the user who gave it.
    pub decided_by: String,
    /// The kind of decider.
    #[serde(default)]
    pub decided_by_kind: DeciderKind,
    /// The user's row id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by_user_id: Option<i64>,
    /// When it was given.
    pub created_at: DateTime<Utc>,
}

/// Body of `PUT /api/conversations/{uuid}/tools`, and its answer: the tools that are turned off there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DisabledTools {
    /// Names of tools, in their order; names that no tool has at the moment are kept.
    #[cfg_attr(feature = "openapi", schema(max_items = 500))]
    pub disabled: Vec<String>,
}

/// Body of `POST /api/tools/settings`, which changes the same as [`DisabledTools`], tool by tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolSwitches {
    /// The conversation's UUID, or the id that an API client gave it in `X-OpenWebUI-Chat-Id` or `X-Tallybook-Conversation`.
    #[cfg_attr(feature = "openapi", schema(max_length = 200))]
    pub session_id: String,
    /// Names of tools, and whether each is to be on.
    pub tools: BTreeMap<String, bool>,
}

#[cfg(test)]
mod tests {
    use super::{ApprovalDecided, ApprovalScope, CallDecision, DeciderKind, Decision, NewDecisions, Verdict};

    #[test]
    fn the_words_are_those_on_the_wire() {
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
