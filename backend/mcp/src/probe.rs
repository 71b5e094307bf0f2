//! Tests a tool server: connects to it once and lists its tools.

use std::sync::Arc;

use tallybook_tools::{Risk, Secrets};

use super::{
    listing::LeftOut, pins::AcceptAll, server::Server, settings::ToolServerSettings, tool_selection::ToolSelection,
};

/// The tools of a tested server.
#[derive(Clone, Debug)]
pub struct ProbedTools {
    /// Tools that would be available.
    pub tools: Vec<ProbedTool>,
    /// Tools that would not be available, with the reasons.
    pub left_out: Vec<LeftOut>,
}

/// A tool of a tested server.
#[derive(Clone, Debug)]
pub struct ProbedTool {
    /// Name that the server uses for the tool.
    pub name: String,
    /// Description of the tool.
    pub description: String,
    /// Risk of its calls.
    pub risk: Risk,
}

/// Connects to a server with these settings, and lists its tools. Variables in the settings are not expanded. The error
/// is a message for admins, without `secrets`.
pub async fn probe(name: &str, settings: ToolServerSettings, secrets: &Secrets) -> Result<ProbedTools, String> {
    // Nothing is stored about a server that is only tested.
    let server = Server::new(name, settings, None, Arc::new(AcceptAll), secrets, &|_: &str| None);
    let selection = server.probe().await.map_err(|error| secrets.redact(error.to_string()).into_owned())?;
    Ok(selection.into())
}

impl From<ToolSelection> for ProbedTools {
    fn from(selection: ToolSelection) -> Self {
        let tools = selection.tools.into_iter().map(|tool| ProbedTool {
            name: tool.listed.name,
            description: tool.listed.description,
            risk: tool.risk,
        });
        Self { tools: tools.collect(), left_out: selection.left_out }
    }
}
