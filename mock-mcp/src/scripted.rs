//! Tools with scripted answers, for tests of what a model does with them. The answers may be wrong or contain
//! instructions.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// A tool with a few scripted answers.
#[derive(Clone, Debug)]
pub struct ScriptedTool {
    /// The name of the tool.
    pub name: String,
    /// The description for clients.
    pub description: String,
    /// The name of the only argument, a string.
    pub argument: String,
    /// The answers by argument; case and surrounding spaces do not matter.
    pub answers: BTreeMap<String, String>,
    /// The answer to any other argument.
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
