//! Anthropic Messages. This file ties the parts together; the request is in `request`, the answer in `stream`.

mod request;
pub(super) mod stream;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tallybook_protocol::ModelInfo;

use super::{
    endpoint::Endpoint,
    model::{ModelClient, ModelStream},
    provider::ProviderKind,
    request::ModelRequest,
    retry,
    settings::ModelSettings,
};

/// A model behind Anthropic's API.
pub(super) struct Anthropic {
    endpoint: Arc<Endpoint>,
    info: ModelInfo,
    options: request::Options,
}

impl Anthropic {
    pub(super) fn new(endpoint: Endpoint, settings: &ModelSettings) -> Self {
        let info = ModelInfo {
            provider: ProviderKind::Anthropic.as_str().to_owned(),
            model: settings.model_name().to_owned(),
        };
        let options = request::Options { max_tokens: settings.max_tokens, temperature: settings.temperature };
        Self { endpoint: Arc::new(endpoint), info, options }
    }
}

impl ModelClient for Anthropic {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let body = request::body(&self.info, &self.options, &request);
        let model = self.info.model.clone();
        retry::stream(self.endpoint.clone(), body, move || stream::Reader::new(&model))
    }
}
