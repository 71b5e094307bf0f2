//! Accepts a tool's current definition. `mcp` detects changed definitions, and `tool_pins` stores the accepted ones.

use crate::{ServiceError, service::ConversationService};

impl ConversationService {
    /// Accepts the current definition of a tool, which is identified by its server's name for it. If `hash` (in hex) is
    /// set, only the definition with this hash is accepted; otherwise the call fails with `DefinitionChanged`.
    pub async fn accept_tool(&self, server: &str, tool: &str, hash: Option<&str>) -> Result<(), ServiceError> {
        let servers = &self.context.tool_servers;
        let definition = servers.definition(server, tool).ok_or(ServiceError::NoSuchTool)?;
        if hash.is_some_and(|hash| !hash.eq_ignore_ascii_case(&hex::encode(definition))) {
            return Err(ServiceError::DefinitionChanged);
        }
        if !self.context.tool_pins.accept(server, tool, definition).await? {
            return Err(ServiceError::TooManyTools);
        }
        servers.accept(server, tool, definition);
        Ok(())
    }
}
