//! What a tool is: what it takes, what a model is told of it, what it gives back.

use std::{future::Future, sync::Arc};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use super::{error::ToolError, secrets::marks_secrets};

/// A tool. Implement it in a file of its own and add one line to [`super::builtin`].
pub trait Tool: Send + Sync + 'static {
    /// The arguments. Their doc comments become the parameter descriptions that the model reads.
    type Args: DeserializeOwned + JsonSchema + Send;

    /// Unique; 1 to 64 of `a-z A-Z 0-9 _ -`, which every provider accepts.
    const NAME: &'static str;
    /// What it does and when to use it, for the model.
    const DESCRIPTION: &'static str;
    /// Other names under which models ask for it when nothing but a prompt tells them what it is called. A tool's own
    /// name always counts before another's alias.
    const ALIASES: &'static [&'static str] = &[];
    /// Whether a person must agree to each call.
    const RISK: Risk = Risk::Low;
    /// Whether running it twice is the same as running it once.
    const IDEMPOTENT: bool = false;

    /// Returns the risk of a call with these arguments. May lower a high [`Tool::RISK`], and is not asked otherwise.
    fn risk_of(&self, _: &Self::Args) -> Risk {
        Self::RISK
    }

    /// Does the work. Runs as a task of its own under a timeout; an error or a panic becomes a result that the model
    /// sees. Work that computes for more than a millisecond belongs in `compute`.
    fn call(&self, args: Self::Args) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}

/// Whether calls may simply run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Risk {
    /// Reads or computes; runs in parallel with others.
    Low,
    /// Changes something in the world; runs alone, in order, after a decision.
    High,
}

impl Risk {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::High => "high",
        }
    }
}

/// What a model is told about a tool.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// Unique name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// Other names for it; see [`Tool::ALIASES`]. Models are not told of them.
    pub aliases: Vec<String>,
    /// JSON Schema of the arguments, always an object.
    pub input_schema: serde_json::Value,
    /// The tool server that it comes from; none where it is built in.
    pub server: Option<Arc<str>>,
    /// Whether calls may simply run.
    pub risk: Risk,
    /// Whether running it twice is the same as running it once.
    pub idempotent: bool,
    /// SHA-256 of the whole definition as its server wrote it, annotations included; none where it is built in.
    pub definition_hash: Option<[u8; 32]>,
}

impl ToolSpec {
    /// Whether its schema marks arguments as secret.
    pub fn has_secret_arguments(&self) -> bool {
        marks_secrets(&self.input_schema)
    }

    /// SHA-256, in hex, of what a person agrees to who approves the tool: its name, description and schema, and where it
    /// comes from a server, of what else that says of it.
    pub fn hash(&self) -> String {
        let Self { name, description, input_schema, server, definition_hash, .. } = self;
        let definition = serde_json::json!([name, description, input_schema, server.as_deref(), definition_hash]);
        hex::encode(Sha256::digest(definition.to_string()))
    }
}

/// What a tool gave back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    /// For the model, the page and the tool history.
    pub text: String,
}

impl ToolOutput {
    /// An output that is this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Risk, ToolSpec};

    #[test]
    fn whatever_a_tool_says_of_itself_changes_its_hash() {
        let spec = ToolSpec {
            name: "order".to_owned(),
            description: "Orders a pizza.".to_owned(),
            aliases: Vec::new(),
            input_schema: json!({ "type": "object" }),
            server: Some("kitchen".into()),
            risk: Risk::High,
            idempotent: false,
            definition_hash: Some([7; 32]),
        };
        let hash = spec.hash();
        assert!(hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
        assert_eq!(ToolSpec { risk: Risk::Low, ..spec.clone() }.hash(), hash, "the settings say what is risky");
        for changed in [
            ToolSpec { name: "orders".to_owned(), ..spec.clone() },
            ToolSpec { description: "Orders two pizzas.".to_owned(), ..spec.clone() },
            ToolSpec { input_schema: json!({}), ..spec.clone() },
            ToolSpec { server: None, ..spec.clone() },
            ToolSpec { definition_hash: Some([8; 32]), ..spec.clone() },
        ] {
            assert_ne!(changed.hash(), hash, "{changed:?}");
        }
    }
}
