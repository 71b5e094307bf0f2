//! How much a model takes at once, and how much of it is left for a history.

use tallybook_llm::ModelSettings;

/// How much a model takes at once, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// What it reads and writes together.
    pub context: usize,
    /// What is kept free for its answer.
    pub answer: usize,
}

impl Window {
    /// That of the demo model, which reads anything.
    pub(super) const DEMO: Self = Self { context: 128_000, answer: 4096 };

    /// As the settings have it. However long an answer may be, half is there to be read.
    pub(super) fn of(settings: &ModelSettings) -> Self {
        let tokens = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let context = tokens(settings.context_tokens);
        Self { context, answer: tokens(settings.max_tokens).min(context / 2) }
    }

    /// What is left when so many tokens are told beside the history.
    pub(crate) fn room_beside(self, tokens: usize) -> usize {
        self.context.saturating_sub(self.answer).saturating_sub(tokens)
    }
}

#[cfg(test)]
mod tests {
    use tallybook_llm::{ModelSettings, ProviderKind};

    use super::Window;

    #[test]
    fn an_answer_leaves_half_to_be_read() {
        let window = |context_tokens, max_tokens| {
            let settings = ModelSettings { context_tokens, max_tokens, ..ModelSettings::new(ProviderKind::Ollama) };
            Window::of(&settings)
        };
        assert_eq!(window(8000, 1000).room_beside(500), 6500);
        assert_eq!(window(8000, 100_000).room_beside(500), 3500);
        assert_eq!(window(1000, 1000).room_beside(501), 0);
    }
}
