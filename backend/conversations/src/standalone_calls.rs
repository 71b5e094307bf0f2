//! Standalone tool calls: runs a built-in tool outside any turn, for API clients that have a model of their own. These
//! calls are not stored: the tool history has only the calls of answers.

use tallybook_accounts::UserId;
use tallybook_tools::{Risk, ToolError, ToolOutput, ToolSpec, UserKey};

use crate::{limits::MAX_STANDALONE_OUTPUT_BYTES, service::ConversationService};

impl ConversationService {
    /// Returns the tools that can be called outside turns: built-in tools of low risk, ordered by name. Tools of tool
    /// servers are left out, because they are not part of Tallybook. High-risk tools are left out, because only a user
    /// who sees the call can approve it.
    pub fn standalone_tools(&self) -> Vec<ToolSpec> {
        let specs = self.context.tool_servers.tools().specs();
        specs.iter().filter(|spec| is_standalone(spec)).cloned().collect()
    }

    /// Calls one of the tools that [`Self::standalone_tools`] lists, with `input_text` as its arguments and the same
    /// limits as in a turn. Fails with the error type `unknown_tool`, `busy` or `shutting_down`, or with the tool's own
    /// error.
    pub async fn call_tool(&self, user: UserId, name: &str, input_text: &str) -> Result<ToolOutput, ToolError> {
        let context = &self.context;
        let tools = context.tool_servers.tools();
        if !tools.find_spec(name).is_some_and(is_standalone) {
            return Err(ToolError::other("unknown_tool", "there is no such tool here"));
        }
        let busy = || ToolError::other("busy", "too many tools are being called; try again in a moment");
        let slot = context.standalone_calls.try_acquire(user).ok_or_else(busy)?;
        let (agent, name, input) = (context.agent.clone(), name.to_owned(), input_text.to_owned());
        let (shut_down, counts, tool) = (context.shut_down.clone(), context.work_counts.clone(), name.clone());
        // The call ends when the server shuts down, even if a caller still waits for it.
        let task = context.spawn(async move {
            let _slot = slot;
            let end = shut_down
                .run_until_cancelled_owned(agent.run_standalone(&tools, UserKey(user.0), &name, &input))
                .await?;
            counts.count_tool_call(Some(&tool), &end);
            Some(end)
        });
        let stopping = || ToolError::other("shutting_down", "the server is about to restart; try again in a moment");
        let end = task.await.ok().flatten().ok_or_else(stopping)?;
        match (end.output, end.error, end.error_type) {
            (Some(text), ..) => Ok(bounded(ToolOutput::text(text))),
            (None, message, error_type) => {
                Err(ToolError { error_type: error_type.unwrap_or_default(), message: message.unwrap_or_default() })
            }
        }
    }
}

fn is_standalone(spec: &ToolSpec) -> bool {
    spec.server.is_none() && spec.risk == Risk::Low
}

fn bounded(mut output: ToolOutput) -> ToolOutput {
    let bytes = output.text.len();
    if bytes > MAX_STANDALONE_OUTPUT_BYTES {
        output.text.truncate(output.text.floor_char_boundary(MAX_STANDALONE_OUTPUT_BYTES));
        output.text += "\n… cut here: these are the first of ";
        output.text += &bytes.to_string();
        output.text += " bytes";
    }
    output
}
