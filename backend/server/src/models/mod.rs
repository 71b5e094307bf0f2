//! Which models answer: what the settings say of each (here), those that can be asked (`catalog`) and those that review
//! calls (`review`), and how much one reads at once (`window`). How a
//! provider is asked is in the crate `llm`.

mod catalog;
mod review;
mod window;

use std::{path::PathBuf, sync::Arc, time::Duration};

use tallybook_demo_model::DemoModel;
use tallybook_llm::{ConnectError, ModelClient, ModelSettings, connect, priced};
use tallybook_protocol::Prices;

pub use catalog::{Catalog, CatalogError, Model};
pub use review::ReviewSettings;
pub use window::Window;

/// One model as the settings have it.
#[derive(Clone, Debug)]
pub struct ModelEntry {
    /// What people and programs call it; unique.
    pub name: String,
    /// Which model that is.
    pub choice: ModelChoice,
    /// What it costs, if that is known.
    pub prices: Option<Prices>,
    /// Whether it reads images.
    pub vision: bool,
    /// Where the settings say so.
    pub origin: Origin,
}

impl ModelEntry {
    /// The same model, for whatever it is connected, whose answers say what they cost where that is known.
    fn priced(&self, client: Arc<dyn ModelClient>) -> Arc<dyn ModelClient> {
        match self.prices {
            Some(prices) => priced(client, prices),
            None => client,
        }
    }
}

/// Where a model's settings stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In the variables `LLM_…`.
    Environment,
    /// In the settings file.
    File {
        /// The file.
        path: PathBuf,
        /// The line of the model's name, from 1.
        line: usize,
        /// The number of the model in the file, from 0.
        index: usize,
        /// The lines of the keys that are set for this model.
        lines: Vec<(&'static str, usize)>,
    },
}

/// Which model.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there are as many as the settings name, and most have the large variant"
)]
pub enum ModelChoice {
    /// The built-in demo model, which needs no key and no network.
    Demo {
        /// How long it pauses between two words.
        pace: Duration,
    },
    /// A model behind some provider's API.
    Provider(ModelSettings),
}

impl ModelEntry {
    /// The one model that the environment alone makes, under its provider's name for it.
    pub fn from_environment(choice: ModelChoice) -> Self {
        let name = match &choice {
            ModelChoice::Demo { .. } => "demo".to_owned(),
            ModelChoice::Provider(settings) => settings.model_name().to_owned(),
        };
        Self { name, choice, prices: None, vision: false, origin: Origin::Environment }
    }
}

impl Origin {
    /// Returns the place of a setting, which `llm` knows by this name, and the name that the operator knows it by.
    fn place_of(&self, setting: &str) -> String {
        let variable = format!("LLM_{}", setting.to_ascii_uppercase());
        let Self::File { path, line, index, lines } = self else { return variable };
        let key = if setting == "api_key" { "api_key_env" } else { setting };
        let set_at = lines.iter().find(|(name, _)| *name == key).map(|(_, line)| *line);
        // What the file does not say, a variable says for all models.
        let is_of_all = matches!(key, "temperature" | "max_tokens" | "context_tokens" | "anthropic_version");
        let name = if set_at.is_none() && is_of_all { variable } else { format!("models[{index}].{key}") };
        format!("{}, line {}: {name}", path.display(), set_at.unwrap_or(*line))
    }
}

impl ModelChoice {
    /// The model for answers.
    fn connect(&self) -> Result<Arc<dyn ModelClient>, ConnectError> {
        match self {
            Self::Demo { pace } => Ok(Arc::new(DemoModel::new(*pace))),
            Self::Provider(settings) => connect(settings),
        }
    }

    /// How much it takes at once.
    fn window(&self) -> Window {
        match self {
            Self::Demo { .. } => Window::DEMO,
            Self::Provider(settings) => Window::of(settings),
        }
    }

    /// Whether it can sum up what was said, or plan; the demo model cannot.
    fn can_sum_up(&self) -> bool {
        matches!(self, Self::Provider(_))
    }

    /// The model for titles; `None` for the demo model, which cannot write any.
    fn connect_for_titles(&self) -> Result<Option<Arc<dyn ModelClient>>, ConnectError> {
        match self {
            Self::Demo { .. } => Ok(None),
            Self::Provider(settings) => connect(&settings.for_titles()).map(Some),
        }
    }

    /// The model for votes on calls; `None` for the demo model, which has no opinion.
    fn connect_for_reviews(&self) -> Result<Option<Arc<dyn ModelClient>>, ConnectError> {
        match self {
            Self::Demo { .. } => Ok(None),
            Self::Provider(settings) => connect(&settings.for_reviews()).map(Some),
        }
    }
}
