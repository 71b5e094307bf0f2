//! Settings of the models. `catalog` has the available models and those of a user, and `review` the reviewers of tool
//! calls. The crate `llm` has the providers' APIs.

mod catalog;
mod fields;
mod model;
mod review;

use std::{path::PathBuf, sync::Arc, time::Duration};

use tallybook_demo_model::DemoModel;
use tallybook_llm::{ApiKey, ConnectError, ModelClient, ModelSettings, connect, priced};
use tallybook_protocol::Prices;

pub use catalog::{Catalog, CatalogError, PermittedModels};
pub use fields::{FieldError, check_name, read_fields, read_prices};
pub use model::{Model, Window};
pub use review::ReviewSettings;

/// One model as configured in the settings.
#[derive(Clone, Debug)]
pub struct ModelEntry {
    /// Name of the model in the UI and the API; unique.
    pub name: String,
    /// The built-in demo model, or a provider's model with its settings.
    pub choice: ModelChoice,
    /// Prices of the model's tokens, if known.
    pub prices: Option<Prices>,
    /// `true` if the model accepts images.
    pub vision: bool,
    /// Source of these settings.
    pub origin: Origin,
}

impl ModelEntry {
    /// Creates a client for the model. Sends no requests.
    pub fn connect(&self) -> Result<Arc<dyn ModelClient>, ConnectError> {
        Ok(self.priced(self.choice.connect()?))
    }

    /// Returns the model's API key, if it has one.
    pub fn api_key(&self) -> Option<&ApiKey> {
        match &self.choice {
            ModelChoice::Demo { .. } => None,
            ModelChoice::Provider(settings) => settings.api_key.as_ref(),
        }
    }

    /// Wraps a client of this model so that its usage includes the cost, if the prices are known.
    fn priced(&self, client: Arc<dyn ModelClient>) -> Arc<dyn ModelClient> {
        match self.prices {
            Some(prices) => priced(client, prices),
            None => client,
        }
    }
}

/// Source of a model's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The `LLM_…` variables.
    Environment,
    /// The settings file.
    File {
        /// Path of the file.
        path: PathBuf,
        /// Line of the model's name, from 1.
        line: usize,
        /// Index of the model in the file, from 0.
        index: usize,
        /// Lines of the keys that are set for this model.
        lines: Vec<(&'static str, usize)>,
    },
    /// The page or the API.
    Page,
}

/// The built-in demo model, or a model of a provider.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there are as many as the settings name, and most have the large variant"
)]
pub enum ModelChoice {
    /// The built-in demo model, which needs no key and no network.
    Demo {
        /// Pause between two words.
        pace: Duration,
    },
    /// A model behind a provider's API.
    Provider(ModelSettings),
}

impl ModelEntry {
    /// Creates the one entry that the environment defines. Its name is the provider's name for the model.
    pub fn from_environment(choice: ModelChoice) -> Self {
        let name = match &choice {
            ModelChoice::Demo { .. } => "demo".to_owned(),
            ModelChoice::Provider(settings) => settings.model_name().to_owned(),
        };
        Self { name, choice, prices: None, vision: false, origin: Origin::Environment }
    }
}

impl Origin {
    /// Returns the location of a setting, for error messages: the file, the line and the key, or the name of the
    /// variable. `setting` is the name that `llm` uses.
    fn place_of(&self, setting: &str) -> String {
        let variable = format!("LLM_{}", setting.to_ascii_uppercase());
        let Self::File { path, line, index, lines } = self else {
            return if *self == Self::Page { setting.to_owned() } else { variable };
        };
        let key = if setting == "api_key" { "api_key_env" } else { setting };
        let set_at = lines.iter().find(|(name, _)| *name == key).map(|(_, line)| *line);
        // If the file does not set one of these keys, a variable sets it for all models.
        let is_of_all = matches!(key, "temperature" | "max_tokens" | "context_tokens" | "anthropic_version");
        let name = if set_at.is_none() && is_of_all { variable } else { format!("models[{index}].{key}") };
        format!("{}, line {}: {name}", path.display(), set_at.unwrap_or(*line))
    }
}

impl ModelChoice {
    /// Creates the client for answers.
    fn connect(&self) -> Result<Arc<dyn ModelClient>, ConnectError> {
        match self {
            Self::Demo { pace } => Ok(Arc::new(DemoModel::new(*pace))),
            Self::Provider(settings) => connect(settings),
        }
    }

    /// Returns `true` if the model can write summaries and plans; the demo model cannot.
    fn can_summarize(&self) -> bool {
        matches!(self, Self::Provider(_))
    }

    /// Creates the client for titles; `None` for the demo model, which cannot write any.
    fn connect_for_titles(&self) -> Result<Option<Arc<dyn ModelClient>>, ConnectError> {
        match self {
            Self::Demo { .. } => Ok(None),
            Self::Provider(settings) => connect(&settings.for_titles()).map(Some),
        }
    }

    /// Creates the client for votes on tool calls; `None` for the demo model, which cannot vote.
    fn connect_for_reviews(&self) -> Result<Option<Arc<dyn ModelClient>>, ConnectError> {
        match self {
            Self::Demo { .. } => Ok(None),
            Self::Provider(settings) => connect(&settings.for_reviews()).map(Some),
        }
    }
}
