//! The wire format of OpenAI Chat Completions, and of the servers that implement it: OpenRouter, Ollama, llama.cpp,
//! vLLM, LM Studio. Requests are in `request`, answers in `stream`, and the content of a delta in `content`. Reasoning
//! in fields of its own is in `reasoning`, and reasoning within the text in `reasoning_tags`.

mod content;
mod reasoning;
pub(crate) mod reasoning_tags;
mod request;
pub(crate) mod stream;
#[cfg(test)]
mod tests;

use tallybook_protocol::ModelInfo;

use super::{
    endpoint::Endpoint, provider::ProviderKind, quirks::QuirkSet, request::ModelRequest, settings::ModelSettings,
    wire_format::WireFormat,
};
use crate::openai::reasoning_tags::UnopenedReasoning;

/// The wire format of Chat Completions, with the settings that apply to every request.
pub(crate) struct OpenAi {
    options: request::Options,
    habit: UnopenedReasoning,
}

impl OpenAi {
    /// Creates the wire format for the server at `endpoint`.
    pub(crate) fn new(endpoint: &Endpoint, settings: &ModelSettings) -> Self {
        let options = request::Options {
            max_tokens: settings.max_tokens,
            limit: request::TokenLimit::of(endpoint.url.host_str().unwrap_or_default()),
            temperature: settings.temperature,
            effort: settings.reasoning_effort,
            thinking_tokens: settings.thinking_tokens,
            web_search: settings.web_search && settings.provider == ProviderKind::OpenRouter,
        };
        Self { options, habit: UnopenedReasoning::default() }
    }
}

impl WireFormat for OpenAi {
    type Reader = stream::Reader;

    const PLAIN_PROPERTY_NAMES: bool = false;

    fn body(&self, info: &ModelInfo, request: &ModelRequest, quirks: &QuirkSet) -> Result<String, serde_json::Error> {
        request::body(info, &self.options, request, quirks)
    }

    fn reader(&self, model: &str) -> stream::Reader {
        stream::Reader::new(model, self.habit.clone())
    }
}
