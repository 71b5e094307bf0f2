//! SQL that reads decisions on tool calls. `approvals` writes them.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_database::{Database, select};
use tallybook_protocol::{
    ApprovalDecided, ApprovalScope, DeciderKind, Decision, MessageId, RawJson, ToolCallDecision, ToolCallId,
};

use crate::store::{by_ids::by_ids, rows::ToolCallRow};

/// The decider of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Decider<'a> {
    /// The conversation's owner, with the owner's name at that time.
    User { id: UserId, name: &'a str },
    /// The reviewing models.
    Review,
    /// The call's time to wait for approval ended without a decision.
    Timeout,
}

impl Decider<'_> {
    pub(crate) fn kind(self) -> DeciderKind {
        match self {
            Self::User { .. } => DeciderKind::User,
            Self::Review => DeciderKind::Review,
            Self::Timeout => DeciderKind::Timeout,
        }
    }

    /// Returns a name for display and for clients that do not know decider kinds. A user may have one of the fixed
    /// names, too.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::User { name, .. } => name,
            Self::Review => "review",
            Self::Timeout => "nobody",
        }
    }

    pub(crate) fn user_id(self) -> Option<i64> {
        match self {
            Self::User { id, .. } => Some(id.0),
            Self::Review | Self::Timeout => None,
        }
    }

    /// Returns a decision that applies to one call only.
    pub(crate) fn decides(self, decision: Decision, decided_at: DateTime<Utc>) -> ToolCallDecision {
        ToolCallDecision {
            decision,
            decided_by: self.name().to_owned(),
            decided_by_kind: self.kind(),
            decided_by_user_id: self.user_id(),
            scope: None,
            decided_at,
        }
    }
}

/// A stored decision.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct DecisionRow {
    pub tool_call_id: ToolCallId,
    #[sqlx(try_from = "String")]
    pub decision: Decision,
    pub decided_by: String,
    #[sqlx(try_from = "Option<String>")]
    pub decided_by_kind: DeciderKind,
    decided_by_user_id: Option<i64>,
    pub reason: Option<String>,
    scope: Option<String>,
    created_at: DateTime<Utc>,
}

impl DecisionRow {
    fn into_decision(self) -> ToolCallDecision {
        ToolCallDecision {
            decision: self.decision,
            decided_by: self.decided_by,
            decided_by_kind: self.decided_by_kind,
            decided_by_user_id: self.decided_by_user_id,
            scope: self.scope.map(ApprovalScope::from),
            decided_at: self.created_at,
        }
    }

    /// Returns the event that reports the decision. `input` is set if the user edited the input.
    pub(crate) fn into_event(self, input: Option<RawJson>) -> ApprovalDecided {
        let (tool_call_id, reason) = (self.tool_call_id, self.reason.clone());
        decided_event(tool_call_id, self.into_decision(), reason, input)
    }
}

/// Returns the event that reports a decision.
pub(crate) fn decided_event(
    tool_call_id: ToolCallId,
    decision: ToolCallDecision,
    reason: Option<String>,
    input: Option<RawJson>,
) -> ApprovalDecided {
    let ToolCallDecision { decision, decided_by, decided_by_kind, decided_by_user_id, scope, decided_at } = decision;
    ApprovalDecided {
        tool_call_id,
        decision,
        decided_by,
        decided_by_kind,
        decided_by_user_id,
        scope,
        decided_at: Some(decided_at),
        reason,
        input,
    }
}

/// Returns the last decision on a call.
pub(crate) async fn find(db: &Database, id: ToolCallId) -> sqlx::Result<Option<DecisionRow>> {
    db.reader()
        .query(select!(
            "SELECT tool_call_id, decision, decided_by, decided_by_kind, decided_by_user_id, reason, \
             scope, created_at FROM approvals WHERE tool_call_id = ? \
             ORDER BY created_at DESC, id DESC LIMIT 1"
        ))
        .bind(id)
        .fetch_optional()
        .await
}

/// Lists the decisions on the calls of a turn's last step, oldest first.
pub(crate) async fn list_of_last_step(db: &Database, message_id: MessageId) -> sqlx::Result<Vec<DecisionRow>> {
    db.reader()
        .query(select!(
            "SELECT a.tool_call_id, a.decision, a.decided_by, a.decided_by_kind, a.decided_by_user_id, \
             a.reason, a.scope, a.created_at FROM approvals a JOIN tool_calls t ON t.id = a.tool_call_id \
             WHERE t.message_id = ? AND t.step = (SELECT MAX(s.step) FROM tool_calls s WHERE s.message_id = ?) \
             ORDER BY a.created_at, a.id"
        ))
        .bind(message_id)
        .bind(message_id)
        .fetch_all()
        .await
}

/// Adds the last decision to each call that was decided on.
pub(crate) async fn add_decisions(db: &Database, calls: &mut [ToolCallRow]) -> sqlx::Result<()> {
    let ids: Vec<ToolCallId> = calls.iter().filter(|call| call.decided_at.is_some()).map(|call| call.id).collect();
    let rows: Vec<DecisionRow> = by_ids(
        db,
        select!(
            "SELECT tool_call_id, decision, decided_by, decided_by_kind, decided_by_user_id, reason, \
             scope, created_at FROM approvals WHERE tool_call_id IN ("
        ),
        &ids,
        ") ORDER BY created_at, id",
    )
    .await?;
    let mut decisions: HashMap<ToolCallId, DecisionRow> = rows.into_iter().map(|row| (row.tool_call_id, row)).collect();
    for call in calls {
        call.decision = decisions.remove(&call.id).map(DecisionRow::into_decision);
    }
    Ok(())
}
