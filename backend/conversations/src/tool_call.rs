//! Reads one tool call with its full texts, which events and messages truncate.

use tallybook_accounts::UserId;
use tallybook_protocol::{ToolCall, ToolCallId};

use crate::{
    ServiceError,
    service::ConversationService,
    store::{rows::ToolCallRow, tool_calls},
};

/// A text of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallPart {
    /// The arguments, exactly as the model wrote them.
    Input,
    /// The tool's output.
    Output,
}

impl ConversationService {
    /// Returns a tool call with its full texts. Fails with `NoSuchToolCall` if the user has no such call.
    pub async fn find_tool_call(&self, user: UserId, id: ToolCallId) -> Result<ToolCall, ServiceError> {
        Ok(self.find_tool_call_row(user, id).await?.to_tool_call())
    }

    /// Returns one text of a tool call. Fails with `NoOutput` if the call has no output.
    pub async fn find_tool_call_part(
        &self,
        user: UserId,
        id: ToolCallId,
        part: CallPart,
    ) -> Result<String, ServiceError> {
        let row = self.find_tool_call_row(user, id).await?;
        match part {
            CallPart::Input => Ok(row.input_text),
            CallPart::Output => row.output.ok_or(ServiceError::NoOutput),
        }
    }

    async fn find_tool_call_row(&self, user: UserId, id: ToolCallId) -> Result<ToolCallRow, ServiceError> {
        let found = tool_calls::find_tool_call(&self.context.db, user, id).await?;
        found.ok_or(ServiceError::NoSuchToolCall)
    }
}
