//! Texts of the frame around conversations: the foot of the sidebar, the bar above, and the start page.

use tallybook_protocol::CatalogModel;

use crate::language::Language;

texts! {
    look_texts;

    shortcuts: "Shortcuts", "ショートカット";
    tools: "Tools", "ツール";
    demo_model: "You are using the demo model, which only does arithmetic.", "計算だけができるデモモデルを使用中です。";
    connect_model: "Connect a model", "モデルを接続する";
}

impl Language {
    /// What is known of a model besides its name.
    pub(crate) fn model_about(self, model: &CatalogModel) -> String {
        match self.tool_mode(model.tool_mode) {
            Some(tools) => format!("{} · {tools}", model.provider),
            None => model.provider.clone(),
        }
    }
}
