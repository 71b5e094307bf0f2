//! Texts around conversations: the foot of the sidebar, the header, and the start page.

use tallybook_protocol::{CatalogModel, ToolOffer};

use crate::language::Language;

texts! {
    look_texts;

    shortcuts: "Shortcuts", "ショートカット";
    tools: "Tools", "ツール";
}

impl Language {
    /// Describes a model in the list to choose from.
    pub(crate) fn model_about(self, model: &CatalogModel) -> String {
        match model.tool_mode {
            ToolOffer::Prompt => format!("{} · {}", model.provider, self.prompted_tools()),
            ToolOffer::Native | ToolOffer::Unknown => model.provider.clone(),
        }
    }
}
