//! OpenAI Chat Completions, and every server that speaks it: OpenRouter, Ollama, llama.cpp, vLLM, LM Studio. The request is
//! in `request`, the answer in `stream` with its parts in `content`, the reasoning before it in `reasoning`, and reasoning
//! within its text in `thought`.

mod content;
mod reasoning;
mod request;
pub(super) mod stream;
#[cfg(test)]
mod tests;
pub(super) mod thought;

use tallybook_protocol::ModelInfo;

use self::thought::ThoughtHabit;
use super::{
    endpoint::Endpoint, provider::ProviderKind, provider_model::WireFormat, quirks::QuirkSet, request::ModelRequest,
    settings::ModelSettings,
};

/// The format of Chat Completions.
pub(super) struct OpenAi {
    options: request::Options,
    habit: ThoughtHabit,
}

impl OpenAi {
    /// As the server behind `endpoint` takes it.
    pub(super) fn new(endpoint: &Endpoint, settings: &ModelSettings) -> Self {
        let options = request::Options {
            max_tokens: settings.max_tokens,
            limit: request::TokenLimit::of(endpoint.url.host_str().unwrap_or_default()),
            temperature: settings.temperature,
            effort: settings.reasoning_effort,
            thinking_tokens: settings.thinking_tokens,
            web_search: settings.web_search && settings.provider == ProviderKind::OpenRouter,
        };
        Self { options, habit: ThoughtHabit::default() }
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
