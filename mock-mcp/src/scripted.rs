//! Tools whose answers are written down beforehand: for tests of what a model makes of them, wrong answers and orders in them
//! included.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// A tool that knows a few answers.
#[derive(Clone, Debug)]
pub struct ScriptedTool {
    /// What clients call it.
    pub name: String,
    /// What it says that it does.
    pub description: String,
    /// The one argument that it takes, a text.
    pub argument: String,
    /// What it answers to which argument; case and spaces around it do not matter.
    pub answers: BTreeMap<String, String>,
    /// What it answers to anything else.
    pub otherwise: String,
}

impl ScriptedTool {
    pub(crate) fn listed(&self) -> Value {
        json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": { &self.argument: { "type": "string" } },
                "required": [self.argument],
            },
        })
    }

    pub(crate) fn answer(&self, arguments: &Value) -> &str {
        let asked = arguments[&self.argument].as_str().unwrap_or_default().trim().to_lowercase();
        let known = self.answers.iter().find(|(argument, _)| argument.to_lowercase() == asked);
        known.map_or(&self.otherwise, |(_, answer)| answer)
    }
}
