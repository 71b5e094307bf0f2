//! Calls that the program which asks is to run with tools of its own. None has a row: what a program runs is known to it
//! alone. They stand in their step, and are known outside by where they stand.

use std::{fmt, str::FromStr};

use tallybook_llm::{AssistantBlock, ToolCallRequest};
use tallybook_protocol::MessageId;
use uuid::Uuid;

use super::{
    super::{
        ServiceError,
        service::ConversationService,
        store::{
            messages, model_calls,
            rows::{ModelCallRow, ToolCallRow},
            tool_calls,
        },
    },
    continued::whole_steps,
    history::last_row,
};
use crate::accounts::UserId;

/// How every id of such a call begins.
pub(super) const ID_BEGIN: &str = "tb_";

/// A call that the program is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCall {
    /// `tb_<message>_<step>_<position>`.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them.
    pub arguments: String,
}

/// Where such a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClientCallId {
    pub(super) message_id: MessageId,
    pub(super) step: i32,
    /// Among all calls of the step, from 0.
    pub(super) position: usize,
}

impl fmt::Display for ClientCallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{ID_BEGIN}{}_{}_{}", self.message_id, self.step, self.position)
    }
}

impl FromStr for ClientCallId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut numbers = text.strip_prefix(ID_BEGIN).ok_or(())?.split('_');
        let mut next = || numbers.next().ok_or(());
        let message_id = MessageId(next()?.parse().map_err(drop)?);
        let step = next()?.parse().map_err(drop)?;
        let position = next()?.parse().map_err(drop)?;
        // Only what is written as we write it is one.
        let id = Self { message_id, step, position };
        if id.to_string() == text { Ok(id) } else { Err(()) }
    }
}

/// A step, what it said, and where among its calls those stand that have no row.
pub(super) type OpenCalls = (i32, Vec<AssistantBlock>, Vec<usize>);

/// The calls of a turn's last step that have no row.
pub(super) fn open_calls(steps: &[ModelCallRow], rows: &[ToolCallRow]) -> Option<OpenCalls> {
    let (step, blocks) = whole_steps(steps).pop()?;
    let rows: Vec<&ToolCallRow> = rows.iter().filter(|row| row.step == step.step).collect();
    let calls = blocks.iter().filter_map(AssistantBlock::tool_call).enumerate();
    let open = calls.filter(|(_, call)| last_row(rows.iter().copied(), call).is_none());
    let open = open.map(|(position, _)| position).collect();
    Some((step.step, blocks, open))
}

/// Those calls as the program is told of them.
pub(super) fn client_calls_of(message_id: MessageId, (step, blocks, open): OpenCalls) -> Vec<ClientCall> {
    let calls = blocks.into_iter().filter_map(|block| match block {
        AssistantBlock::ToolCall(call) => Some(call),
        AssistantBlock::Text { .. } | AssistantBlock::Opaque { .. } => None,
    });
    let theirs = calls.enumerate().filter(|(position, _)| open.contains(position));
    let told = theirs.map(|(position, call)| ClientCall {
        id: ClientCallId { message_id, step, position }.to_string(),
        name: call.name,
        arguments: call.input_text,
    });
    told.collect()
}

impl From<ClientCall> for ToolCallRequest {
    fn from(ClientCall { id, name, arguments }: ClientCall) -> Self {
        Self { id, name, input_text: arguments, written_by: None }
    }
}

impl ConversationService {
    /// The calls with which a turn ended that the program is to run.
    pub async fn list_client_calls(
        &self,
        user: UserId,
        uuid: Uuid,
        message_id: MessageId,
    ) -> Result<Vec<ClientCall>, ServiceError> {
        let db = &self.context.db;
        let row = self.context.find_conversation(user, uuid).await?;
        messages::find_message(db, row.id, message_id).await?.ok_or(ServiceError::NoSuchMessage)?;
        let steps = model_calls::list_model_calls(db, &[message_id]).await?;
        let rows = tool_calls::list_tool_calls(db, &[message_id], 0).await?;
        Ok(open_calls(&steps, &rows).map(|open| client_calls_of(message_id, open)).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::MessageId;

    use super::ClientCallId;

    #[test]
    fn an_id_says_where_the_call_stands_and_nothing_else_is_one() {
        let id = ClientCallId { message_id: MessageId(12), step: 3, position: 0 };
        assert_eq!(id.to_string(), "tb_12_3_0");
        assert_eq!("tb_12_3_0".parse(), Ok(id));
        for other in
            ["", "tb_", "tb_12_3", "tb_12_3_0_1", "tb_012_3_0", "tb_+12_3_0", "tb_12_3_-1", "tb_a_b_c", "12_3_0"]
        {
            assert_eq!(other.parse::<ClientCallId>(), Err(()), "{other}");
        }
    }
}
