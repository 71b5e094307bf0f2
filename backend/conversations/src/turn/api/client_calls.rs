//! Tool calls that the API client runs with its own tools. They have no rows, because only the client knows what it
//! runs. They are stored in the blocks of their step, and their IDs encode their position there.

use std::{fmt, str::FromStr};

use tallybook_accounts::UserId;
use tallybook_llm::{AssistantBlock, ToolCallRequest};
use tallybook_protocol::MessageId;
use uuid::Uuid;

use crate::{
    ServiceError,
    service::ConversationService,
    store::{
        messages, model_calls,
        rows::{ModelCallRow, ToolCallRow},
        tool_calls,
    },
    turn::{context::history::last_row, resume_state::whole_steps},
};

/// Prefix of the ID of each such call.
pub(crate) const ID_BEGIN: &str = "tb_";

/// A tool call that the API client is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCall {
    /// ID in the form `tb_<message>_<step>_<position>`.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// The arguments as the model wrote them.
    pub arguments: String,
}

/// Position of such a call, which its ID encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientCallId {
    pub(crate) message_id: MessageId,
    pub(crate) step: i32,
    /// Index among all calls of the step, from 0.
    pub(crate) position: usize,
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
        // Only the exact form that `Display` writes is valid.
        let id = Self { message_id, step, position };
        if id.to_string() == text { Ok(id) } else { Err(()) }
    }
}

/// Number of a step, its blocks, and the positions of its calls that have no row.
type OpenCalls = (i32, Vec<AssistantBlock>, Vec<usize>);

/// Returns the calls of a turn's last complete step that have no row. Returns `None` if the turn has no complete step.
pub(crate) fn open_calls(steps: &[ModelCallRow], rows: &[ToolCallRow]) -> Option<OpenCalls> {
    let (step, blocks) = whole_steps(steps).pop()?;
    let rows: Vec<&ToolCallRow> = rows.iter().filter(|row| row.step == step.step).collect();
    let calls = blocks.iter().filter_map(AssistantBlock::tool_call).enumerate();
    let open = calls.filter(|(_, call)| last_row(rows.iter().copied(), call).is_none());
    let open = open.map(|(position, _)| position).collect();
    Some((step.step, blocks, open))
}

/// Converts these calls to the form that the API client receives.
pub(crate) fn client_calls_of(message_id: MessageId, (step, blocks, open): OpenCalls) -> Vec<ClientCall> {
    let calls = blocks.into_iter().filter_map(|block| match block {
        AssistantBlock::ToolCall(call) => Some(call),
        AssistantBlock::Text { .. } | AssistantBlock::Opaque { .. } => None,
    });
    let theirs = calls.enumerate().filter(|(position, _)| open.contains(position));
    let client_calls = theirs.map(|(position, call)| ClientCall {
        id: ClientCallId { message_id, step, position }.to_string(),
        name: call.name,
        arguments: call.input_text,
    });
    client_calls.collect()
}

impl From<ClientCall> for ToolCallRequest {
    fn from(ClientCall { id, name, arguments }: ClientCall) -> Self {
        Self { id, name, input_text: arguments, written_by: None }
    }
}

impl ConversationService {
    /// Lists the tool calls at the end of a turn that the API client is to run.
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

    use crate::turn::api::client_calls::ClientCallId;

    #[test]
    fn only_ids_that_encode_a_calls_position_are_parsed() {
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
