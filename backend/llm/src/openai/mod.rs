//! OpenAI Chat Completions, and every server that speaks it: OpenRouter, Ollama, llama.cpp, vLLM, LM Studio. This file
//! ties the parts together; the request is in `request`, the answer in `stream`, and what the model thought
//! before it in `reasoning`.

mod reasoning;
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

/// A model behind a Chat Completions API.
pub(super) struct OpenAi {
    endpoint: Arc<Endpoint>,
    info: ModelInfo,
    options: request::Options,
}

impl OpenAi {
    pub(super) fn new(endpoint: Endpoint, settings: &ModelSettings) -> Self {
        let info =
            ModelInfo { provider: settings.provider.as_str().to_owned(), model: settings.model_name().to_owned() };
        let options = request::Options {
            max_tokens: settings.max_tokens,
            limit: request::TokenLimit::of(endpoint.url.host_str().unwrap_or_default()),
            temperature: settings.temperature,
            web_search: settings.web_search && settings.provider == ProviderKind::OpenRouter,
        };
        Self { endpoint: Arc::new(endpoint), info, options }
    }
}

impl ModelClient for OpenAi {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let body = request::body(&self.info, &self.options, &request);
        let model = self.info.model.clone();
        retry::stream(self.endpoint.clone(), body, move || stream::Reader::new(&model))
    }
}
