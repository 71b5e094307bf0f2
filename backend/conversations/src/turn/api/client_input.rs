//! Client-supplied history: the input that an API client sends in place of the stored history. It is stored with the
//! turn until the turn is complete. So a resumed turn gets the same input, whether it waited or ended early.

use tallybook_database::{Database, Transaction};
use tallybook_llm::{ModelMessage, Sampling, ToolChoice};
use tallybook_protocol::MessageId;
use tallybook_tools::{Risk, ToolSpec};

use crate::store::api_clients;

/// Client-supplied input of a turn.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ClientInput {
    /// The history up to and including the question, oldest first.
    pub messages: Vec<ModelMessage>,
    /// System prompts, which follow the agent's own prompt.
    pub system: Vec<String>,
    /// Sampling parameters of the model.
    pub sampling: Sampling,
    /// The client's own tools.
    #[serde(default)]
    pub tools: Vec<ClientTool>,
    /// The model's freedom to call tools: optional, required, forbidden, or one named tool.
    #[serde(default)]
    pub tool_choice: ToolChoice,
}

/// A tool that the API client runs itself.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ClientTool {
    /// Name, unique among the client's tools.
    pub name: String,
    /// Description for the model: what the tool does and when to use it.
    pub description: String,
    /// JSON Schema of the arguments, an object.
    pub input_schema: serde_json::Value,
}

impl From<ClientTool> for ToolSpec {
    fn from(tool: ClientTool) -> Self {
        let ClientTool { name, description, input_schema } = tool;
        Self {
            name,
            description,
            aliases: Vec::new(),
            input_schema,
            server: None,
            // The risk and the idempotency have no effect on a tool that the server does not run.
            risk: Risk::Low,
            idempotent: false,
            definition_hash: None,
        }
    }
}

impl ClientInput {
    /// Creates an input that contains only a question.
    pub fn question(text: &str) -> Self {
        Self { messages: vec![ModelMessage::user_text(text)], ..Self::default() }
    }

    /// Returns a copy without the messages.
    pub(crate) fn without_messages(&self) -> Self {
        let Self { messages: _, system, sampling, tools, tool_choice } = self;
        Self {
            messages: Vec::new(),
            system: system.clone(),
            sampling: sampling.clone(),
            tools: tools.clone(),
            tool_choice: tool_choice.clone(),
        }
    }

    pub(crate) async fn store(&self, tx: &mut Transaction, message_id: MessageId) -> sqlx::Result<()> {
        let json = serde_json::to_string(self).map_err(|error| sqlx::Error::Encode(error.into()))?;
        api_clients::create_turn_input(tx, message_id, &json).await
    }

    /// Returns the input that is stored with a turn. Returns `None` if the turn uses the stored history, or is
    /// complete.
    pub(crate) async fn find(db: &Database, message_id: MessageId) -> sqlx::Result<Option<Self>> {
        let Some(json) = api_clients::find_turn_input(db, message_id).await? else { return Ok(None) };
        serde_json::from_str(&json).map(Some).map_err(|error| sqlx::Error::Decode(error.into()))
    }
}
