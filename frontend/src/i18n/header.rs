//! Texts of the header and of the sidebar's footer, with names of models and themes.

use tallybook_protocol::{CatalogModel, ToolOffer};

use crate::{language::Language, preferences::Theme};

texts! {
    header_texts;

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

    /// Names a model and its provider.
    pub(crate) fn model(self, provider: &str, model: &str) -> String {
        match self {
            Self::English => format!("{model}, by {provider}"),
            Self::Japanese => format!("{model}（{provider}）"),
        }
    }

    /// Names a model and its provider, and says how the model receives its tools.
    pub(crate) fn model_details(self, model: &CatalogModel) -> String {
        let name = self.model(&model.provider, &model.name);
        let tools = match model.tool_mode {
            ToolOffer::Native => self.native_tools(),
            ToolOffer::Prompt => self.prompted_tools(),
            ToolOffer::Unknown => return name,
        };
        match self {
            Self::English => format!("{name} · {tools}"),
            Self::Japanese => format!("{name}・{tools}"),
        }
    }

    /// Label of a model that answers only the next message.
    pub(crate) fn model_for_next(self, name: &str) -> String {
        match self {
            Self::English => format!("{name} (next message only)"),
            Self::Japanese => format!("{name}（次のメッセージのみ）"),
        }
    }

    /// Label of a conversation's model that is no longer in the catalog.
    pub(crate) fn model_gone(self, name: &str) -> String {
        match self {
            Self::English => format!("{name} (no longer available)"),
            Self::Japanese => format!("{name}（利用不可）"),
        }
    }

    /// Returns the name of a theme.
    pub(crate) const fn theme(self, theme: Theme) -> &'static str {
        match (self, theme) {
            (Self::English, Theme::System) => "System",
            (Self::English, Theme::Light) => "Light",
            (Self::English, Theme::Dark) => "Dark",
            (Self::Japanese, Theme::System) => "システム",
            (Self::Japanese, Theme::Light) => "ライト",
            (Self::Japanese, Theme::Dark) => "ダーク",
        }
    }
}
