//! Approvals that reach beyond their own call: which there are, and taking one back.

use tallybook_protocol::{Approval, ApprovalId, ApprovalScope};

use super::{
    ServiceError,
    service::ConversationService,
    store::approvals::{self, StandingRow},
};
use crate::accounts::UserId;

/// How many are listed, the newest first.
const MAX_LISTED: u32 = 1000;

impl ConversationService {
    /// A user's standing approvals, the newest first.
    pub async fn list_approvals(&self, user: UserId) -> Result<Vec<Approval>, ServiceError> {
        let rows = approvals::list_standing(&self.context.db, user, MAX_LISTED).await?;
        Ok(rows.into_iter().map(approval).collect())
    }

    /// Takes one back: from now on the tool is asked for again.
    pub async fn revoke_approval(&self, user: UserId, id: ApprovalId) -> Result<(), ServiceError> {
        if approvals::revoke(&self.context.db, user, id).await? { Ok(()) } else { Err(ServiceError::NoSuchApproval) }
    }
}

fn approval(row: StandingRow) -> Approval {
    let StandingRow {
        id,
        tool_name,
        scope,
        uuid,
        tool_call_id,
        decided_by,
        decided_by_kind,
        decided_by_user_id,
        created_at,
    } = row;
    let conversation_id = uuid.parse().ok().filter(|_| scope == ApprovalScope::Conversation);
    Approval {
        id,
        tool_name,
        scope,
        conversation_id,
        tool_call_id,
        decided_by,
        decided_by_kind,
        decided_by_user_id,
        created_at,
    }
}
