//! Choosing between native calls and those in the prompt by what the model's server says to the first request.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_stream::stream;
use futures_util::StreamExt as _;
use tallybook_protocol::{ModelInfo, ToolOffer};

use super::client::Prompted;
use crate::{
    error::ModelError,
    event::ModelEvent,
    model::{ModelClient, ModelStream},
    request::ModelRequest,
};

/// A model that is asked with native tools until its server answers that it takes none. From then on, while the
/// program runs, tools are described in the prompt.
pub(crate) struct Auto {
    native: Arc<dyn ModelClient>,
    prompted: Prompted,
    without_tools: Arc<AtomicBool>,
}

impl Auto {
    pub(crate) fn new(native: Arc<dyn ModelClient>) -> Self {
        Self { prompted: Prompted::new(native.clone()), native, without_tools: Arc::default() }
    }
}

impl ModelClient for Auto {
    fn info(&self) -> &ModelInfo {
        self.native.info()
    }

    fn tool_offer(&self) -> ToolOffer {
        if self.without_tools.load(Ordering::Relaxed) { ToolOffer::Prompt } else { ToolOffer::Native }
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        if self.without_tools.load(Ordering::Relaxed) {
            return self.prompted.stream(request);
        }
        let mut answer = self.native.stream(request.clone());
        let prompted = self.prompted.clone();
        let without_tools = self.without_tools.clone();
        let events = stream! {
            let mut settled = false;
            while let Some(event) = answer.next().await {
                match event {
                    Err(error @ ModelError::ToolsUnsupported { .. }) if !settled => {
                        if !without_tools.swap(true, Ordering::Relaxed) {
                            tracing::warn!(%error, "tools are described in the prompt from now on; the tool mode prompt does so at once");
                        }
                        answer = prompted.stream(request.clone());
                        settled = true;
                    }
                    // A server that was busy at first is still at the beginning.
                    Ok(ModelEvent::Attempt(_) | ModelEvent::RetryIn(_)) => yield event,
                    event => {
                        settled = true;
                        yield event;
                    }
                }
            }
        };
        events.boxed()
    }
}
