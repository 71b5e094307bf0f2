//! A model client that adds the cost to the usage of each answer.

use std::sync::Arc;

use futures_util::StreamExt as _;
use tallybook_protocol::{ModelInfo, Prices};

use super::{
    event::ModelEvent,
    model::{ModelClient, ModelStream},
    quirks::QuirkSet,
    request::ModelRequest,
};

/// Wraps a model client so that the usage at the end of each answer contains its cost.
pub fn priced(model: Arc<dyn ModelClient>, prices: Prices) -> Arc<dyn ModelClient> {
    Arc::new(Priced { model, prices })
}

struct Priced {
    model: Arc<dyn ModelClient>,
    prices: Prices,
}

impl ModelClient for Priced {
    fn info(&self) -> &ModelInfo {
        self.model.info()
    }

    fn quirks(&self) -> QuirkSet {
        self.model.quirks()
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let prices = self.prices;
        let with_cost = move |event| match event {
            ModelEvent::Ended { stop_reason, mut usage } => {
                usage.cost_nanos = Some(prices.cost_nanos(&usage));
                ModelEvent::Ended { stop_reason, usage }
            }
            event => event,
        };
        self.model.stream(request).map(move |event| event.map(with_cost)).boxed()
    }
}
