//! An available model with its clients, and its context window.

use std::sync::Arc;

use tallybook_agent::{Reviewer, TitleWriter};
use tallybook_llm::{ConnectError, ModelClient, Quirk};
use tallybook_protocol::{CatalogModel, ModelInfo, Prices};

use crate::models::{ModelChoice, ModelEntry};

/// An available model with its connections.
pub struct Model {
    name: String,
    client: Arc<dyn ModelClient>,
    titles: Option<TitleWriter>,
    reviews: Option<Arc<dyn ModelClient>>,
    prices: Option<Prices>,
    vision: bool,
    window: Window,
    can_summarize: bool,
    is_demo: bool,
}

impl Model {
    /// Creates a model that answers through `client`.
    #[cfg(test)]
    pub(crate) fn with_client(entry: &ModelEntry, client: Arc<dyn ModelClient>) -> Result<Self, ConnectError> {
        Ok(Self { client, ..Self::connect(entry)? })
    }

    /// Creates the clients of a model. Sends no requests.
    pub(crate) fn connect(entry: &ModelEntry) -> Result<Self, ConnectError> {
        let client = entry.connect()?;
        let titles = entry.choice.connect_for_titles()?;
        let reviews = entry.choice.connect_for_reviews()?;
        Ok(Self {
            name: entry.name.clone(),
            client,
            titles: titles.map(|client| TitleWriter::new(entry.priced(client))),
            reviews: reviews.map(|client| entry.priced(client)),
            prices: entry.prices,
            vision: entry.vision,
            window: Window::of(&entry.choice),
            can_summarize: entry.choice.can_summarize(),
            is_demo: matches!(entry.choice, ModelChoice::Demo { .. }),
        })
    }

    /// Returns the model's name in the UI and the API.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns `true` for the built-in demo model.
    pub(crate) fn is_demo(&self) -> bool {
        self.is_demo
    }

    /// Returns the description of the model for users.
    pub(crate) fn describe(&self, is_default: bool) -> CatalogModel {
        let ModelInfo { provider, model } = self.client.info().clone();
        CatalogModel {
            name: self.name.clone(),
            provider,
            model,
            tool_mode: self.client.tool_offer(),
            quirks: quirks_of(&*self.client),
            is_default,
            vision: self.vision,
            prices: self.prices,
            available: true,
        }
    }

    /// Returns the client that sends requests to the model.
    pub fn client(&self) -> &dyn ModelClient {
        &*self.client
    }

    /// Returns the client, for callers that keep it.
    pub fn shared_client(&self) -> Arc<dyn ModelClient> {
        Arc::clone(&self.client)
    }

    /// Returns the model's prices, if they are known.
    pub fn prices(&self) -> Option<Prices> {
        self.prices
    }

    /// Returns the model's context window.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Returns `true` if the model can write summaries and plans.
    pub fn can_summarize(&self) -> bool {
        self.can_summarize
    }

    /// Returns whether the model reads images, by the settings or a refusal of its server; `None` if that is not known.
    pub fn reads_images(&self) -> Option<bool> {
        if self.is_demo || self.client.quirks().has(Quirk::NoImages) {
            return Some(false);
        }
        self.vision.then_some(true)
    }

    /// Returns `true` if the model can vote on calls.
    pub fn can_review(&self) -> bool {
        self.reviews.is_some()
    }

    /// Returns the model as a reviewer of calls; `None` if it cannot vote.
    pub(crate) fn reviewer(&self) -> Option<Reviewer> {
        let model = self.reviews.clone()?;
        Some(Reviewer { name: self.name.clone(), model })
    }

    /// Returns the title writer. If it is `None`, a conversation keeps the title that was made from its first question.
    pub fn titles(&self) -> Option<&TitleWriter> {
        self.titles.as_ref()
    }
}

/// Returns the names of the quirks known so far, except the one about tools, which `tool_mode` shows.
fn quirks_of(client: &dyn ModelClient) -> Vec<String> {
    let quirks = client.quirks();
    quirks.iter().filter(|quirk| *quirk != Quirk::NoTools).map(|quirk| quirk.as_str().to_owned()).collect()
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model").field("name", &self.name).field("info", self.client.info()).finish_non_exhaustive()
    }
}

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
    const DEMO: Self = Self { context: 128_000, answer: 4096 };

    /// Returns the window of a model. At least half of the window is left for the prompt, however long an answer may
    /// be.
    fn of(choice: &ModelChoice) -> Self {
        let ModelChoice::Provider(settings) = choice else { return Self::DEMO };
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

    use super::{ModelChoice, Window};

    #[test]
    fn an_answer_gets_at_most_half_of_the_context() {
        let window = |context_tokens, max_tokens| {
            let settings = ModelSettings { context_tokens, max_tokens, ..ModelSettings::new(ProviderKind::Ollama) };
            Window::of(&ModelChoice::Provider(settings))
        };
        assert_eq!(window(8000, 1000).budget_beside(500), 6500);
        assert_eq!(window(8000, 100_000).budget_beside(500), 3500);
        assert_eq!(window(1000, 1000).budget_beside(501), 0);
    }
}
