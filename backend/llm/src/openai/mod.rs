//! OpenAI Chat Completions, and every server that speaks it: OpenRouter, Ollama, llama.cpp, vLLM, LM Studio. The request is
//! in `request`, the answer in `stream`, what the model thought before it in `reasoning`, and what of
//! its text is thinking in `thought`.

mod reasoning;
mod request;
pub(super) mod stream;
#[cfg(test)]
mod tests;
mod thought;

use tallybook_protocol::ModelInfo;

use super::{
    endpoint::Endpoint, provider::ProviderKind, provider_model::WireFormat, quirks::QuirkSet, request::ModelRequest,
    settings::ModelSettings,
};

/// The format of Chat Completions.
pub(super) struct OpenAi(request::Options);

impl OpenAi {
    /// As the server behind `endpoint` takes it.
    pub(super) fn new(endpoint: &Endpoint, settings: &ModelSettings) -> Self {
        Self(request::Options {
            max_tokens: settings.max_tokens,
            limit: request::TokenLimit::of(endpoint.url.host_str().unwrap_or_default()),
            temperature: settings.temperature,
            effort: settings.reasoning_effort,
            thinking_tokens: settings.thinking_tokens,
            web_search: settings.web_search && settings.provider == ProviderKind::OpenRouter,
        })
    }
}

impl WireFormat for OpenAi {
    type Reader = stream::Reader;

    const PLAIN_PROPERTY_NAMES: bool = false;

    fn body(&self, info: &ModelInfo, request: &ModelRequest, quirks: &QuirkSet) -> Result<String, serde_json::Error> {
        request::body(info, &self.0, request, quirks)
    }

    fn reader(&self, model: &str) -> stream::Reader {
        stream::Reader::new(model)
    }
}
