//! The system prompt: the built-in template, or an operator's own text in its place.

use std::sync::Arc;

use askama::Template;

use crate::{db, tools::ToolSpec};

/// Where the system prompt comes from.
#[derive(Clone, Debug, Default)]
pub enum SystemPrompt {
    /// `templates/system.txt`.
    #[default]
    BuiltIn,
    /// An operator's own words, used as they are.
    Own(Arc<str>),
}

#[derive(Template)]
#[template(path = "system.txt", escape = "none")]
struct BuiltIn<'a> {
    date: String,
    tools: &'a [ToolSpec],
}

impl SystemPrompt {
    /// The text for a turn that begins now.
    pub(super) fn render(&self, tools: &[ToolSpec]) -> Result<String, askama::Error> {
        match self {
            Self::BuiltIn => BuiltIn { date: db::now().format("%Y-%m-%d").to_string(), tools }.render(),
            Self::Own(text) => Ok(text.to_string()),
        }
    }
}
