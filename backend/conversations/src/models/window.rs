//! A model's context window, and the part of it that is left for the history.

use tallybook_llm::ModelSettings;

/// A model's context window, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Tokens that the model reads and writes together.
    pub context: usize,
    /// Tokens reserved for the answer.
    pub answer: usize,
}

impl Window {
    /// Window of the demo model, which reads anything.
    pub(crate) const DEMO: Self = Self { context: 128_000, answer: 4096 };

    /// Returns the window from the settings. At least half of the window is left for the prompt, however long an answer
    /// may be.
    pub(crate) fn of(settings: &ModelSettings) -> Self {
        let tokens = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let context = tokens(settings.context_tokens);
        Self { context, answer: tokens(settings.max_tokens).min(context / 2) }
    }

    /// Returns the tokens left for the history when the rest of the prompt takes `tokens`.
    pub fn budget_beside(self, tokens: usize) -> usize {
        self.context.saturating_sub(self.answer).saturating_sub(tokens)
    }
}

#[cfg(test)]
mod tests {
    use tallybook_llm::{ModelSettings, ProviderKind};

    use crate::models::window::Window;

    #[test]
    fn an_answer_gets_at_most_half_of_the_context() {
        let window = |context_tokens, max_tokens| {
            let settings = ModelSettings { context_tokens, max_tokens, ..ModelSettings::new(ProviderKind::Ollama) };
            Window::of(&settings)
        };
        assert_eq!(window(8000, 1000).budget_beside(500), 6500);
        assert_eq!(window(8000, 100_000).budget_beside(500), 3500);
        assert_eq!(window(1000, 1000).budget_beside(501), 0);
    }
}
