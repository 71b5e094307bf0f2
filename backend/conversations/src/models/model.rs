//! An available model with its clients.

use std::sync::Arc;

use tallybook_agent::{Reviewer, TitleWriter};
use tallybook_llm::{ConnectError, ModelClient, Quirk};
use tallybook_protocol::{CatalogModel, ModelInfo, Prices};

use crate::models::{ModelChoice, ModelEntry, Window};

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
            window: entry.choice.window(),
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
