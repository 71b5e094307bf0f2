//! The wire format of Anthropic's Messages API. Requests are in `request`, answers in `stream`.

mod request;
pub(crate) mod stream;
#[cfg(test)]
mod tests;

use tallybook_protocol::ModelInfo;

use super::{quirks::QuirkSet, request::ModelRequest, settings::ModelSettings, wire_format::WireFormat};

/// The wire format of the Messages API, with the settings that apply to every request.
pub(crate) struct Anthropic(request::Options);

impl Anthropic {
    pub(crate) fn new(settings: &ModelSettings) -> Self {
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

    const PLAIN_PROPERTY_NAMES: bool = true;

    fn body(&self, info: &ModelInfo, request: &ModelRequest, quirks: &QuirkSet) -> Result<String, serde_json::Error> {
        request::body(info, &self.0, request, quirks)
    }

    fn reader(&self, model: &str) -> stream::Reader {
        stream::Reader::new(model)
    }
}
