//! Calling a built-in tool without a model and without a turn, for a program that has a model of its own. Nothing of it is
//! kept: the history has the calls that answers here were made of.

use std::sync::Arc;

use tallybook_tools::{Risk, ToolError, ToolOutput, ToolSpec};
use tokio::time::timeout;

use super::{limits::MAX_DIRECT_OUTPUT_BYTES, service::ConversationService};

impl ConversationService {
    /// The tools that may be called so: those that are built in and of low risk, in the order of names. What servers lend us
    /// is not ours to pass on, and consent is a person's, who sees what is asked.
    pub fn direct_tools(&self) -> Vec<ToolSpec> {
        let specs = self.context.tool_servers.tools().specs();
        specs.iter().filter(|spec| is_direct(spec)).cloned().collect()
    }

    /// Calls one of them with these arguments, under the same limits as in a turn.
    pub async fn call_directly(&self, name: &str, input_text: &str) -> Result<ToolOutput, ToolError> {
        let context = &self.context;
        let tools = context.tool_servers.tools();
        if !tools.find_spec(name).is_some_and(is_direct) {
            return Err(ToolError::other("unknown_tool", "there is no such tool here"));
        }
        let busy = || ToolError::other("busy", "too many tools are being called; try again in a moment");
        let permit = Arc::clone(&context.direct_calls).try_acquire_owned().map_err(|_| busy())?;
        let limit = context.agent.limits().tool_time;
        let call = tools.call(name, input_text);
        // As a task of its own, a panic ends it alone. It ends with the server, whoever waits for it.
        let shut_down = context.shut_down.clone();
        let task = context.spawn(async move {
            let _permit = permit;
            shut_down.run_until_cancelled_owned(timeout(limit, call)).await
        });
        match task.await {
            Ok(Some(Ok(returned))) => returned.map(bounded),
            Ok(Some(Err(_))) => {
                let message = format!("the tool gave no result within {} seconds", limit.as_secs());
                Err(ToolError::other("timeout", message))
            }
            Ok(None) => Err(ToolError::other("shutting_down", "the server is about to restart; try again in a moment")),
            Err(error) => {
                tracing::error!(%error, tool = name, "a tool panicked");
                Err(ToolError::other("panic", "the tool failed unexpectedly; the server's log says why"))
            }
        }
    }
}

fn is_direct(spec: &ToolSpec) -> bool {
    spec.server.is_none() && spec.risk == Risk::Low
}

fn bounded(mut output: ToolOutput) -> ToolOutput {
    let bytes = output.text.len();
    if bytes > MAX_DIRECT_OUTPUT_BYTES {
        output.text.truncate(output.text.floor_char_boundary(MAX_DIRECT_OUTPUT_BYTES));
        output.text += "\n… cut here: these are the first of ";
        output.text += &bytes.to_string();
        output.text += " bytes";
    }
    output
}
