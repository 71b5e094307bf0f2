//! A model behind a provider's API: the client that all wire formats share. How it is asked is in `retry`.

use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _};
use tallybook_protocol::ModelInfo;
use tallybook_tools::ToolSpec;

use super::{
    endpoint::Endpoint,
    event::ModelEvent,
    model::{ModelClient, ModelStream},
    names,
    reader::StreamReader,
    request::ModelRequest,
    retry,
    settings::ModelSettings,
};

/// How one API writes requests and answers, with what the settings add to every request.
pub(super) trait WireFormat: Send + Sync + 'static {
    /// Reads one answer.
    type Reader: StreamReader + 'static;

    /// The JSON text of a request.
    fn body(&self, info: &ModelInfo, request: &ModelRequest) -> Result<String, serde_json::Error>;

    /// Returns a reader of one answer of the model of this name.
    fn reader(&self, model: &str) -> Self::Reader;
}

/// A model that speaks `F`.
pub(super) struct ProviderModel<F> {
    endpoint: Arc<Endpoint>,
    info: ModelInfo,
    format: Arc<F>,
}

impl<F: WireFormat> ProviderModel<F> {
    pub(super) fn new(endpoint: Endpoint, format: F, settings: &ModelSettings) -> Self {
        let info =
            ModelInfo { provider: settings.provider.as_str().to_owned(), model: settings.model_name().to_owned() };
        Self { endpoint: Arc::new(endpoint), info, format: Arc::new(format) }
    }
}

impl<F: WireFormat> ModelClient for ProviderModel<F> {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let body = self.format.body(&self.info, &request);
        let (model, format) = (self.info.model.clone(), Arc::clone(&self.format));
        let answer = retry::stream(self.endpoint.clone(), body, move || format.reader(&model));
        answer.map_ok(move |event| with_resolved_name(event, &request.tools)).boxed()
    }
}

/// Replaces the name in a call with the name of the tool that it means.
fn with_resolved_name(event: ModelEvent, tools: &[ToolSpec]) -> ModelEvent {
    match event {
        ModelEvent::ToolCall(call) => ModelEvent::ToolCall(names::resolved(call, tools)),
        event => event,
    }
}
