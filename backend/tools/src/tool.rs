//! The trait `Tool`, the definition of a tool in the prompt, the output of a call, and its progress reports.

use std::{future::Future, sync::Arc};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use super::{error::ToolError, secrets::marks_secrets};

/// A tool. Implement it in a file of its own and add one line to [`super::builtin`].
pub trait Tool: Send + Sync + 'static {
    /// The arguments. Their doc comments become the parameter descriptions that the model reads.
    type Args: DeserializeOwned + JsonSchema + Send;

    /// Unique name of the tool: 1 to 64 of `a-z A-Z 0-9 _ -`, which every provider accepts.
    const NAME: &'static str;
    /// Description for the model: what the tool does and when to use it.
    const DESCRIPTION: &'static str;
    /// Other names that models tend to write for the tool when its name is only in the prompt. The name of another tool
    /// takes precedence over an alias.
    const ALIASES: &'static [&'static str] = &[];
    /// [`Risk::High`] if each call needs the user's approval.
    const RISK: Risk = Risk::Low;
    /// `true` if running a call twice has the same effect as running it once.
    const IDEMPOTENT: bool = false;

    /// Returns the risk of a call with these arguments. Called only if [`Tool::RISK`] is high, to lower it.
    fn risk_of(&self, _: &Self::Args) -> Risk {
        Self::RISK
    }

    /// Runs a call, in its own task and with a timeout. An error or a panic becomes a result for the model.
    /// Computations of more than a millisecond belong in `compute`.
    fn call(&self, args: Self::Args) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}

/// Risk of a call, which decides whether it needs approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Risk {
    /// The call only reads or computes. It runs without approval, in parallel with other calls.
    Low,
    /// The call changes something outside. It runs after approval, in order, and not in parallel with other calls.
    High,
}

impl Risk {
    /// Returns the name used in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::High => "high",
        }
    }
}

/// Definition of a tool, from which the prompt's tool list is built.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// Unique name.
    pub name: String,
    /// Description: what the tool does and when to use it.
    pub description: String,
    /// Other names of the tool; see [`Tool::ALIASES`]. They are not sent to the model.
    pub aliases: Vec<String>,
    /// JSON Schema of the arguments, always an object.
    pub input_schema: serde_json::Value,
    /// Name of its tool server; `None` for a built-in tool.
    pub server: Option<Arc<str>>,
    /// Highest risk of a call; see [`Tool::RISK`].
    pub risk: Risk,
    /// `true` if running a call twice has the same effect as running it once.
    pub idempotent: bool,
    /// SHA-256 of the complete definition as the tool server sent it, including annotations; `None` for a built-in
    /// tool.
    pub definition_hash: Option<[u8; 32]>,
}

impl ToolSpec {
    /// Returns `true` if the schema marks arguments as secret.
    pub fn has_secret_arguments(&self) -> bool {
        marks_secrets(&self.input_schema)
    }

    /// Returns the SHA-256, in hex, of the definition that a saved approval of the tool covers: name, description,
    /// schema and tool server, and `definition_hash`.
    pub fn hash(&self) -> String {
        let Self { name, description, input_schema, server, definition_hash, .. } = self;
        let definition = serde_json::json!([name, description, input_schema, server.as_deref(), definition_hash]);
        hex::encode(Sha256::digest(definition.to_string()))
    }
}

/// Output of a successful call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    /// Text for the model, the web UI and the tool history.
    pub text: String,
    /// Images beside the text, which describes them.
    pub images: Vec<ToolImage>,
}

/// An image that a tool returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolImage {
    /// Media type that the tool stated.
    pub media_type: String,
    /// The encoded image, in base64.
    pub base64: String,
}

impl ToolOutput {
    /// Creates an output with this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), images: Vec::new() }
    }
}

/// A progress report of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Completed amount, in the tool's own unit.
    pub progress: f64,
    /// Total amount in the same unit, if the tool knows it.
    pub total: Option<f64>,
    /// Message from the tool, if any.
    pub message: Option<String>,
}

/// Sends a tool's progress reports. A tool may send any number of them.
#[derive(Clone)]
pub struct ProgressSender(Arc<dyn Fn(Progress) + Send + Sync>);

impl ProgressSender {
    /// Creates a sender that calls `report` with each report. `report` must return at once.
    pub fn new(report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    /// Creates a sender that discards all reports.
    pub fn noop() -> Self {
        Self::new(drop)
    }

    /// Sends a progress report.
    pub fn send(&self, progress: Progress) {
        (self.0)(progress);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Risk, ToolSpec};

    #[test]
    fn every_part_of_a_definition_changes_its_hash() {
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
