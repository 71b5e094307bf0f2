//! A model behind a provider's API: the client that all wire formats share. It omits the parts of a request that the
//! model's server does not accept, and learns them from refusals. One request and its retries are in `retry`.

use std::sync::Arc;

use async_stream::stream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use tallybook_protocol::ModelInfo;
use tallybook_tools::ToolSpec;

use super::{
    adapted_request::AdaptedRequest,
    endpoint::Endpoint,
    error::ModelError,
    event::ModelEvent,
    model::{ModelClient, ModelStream},
    names,
    quirks::{QuirkSet, Quirks},
    reader::{StreamReader, bad_stream},
    request::ModelRequest,
    retry,
    settings::ModelSettings,
};

/// A wire format: writes requests, including the settings that apply to every request, and reads answers.
pub(crate) trait WireFormat: Send + Sync + 'static {
    /// The reader of one answer.
    type Reader: StreamReader + 'static;

    /// `true` if every server of this format refuses argument names with special characters.
    const PLAIN_PROPERTY_NAMES: bool;

    /// Returns the JSON text of a request, for a server with these quirks.
    fn body(&self, info: &ModelInfo, request: &ModelRequest, quirks: &QuirkSet) -> Result<String, serde_json::Error>;

    /// Creates a reader for one answer of the model with this name.
    fn reader(&self, model: &str) -> Self::Reader;
}

/// A model that is accessed through the wire format `F`.
pub(crate) struct ProviderModel<F>(Arc<Inner<F>>);

struct Inner<F> {
    endpoint: Arc<Endpoint>,
    info: ModelInfo,
    format: F,
    quirks: Quirks,
}

/// A request in the form in which it is sent.
struct Prepared {
    adapted: AdaptedRequest,
    body: String,
}

impl<F: WireFormat> ProviderModel<F> {
    pub(crate) fn new(endpoint: Endpoint, format: F, quirks: Quirks, settings: &ModelSettings) -> Self {
        let info =
            ModelInfo { provider: settings.provider.as_str().to_owned(), model: settings.model_name().to_owned() };
        Self(Arc::new(Inner { endpoint: Arc::new(endpoint), info, format, quirks }))
    }
}

impl<F: WireFormat> Inner<F> {
    fn prepare(&self, request: &ModelRequest, quirks: &QuirkSet) -> Result<Prepared, ModelError> {
        let adapted = AdaptedRequest::new(&self.info, request, quirks, F::PLAIN_PROPERTY_NAMES)?;
        let body = self.format.body(&self.info, adapted.request(request), quirks);
        let body = body.map_err(|error| bad_stream(format!("the request cannot be serialized as JSON ({error})")))?;
        Ok(Prepared { adapted, body })
    }

    fn ask(self: &Arc<Self>, request: &ModelRequest, Prepared { adapted, body }: &Prepared) -> ModelStream {
        let model = Arc::clone(self);
        let reader = move || model.format.reader(&model.info.model);
        let tools = Arc::clone(&adapted.request(request).tools);
        let answer = retry::stream(self.endpoint.clone(), body.clone(), reader);
        adapted.read(answer.map_ok(move |event| with_resolved_name(event, &tools)).boxed())
    }

    /// Returns the request without the part that the refusal names, and remembers the quirk for later requests. Returns
    /// `None` if the refusal names no known part, if the settings deny the quirk, or if the request would not change.
    fn remedy(
        &self,
        request: &ModelRequest,
        refusal: &ModelError,
        sent: &Prepared,
        quirks: &QuirkSet,
    ) -> Option<(Prepared, QuirkSet)> {
        refusal.quirks().iter().find_map(|quirk| {
            let more = self.quirks.add(*quirk, quirks)?;
            let prepared = self.prepare(request, &more).ok().filter(|prepared| prepared.body != sent.body)?;
            if self.quirks.learn(*quirk) {
                let (model, quirk) = (&self.info.model, quirk.as_str());
                tracing::warn!(
                    model,
                    quirk,
                    error = %refusal,
                    "the model's server rejected a part of the request; further requests omit this part"
                );
            }
            Some((prepared, more))
        })
    }
}

impl<F: WireFormat> ModelClient for ProviderModel<F> {
    fn info(&self) -> &ModelInfo {
        &self.0.info
    }

    fn quirks(&self) -> QuirkSet {
        self.0.quirks.known()
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let model = self.0.clone();
        let events = stream! {
            let mut quirks = model.quirks.known();
            let mut prepared = match model.prepare(&request, &quirks) {
                Ok(prepared) => prepared,
                Err(error) => {
                    yield Err(error);
                    return;
                }
            };
            // Each iteration adds a quirk to the set or ends the loop, so there are no more iterations than quirks.
            loop {
                let mut answer = model.ask(&request, &prepared);
                let mut has_begun = false;
                let refusal = loop {
                    match answer.next().await {
                        None => return,
                        Some(Err(error)) if !has_begun => break error,
                        Some(event) => {
                            // Retries alone do not count as the beginning of an answer.
                            has_begun |= !matches!(event, Ok(ModelEvent::Attempt(_) | ModelEvent::RetryIn(_)));
                            yield event;
                        }
                    }
                };
                let Some(remedied) = model.remedy(&request, &refusal, &prepared, &quirks) else {
                    yield Err(refusal);
                    return;
                };
                (prepared, quirks) = remedied;
            }
        };
        events.boxed()
    }
}

/// Replaces the name in a call with the name of the tool that it means.
fn with_resolved_name(event: ModelEvent, tools: &[ToolSpec]) -> ModelEvent {
    match event {
        ModelEvent::ToolCall(call) => ModelEvent::ToolCall(names::resolved(call, tools)),
        event => event,
    }
}
