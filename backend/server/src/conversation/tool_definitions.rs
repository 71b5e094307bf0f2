//! Accepting the definition that a tool of a server has now. That it changed is noticed by `mcp`; what is accepted is kept in
//! `tool_pins`.

use super::{ServiceError, service::ConversationService};

impl ConversationService {
    /// Accepts the definition that a tool has now, by what its server calls it. `hash`, in hex, is the one that was looked
    /// at; where it is given, no other one is accepted.
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
