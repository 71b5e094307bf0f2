//! Which model answers: the one that comes with Tallybook, or a provider's.

use std::{sync::Arc, time::Duration};

use tallybook_demo_model::DemoModel;
use tallybook_llm::{ConnectError, ModelClient, ModelSettings, connect};

/// The model that the settings name.
#[derive(Clone, Debug)]
pub enum ModelChoice {
    /// The built-in demo model, which needs no key and no network.
    Demo {
        /// How long it pauses between two words.
        pace: Duration,
    },
    /// A model behind some provider's API.
    Provider(ModelSettings),
}

impl ModelChoice {
    /// The model for answers.
    pub fn connect(&self) -> Result<Arc<dyn ModelClient>, ConnectError> {
        match self {
            Self::Demo { pace } => Ok(Arc::new(DemoModel::new(*pace))),
            Self::Provider(settings) => connect(settings),
        }
    }

    /// The model for titles; `None` for the demo model, which cannot write any.
    pub fn connect_for_titles(&self) -> Result<Option<Arc<dyn ModelClient>>, ConnectError> {
        match self {
            Self::Demo { .. } => Ok(None),
            Self::Provider(settings) => connect(&settings.for_titles()).map(Some),
        }
    }
}
