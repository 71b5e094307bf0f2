//! SQL that reads decisions on tool calls, and SQL for the votes of reviewing models on them. `approvals` writes the
//! decisions.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_agent::Vote;
use tallybook_database::{Database, Transaction, select};
use tallybook_protocol::{
    ApprovalDecided, ApprovalScope, DeciderKind, Decision, MessageId, RawJson, ToolCallDecision, ToolCallId,
    ToolCallReview, Verdict,
};

use crate::store::rows::ToolCallRow;

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

/// The columns of a [`DecisionRow`], from `approvals a`.
macro_rules! decision_columns {
    () => {
        "a.tool_call_id, a.decision, a.decided_by, a.decided_by_kind, a.decided_by_user_id, a.reason, a.scope, a.created_at"
    };
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

/// Returns the name of a user who decides.
pub(crate) async fn find_user_name(db: &Database, user: UserId) -> sqlx::Result<String> {
    db.reader().query(select!("SELECT name FROM users WHERE id = ?")).bind(user).fetch_value().await
}

/// Returns the last decision on a call.
pub(crate) async fn find(db: &Database, id: ToolCallId) -> sqlx::Result<Option<DecisionRow>> {
    db.reader()
        .query(select!(concat!(
            "SELECT ",
            decision_columns!(),
            " FROM approvals a WHERE a.tool_call_id = ? ORDER BY a.created_at DESC, a.id DESC LIMIT 1"
        )))
        .bind(id)
        .fetch_optional()
        .await
}

/// Lists the decisions on the calls of a turn's last step, oldest first.
pub(crate) async fn list_of_last_step(db: &Database, message_id: MessageId) -> sqlx::Result<Vec<DecisionRow>> {
    db.reader()
        .query(select!(concat!(
            "SELECT ",
            decision_columns!(),
            " FROM approvals a JOIN tool_calls t ON t.id = a.tool_call_id \
             WHERE t.message_id = ? AND t.step = (SELECT MAX(s.step) FROM tool_calls s WHERE s.message_id = ?) \
             ORDER BY a.created_at, a.id"
        )))
        .bind(message_id)
        .bind(message_id)
        .fetch_all()
        .await
}

/// Adds the last decision to each call that was decided on.
pub(crate) async fn add_decisions(db: &Database, calls: &mut [ToolCallRow]) -> sqlx::Result<()> {
    let ids: Vec<ToolCallId> = calls.iter().filter(|call| call.decided_at.is_some()).map(|call| call.id).collect();
    let rows: Vec<DecisionRow> = db
        .reader()
        .list_by_ids(
            select!(concat!("SELECT ", decision_columns!(), " FROM approvals a WHERE a.tool_call_id IN (")),
            &ids,
            ") ORDER BY a.created_at, a.id",
        )
        .await?;
    let mut decisions: HashMap<ToolCallId, DecisionRow> = rows.into_iter().map(|row| (row.tool_call_id, row)).collect();
    for call in calls {
        call.decision = decisions.remove(&call.id).map(DecisionRow::into_decision);
    }
    Ok(())
}

/// A row of `tool_call_reviews`, with the columns that clients receive.
#[derive(sqlx::FromRow)]
struct ReviewRow {
    tool_call_id: ToolCallId,
    model: String,
    #[sqlx(try_from = "String")]
    verdict: Verdict,
    reason: String,
    duration_ms: i64,
}

impl From<ReviewRow> for ToolCallReview {
    fn from(row: ReviewRow) -> Self {
        let ReviewRow { tool_call_id, model, verdict, reason, duration_ms } = row;
        Self { tool_call_id, model, verdict, reason, duration_ms }
    }
}

/// Replaces the votes on a call. If approval is requested again, the old votes were on another definition of the tool.
pub(crate) async fn replace_reviews(
    tx: &mut Transaction,
    id: ToolCallId,
    votes: &[Vote],
    at: DateTime<Utc>,
) -> sqlx::Result<()> {
    tx.query("DELETE FROM tool_call_reviews WHERE tool_call_id = ?").bind(id).execute().await?;
    for Vote { model, verdict, reason, usage, duration_ms } in votes {
        let vote = tx
            .query(
                "INSERT INTO tool_call_reviews \
                 (tool_call_id, model, verdict, reason, input_tokens, output_tokens, duration_ms, created_at) \
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            )
            .bind(id)
            .bind(model)
            .bind(verdict.as_str())
            .bind(reason);
        let vote = vote.bind(usage.input_tokens).bind(usage.output_tokens).bind(*duration_ms).bind(at);
        vote.execute().await?;
    }
    Ok(())
}

/// Adds the votes to calls.
pub(crate) async fn add_reviews(db: &Database, calls: &mut [ToolCallRow]) -> sqlx::Result<()> {
    // Calls without a hash were not reviewed.
    let ids: Vec<ToolCallId> = calls.iter().filter(|call| call.tool_hash.is_some()).map(|call| call.id).collect();
    let select = select!(
        "SELECT tool_call_id, model, verdict, reason, duration_ms FROM tool_call_reviews WHERE tool_call_id IN ("
    );
    let rows: Vec<ReviewRow> = db.reader().list_by_ids(select, &ids, ") ORDER BY created_at, id").await?;
    let mut reviews: HashMap<ToolCallId, Vec<ToolCallReview>> = HashMap::new();
    for row in rows {
        reviews.entry(row.tool_call_id).or_default().push(row.into());
    }
    for call in calls {
        call.reviews = reviews.remove(&call.id).unwrap_or_default();
    }
    Ok(())
}
