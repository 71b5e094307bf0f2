//! Anthropic Messages: the request is in `request`, the answer in `stream`.

mod request;
pub(super) mod stream;
#[cfg(test)]
mod tests;

use tallybook_protocol::ModelInfo;

use super::{provider_model::WireFormat, request::ModelRequest, settings::ModelSettings};

/// The format of the Messages API.
pub(super) struct Anthropic(request::Options);

impl Anthropic {
    pub(super) fn new(settings: &ModelSettings) -> Self {
        Self(request::Options {
            max_tokens: settings.max_tokens,
            temperature: settings.temperature,
            effort: settings.reasoning_effort,
            thinking_tokens: settings.thinking_tokens,
        })
    }
}

impl WireFormat for Anthropic {
    type Reader = stream::Reader;

    fn body(&self, info: &ModelInfo, request: &ModelRequest) -> Result<String, serde_json::Error> {
        request::body(info, &self.0, request)
    }

    fn reader(&self, model: &str) -> stream::Reader {
        stream::Reader::new(model)
    }
}
