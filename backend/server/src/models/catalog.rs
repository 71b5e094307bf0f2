//! The models that can be asked, by name. The first one answers where none is chosen.

use std::sync::Arc;

use tallybook_agent::TitleWriter;
use tallybook_llm::{ConnectError, ModelClient, Quirk};
use tallybook_protocol::{CatalogModel, ModelInfo, ModelList, Prices};

use super::{ModelEntry, Origin, Window};

/// The models that can be asked. Cheap to clone; all clones hold the same models.
#[derive(Clone, Debug)]
pub struct Catalog {
    default_model: Arc<Model>,
    /// All of them, the default first.
    models: Arc<[Arc<Model>]>,
}

/// A model that can be asked.
pub struct Model {
    name: String,
    client: Arc<dyn ModelClient>,
    titles: Option<TitleWriter>,
    prices: Option<Prices>,
    vision: bool,
    window: Window,
    can_sum_up: bool,
}

/// The settings do not make a catalog.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// There is nothing in it.
    #[error("There is no model to ask. Name one in the settings.")]
    Empty,
    /// One of its models cannot be set up.
    #[error("{} {source}", .origin.place_of(.source.setting()))]
    Model {
        /// Where its settings stand.
        origin: Origin,
        /// What is wrong with them.
        source: ConnectError,
    },
}

impl Catalog {
    /// Connects to each model, and once more for titles where they are to be written. Nothing is sent yet.
    pub fn connect(entries: &[ModelEntry], titles: bool) -> Result<Self, CatalogError> {
        let connect = |entry| Model::connect(entry, titles).map(Arc::new);
        let models = entries.iter().map(connect).collect::<Result<Arc<[_]>, _>>()?;
        let default_model = models.first().cloned().ok_or(CatalogError::Empty)?;
        Ok(Self { default_model, models })
    }

    /// The model that answers where none is chosen.
    pub fn default_model(&self) -> &Arc<Model> {
        &self.default_model
    }

    /// The model of this name.
    pub fn find(&self, name: &str) -> Option<&Arc<Model>> {
        self.models.iter().find(|model| model.name == name)
    }

    /// The names of all models, for people.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.models.iter().map(|model| model.name.as_str()).collect();
        names.join(", ")
    }

    /// All models as everybody may know them.
    pub fn list(&self) -> ModelList {
        let items = self.models.iter().map(|model| {
            let ModelInfo { provider, model: provider_model } = model.client.info().clone();
            CatalogModel {
                name: model.name.clone(),
                provider,
                model: provider_model,
                tool_mode: model.client.tool_offer(),
                quirks: quirks_of(&*model.client),
                is_default: Arc::ptr_eq(model, &self.default_model),
                vision: model.vision,
                prices: model.prices,
                available: true,
            }
        });
        ModelList { items: items.collect() }
    }
}

impl Model {
    fn connect(entry: &ModelEntry, titles: bool) -> Result<Self, CatalogError> {
        let failed = |source| CatalogError::Model { origin: entry.origin.clone(), source };
        let client = entry.priced(entry.choice.connect().map_err(failed)?);
        let titles = if titles { entry.choice.connect_for_titles().map_err(failed)? } else { None };
        Ok(Self {
            name: entry.name.clone(),
            client,
            titles: titles.map(|client| TitleWriter::new(entry.priced(client))),
            prices: entry.prices,
            vision: entry.vision,
            window: entry.choice.window(),
            can_sum_up: entry.choice.can_sum_up(),
        })
    }

    /// What people and programs call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What answers.
    pub fn client(&self) -> &dyn ModelClient {
        &*self.client
    }

    /// The same for who keeps it.
    pub fn shared_client(&self) -> Arc<dyn ModelClient> {
        Arc::clone(&self.client)
    }

    /// How much it takes at once.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Whether it can sum up what was said, or plan.
    pub fn can_sum_up(&self) -> bool {
        self.can_sum_up
    }

    /// What writes titles; without it a conversation keeps the title that its first question gave it.
    pub fn titles(&self) -> Option<&TitleWriter> {
        self.titles.as_ref()
    }
}

/// The names of the quirks that are known so far. `tool_mode` has the one about tools.
fn quirks_of(client: &dyn ModelClient) -> Vec<String> {
    let quirks = client.quirks();
    quirks.iter().filter(|quirk| *quirk != Quirk::NoTools).map(|quirk| quirk.as_str().to_owned()).collect()
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model").field("name", &self.name).field("info", self.client.info()).finish_non_exhaustive()
    }
}
