//! Lists and revokes saved approvals, and accepts a tool's current definition. `mcp` detects changed definitions, and
//! `tool_pins` stores the accepted ones.

use tallybook_accounts::{AuditAction, UserId, note_audit};
use tallybook_database::with_retries;
use tallybook_protocol::{Approval, ApprovalId, ApprovalScope, first_chars};

use crate::{
    ServiceError,
    service::ConversationService,
    store::approvals::{self, SavedApprovalRow},
    tool_pins,
};

/// Maximum number of approvals in the list; the newest are listed.
const MAX_LISTED: u32 = 1000;

/// Maximum length of a subject in the audit log, in characters: the width of its column.
const MAX_AUDIT_SUBJECT_CHARS: usize = 200;

impl ConversationService {
    /// Lists a user's saved approvals, newest first.
    pub async fn list_approvals(&self, user: UserId) -> Result<Vec<Approval>, ServiceError> {
        let rows = approvals::list_saved(&self.context.db, user, MAX_LISTED).await?;
        Ok(rows.into_iter().map(approval).collect())
    }

    /// Revokes a saved approval: from now on, calls of the tool need approval again. Fails with `NoSuchApproval` if the
    /// user has no such approval.
    pub async fn revoke_approval(&self, user: UserId, id: ApprovalId) -> Result<(), ServiceError> {
        if approvals::revoke(&self.context.db, user, id).await? { Ok(()) } else { Err(ServiceError::NoSuchApproval) }
    }
}

fn approval(row: SavedApprovalRow) -> Approval {
    let SavedApprovalRow {
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
    let conversation_id = (scope == ApprovalScope::Conversation).then_some(uuid);
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

impl ConversationService {
    /// Accepts the current definition of a tool. `tool` is the name that the tool server uses. If `hash` (in hex) is
    /// set and the current definition has another hash, fails with `DefinitionChanged`. Fails with `NoSuchTool` if no
    /// connected server has the tool, and with `TooManyTools` if the tool is new and the server already has `MAX_PINS`
    /// tools. Records the acceptance and the admin in the audit log.
    pub async fn accept_tool(
        &self,
        admin: UserId,
        server: &str,
        tool: &str,
        hash: Option<&str>,
    ) -> Result<(), ServiceError> {
        let servers = &self.context.tool_servers;
        let definition = servers.definition(server, tool).ok_or(ServiceError::NoSuchTool)?;
        if hash.is_some_and(|hash| !hash.eq_ignore_ascii_case(&hex::encode(definition))) {
            return Err(ServiceError::DefinitionChanged);
        }
        let name = format!("{server}/{tool}");
        let accept = || async {
            let mut tx = self.context.db.begin().await?;
            if !tool_pins::accept(&mut tx, server, tool, definition).await? {
                return Err(ServiceError::TooManyTools);
            }
            let subject = first_chars(&name, MAX_AUDIT_SUBJECT_CHARS);
            note_audit(&mut tx, Some(admin), admin, AuditAction::ToolAccepted, subject).await?;
            Ok(tx.commit().await?)
        };
        with_retries(accept).await?;
        servers.accept(server, tool, definition);
        Ok(())
    }
}
