//! Lists and revokes a user's saved approvals, which apply beyond the call that they were given for.

use tallybook_accounts::UserId;
use tallybook_protocol::{Approval, ApprovalId, ApprovalScope};

use super::{
    ServiceError,
    service::ConversationService,
    store::approvals::{self, StandingRow},
};

/// Maximum number of approvals in the list; the newest are listed.
const MAX_LISTED: u32 = 1000;

impl ConversationService {
    /// Lists a user's saved approvals, newest first.
    pub async fn list_approvals(&self, user: UserId) -> Result<Vec<Approval>, ServiceError> {
        let rows = approvals::list_standing(&self.context.db, user, MAX_LISTED).await?;
        Ok(rows.into_iter().map(approval).collect())
    }

    /// Revokes a saved approval: from now on, calls of the tool need approval again. Fails with `NoSuchApproval` if the
    /// user has no such approval.
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
