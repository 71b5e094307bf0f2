//! How a model is asked.

use tallybook_protocol::{AnswerMode, ToolOffer};

/// How a model is told of tools, and how it goes about an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Mode {
    /// By its provider's own tool calling.
    Native,
    /// Tools stand in the prompt.
    Prompted,
    /// A plan is made first, and worked on step by step.
    Plan,
}

impl Mode {
    pub(super) const ALL: [Self; 3] = [Self::Native, Self::Prompted, Self::Plan];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Prompted => "prompted",
            Self::Plan => "plan",
        }
    }

    /// What the message says.
    pub(super) const fn answer_mode(self) -> AnswerMode {
        match self {
            Self::Native | Self::Prompted => AnswerMode::React,
            Self::Plan => AnswerMode::Plan,
        }
    }

    /// `LLM_TOOL_MODE` of a server that is started for it.
    pub(super) const fn tool_mode(self) -> &'static str {
        match self {
            Self::Prompted => "prompt",
            Self::Native | Self::Plan => "native",
        }
    }

    /// Whether a model that is told of tools in this way can be asked so.
    pub(super) fn fits(self, offer: ToolOffer) -> bool {
        match self {
            Self::Native => offer == ToolOffer::Native,
            Self::Prompted => offer == ToolOffer::Prompt,
            Self::Plan => true,
        }
    }
}
