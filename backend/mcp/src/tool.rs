//! A tool of a server, in the form that the registry holds.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tallybook_tools::{AdmittedCall, AnyTool, MAX_INPUT_BYTES, ProgressSender, Slot, ToolError, ToolSpec, UserKey};

use super::{exact::Arguments, server::Server, tool_selection::SelectedTool};

pub(crate) struct ServerTool {
    spec: ToolSpec,
    /// Name that the server uses.
    name: String,
    server: Arc<Server>,
}

impl ServerTool {
    /// Creates the tool under a name that is free.
    pub(crate) fn new(name: String, tool: &SelectedTool, server: Arc<Server>) -> Self {
        let spec = ToolSpec {
            name,
            description: tool.listed.description.clone(),
            aliases: Vec::new(),
            input_schema: tool.listed.input_schema.clone(),
            server: Some(server.name.clone()),
            risk: tool.risk,
            idempotent: tool.idempotent,
            definition_hash: Some(tool.listed.hash),
        };
        Self { spec, name: tool.listed.name.clone(), server }
    }
}

impl AnyTool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn acquire_slot(self: Arc<Self>, user_key: UserKey) -> BoxFuture<'static, Result<Option<Slot>, ToolError>> {
        Box::pin(async move { self.server.acquire_slot(user_key).await.map(Some) })
    }

    fn call(self: Arc<Self>, input_text: String, progress: ProgressSender) -> AdmittedCall {
        Box::pin(async move {
            if input_text.len() > MAX_INPUT_BYTES {
                return Err(ToolError::invalid("arguments", format_args!("longer than {MAX_INPUT_BYTES} bytes")));
            }
            let arguments = Arguments::read(&input_text).map_err(|error| ToolError::invalid("arguments", error))?;
            self.server.call(self.name.clone(), arguments, progress).await
        })
    }
}
