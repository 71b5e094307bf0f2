//! Modes in which a model is evaluated.

use tallybook_protocol::{AnswerMode, ToolOffer};

/// A mode: native or prompt-based tool calls, or a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Mode {
    /// Native: the provider's tool calls.
    Native,
    /// Prompted: the prompt describes the tools.
    Prompted,
    /// Plan: the server makes a plan first and runs its steps.
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

    /// Returns the answer mode of the message.
    pub(super) const fn answer_mode(self) -> AnswerMode {
        match self {
            Self::Native | Self::Prompted => AnswerMode::React,
            Self::Plan => AnswerMode::Plan,
        }
    }

    /// Returns the value of `LLM_TOOL_MODE` for a server that is started for this mode.
    pub(super) const fn tool_mode(self) -> &'static str {
        match self {
            Self::Prompted => "prompt",
            Self::Native | Self::Plan => "native",
        }
    }

    /// Returns `true` if a model with this kind of tool calling can be evaluated in this mode.
    pub(super) fn fits(self, offer: ToolOffer) -> bool {
        match self {
            Self::Native => offer == ToolOffer::Native,
            Self::Prompted => offer == ToolOffer::Prompt,
            Self::Plan => true,
        }
    }
}
