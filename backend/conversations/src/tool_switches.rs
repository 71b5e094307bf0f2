//! Turns tools off and on in a conversation. Turns start and resume only with the tools that are on.

use std::{collections::BTreeSet, sync::Arc};

use tallybook_accounts::{UserId, UserPermissions};
use tallybook_database::with_retries;
use tallybook_protocol::{DisabledTools, ToolSwitches};
use tallybook_tools::{ToolRegistry, ToolSpec, is_tool_name};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    ServiceError,
    context::Context,
    limits::MAX_DISABLED_TOOLS,
    service::ConversationService,
    store::{ConversationId, api_clients, turn_settings},
};

impl ConversationService {
    /// Returns the tools that are turned off in a conversation.
    pub async fn disabled_tools(&self, user: UserId, uuid: Uuid) -> Result<DisabledTools, ServiceError> {
        let row = self.context.find_conversation(user, uuid).await?;
        Ok(on_the_wire(turn_settings::find_disabled_tools(&self.context.db, row.id).await?))
    }

    /// Turns off exactly these tools, from the next turn on.
    pub async fn set_disabled_tools(
        &self,
        user: UserId,
        uuid: Uuid,
        new: DisabledTools,
    ) -> Result<DisabledTools, ServiceError> {
        let new = check_disabled_tools(new.disabled)?;
        let row = self.context.find_conversation(user, uuid).await?;
        with_retries(|| self.context.replace_disabled_tools(row.id, &new)).await?;
        Ok(on_the_wire(new))
    }

    /// Turns tools on or off, and leaves all other tools as they are.
    pub async fn switch_tools(&self, user: UserId, switches: ToolSwitches) -> Result<DisabledTools, ServiceError> {
        let ToolSwitches { session_id, tools } = switches;
        let (on, off): (Vec<_>, Vec<_>) = tools.into_iter().partition(|(_, is_on)| *is_on);
        let on: BTreeSet<String> = on.into_iter().map(|(name, _)| name).collect();
        let off = check_disabled_tools(off.into_iter().map(|(name, _)| name).collect())?;
        let id = self.find_session(user, session_id.trim()).await?;
        let disabled = with_retries(|| self.context.switch_tools(id, &on, &off)).await?;
        disabled.map(on_the_wire).ok_or_else(too_many)
    }

    /// Returns the conversation with this UUID, or otherwise the one for which one of the user's API clients uses this
    /// ID. A client's own ID can be a UUID, too, as in Open `WebUI`.
    async fn find_session(&self, user: UserId, session_id: &str) -> Result<ConversationId, ServiceError> {
        if let Ok(uuid) = session_id.parse() {
            match self.context.find_conversation(user, uuid).await {
                Err(ServiceError::NotFound) => {}
                found => return Ok(found?.id),
            }
        }
        api_clients::find_by_chat_id(&self.context.db, user, session_id).await?.ok_or(ServiceError::NotFound)
    }
}

impl Context {
    /// Returns the tools that a turn may use. Right after a start, waits for tool servers that are about to connect,
    /// unless the turn is stopped.
    pub(crate) async fn tools_of_turn(
        &self,
        permissions: &UserPermissions,
        disabled: BTreeSet<String>,
        cancel: &CancellationToken,
    ) -> Arc<ToolRegistry> {
        cancel.run_until_cancelled(self.tool_servers.first_connections()).await;
        let mut tools = self.tool_servers.tools();
        if !tools.specs().iter().all(|spec| may_use(permissions, spec)) {
            tools = Arc::new(tools.only(|spec| may_use(permissions, spec)));
        }
        if disabled.is_empty() { tools } else { Arc::new(tools.without(disabled)) }
    }

    async fn replace_disabled_tools(&self, id: ConversationId, new: &BTreeSet<String>) -> sqlx::Result<()> {
        let mut tx = self.db.begin().await?;
        turn_settings::set_disabled_tools(&mut tx, id, new).await?;
        tx.commit().await
    }

    /// Turns tools on and off. Returns the tools that are off now, or `None`, without a change, if there would be too
    /// many.
    async fn switch_tools(
        &self,
        id: ConversationId,
        on: &BTreeSet<String>,
        off: &BTreeSet<String>,
    ) -> sqlx::Result<Option<BTreeSet<String>>> {
        let mut tx = self.db.begin().await?;
        let mut disabled = turn_settings::lock_disabled_tools(&mut tx, id).await?;
        disabled.retain(|name| !on.contains(name));
        disabled.extend(off.iter().cloned());
        if disabled.len() > MAX_DISABLED_TOOLS {
            return Ok(None);
        }
        turn_settings::set_disabled_tools(&mut tx, id, &disabled).await?;
        tx.commit().await?;
        Ok(Some(disabled))
    }
}

/// Returns `true` if a user with these permissions may use the tool. Built-in tools are open to all users.
pub fn may_use(permissions: &UserPermissions, tool: &ToolSpec) -> bool {
    tool.server.as_deref().is_none_or(|server| permissions.allows_tool_server(server))
}

/// Validates names of tools. A name that no tool can have is refused; a name that no tool has at the moment is
/// accepted.
pub(crate) fn check_disabled_tools(names: Vec<String>) -> Result<BTreeSet<String>, ServiceError> {
    let names: BTreeSet<String> = names.into_iter().collect();
    if names.len() > MAX_DISABLED_TOOLS {
        return Err(too_many());
    }
    if !names.iter().all(|name| is_tool_name(name)) {
        let advice =
            "The name of a tool is 1 to 64 letters, digits, '_' or '-'. GET /api/tools lists the available tools.";
        return Err(ServiceError::Invalid(advice.to_owned()));
    }
    Ok(names)
}

fn too_many() -> ServiceError {
    ServiceError::Invalid(format!("At most {MAX_DISABLED_TOOLS} tools can be turned off in a conversation."))
}

fn on_the_wire(names: BTreeSet<String>) -> DisabledTools {
    DisabledTools { disabled: names.into_iter().collect() }
}
