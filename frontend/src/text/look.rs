//! Texts around conversations: the foot of the sidebar, the header, and the start page.

use tallybook_protocol::{CatalogModel, ToolOffer};

use crate::language::Language;

texts! {
    look_texts;

    shortcuts: "Shortcuts", "ショートカット";
    tools: "Tools", "ツール";
    demo_model: "You are using the demo model, which only does arithmetic.", "計算だけができるデモモデルを使用中です。";
    connect_model: "Connect a model", "モデルを接続する";
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
