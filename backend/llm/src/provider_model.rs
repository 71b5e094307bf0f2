//! A model behind a provider's API: the client that all wire formats share. How it is asked is in `retry`.

use std::sync::Arc;

use tallybook_protocol::ModelInfo;

use super::{
    endpoint::Endpoint,
    model::{ModelClient, ModelStream},
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

    /// A reader of one answer of the model of this name.
    fn reader(model: &str) -> Self::Reader;
}

/// A model that speaks `F`.
pub(super) struct ProviderModel<F> {
    endpoint: Arc<Endpoint>,
    info: ModelInfo,
    format: F,
}

impl<F: WireFormat> ProviderModel<F> {
    pub(super) fn new(endpoint: Endpoint, format: F, settings: &ModelSettings) -> Self {
        let info =
            ModelInfo { provider: settings.provider.as_str().to_owned(), model: settings.model_name().to_owned() };
        Self { endpoint: Arc::new(endpoint), info, format }
    }
}

impl<F: WireFormat> ModelClient for ProviderModel<F> {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let body = self.format.body(&self.info, &request);
        let model = self.info.model.clone();
        retry::stream(self.endpoint.clone(), body, move || F::reader(&model))
    }
}
