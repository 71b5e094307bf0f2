//! One tool call, whole: what events and messages cut short.

use tallybook_protocol::{ToolCall, ToolCallId};

use super::{
    ServiceError,
    service::ConversationService,
    store::{rows::ToolCallRow, tool_calls},
};
use crate::accounts::UserId;

/// A text of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallPart {
    /// The arguments, exactly as the model wrote them.
    Input,
    /// What the tool gave back.
    Output,
}

impl ConversationService {
    /// A call with all that is stored of its texts.
    pub async fn find_tool_call(&self, user: UserId, id: ToolCallId) -> Result<ToolCall, ServiceError> {
        Ok(self.find_tool_call_row(user, id).await?.to_tool_call())
    }

    /// One text of a call; `NoOutput` when it gave none.
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
