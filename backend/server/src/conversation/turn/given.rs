//! What a program told a turn in place of the stored history. It is stored with the turn until that is complete: one that goes
//! on, whatever made it wait or cut it off, is told the same.

use tallybook_database::{Database, Transaction};
use tallybook_llm::{ModelMessage, Sampling, ToolChoice};
use tallybook_protocol::MessageId;
use tallybook_tools::{Risk, ToolSpec};

use super::super::store::programs;

/// What a program told a turn.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct GivenInput {
    /// The history up to and including the question, oldest first.
    pub messages: Vec<ModelMessage>,
    /// What the model is told after the agent's own prompt.
    pub system: Vec<String>,
    /// How the model is to write.
    pub sampling: Sampling,
    /// The program's own tools.
    #[serde(default)]
    pub tools: Vec<ClientTool>,
    /// Whether the model may call tools, or must.
    #[serde(default)]
    pub tool_choice: ToolChoice,
}

/// A tool that a program runs itself.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ClientTool {
    /// Unique among the program's.
    pub name: String,
    /// What it does and when to use it, for the model.
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
            // Neither counts for what is not run here.
            risk: Risk::Low,
            idempotent: false,
            definition_hash: None,
        }
    }
}

impl GivenInput {
    /// A question alone.
    pub fn question(words: &str) -> Self {
        Self { messages: vec![ModelMessage::user_text(words)], ..Self::default() }
    }

    /// What it says beside the messages.
    pub(super) fn without_messages(&self) -> Self {
        let Self { messages: _, system, sampling, tools, tool_choice } = self;
        Self {
            messages: Vec::new(),
            system: system.clone(),
            sampling: sampling.clone(),
            tools: tools.clone(),
            tool_choice: tool_choice.clone(),
        }
    }

    pub(super) async fn store(&self, tx: &mut Transaction, message_id: MessageId) -> sqlx::Result<()> {
        let json = serde_json::to_string(self).map_err(|error| sqlx::Error::Encode(error.into()))?;
        programs::create_turn_input(tx, message_id, &json).await
    }

    /// What was stored with a turn; `None` for one that is told the stored history.
    pub(super) async fn find(db: &Database, message_id: MessageId) -> sqlx::Result<Option<Self>> {
        let Some(json) = programs::find_turn_input(db, message_id).await? else { return Ok(None) };
        serde_json::from_str(&json).map(Some).map_err(|error| sqlx::Error::Decode(error.into()))
    }
}
