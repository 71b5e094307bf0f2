//! A model behind a provider's API: the client that all wire formats share. It omits the parts of a request that the
//! model's server does not accept, and learns them from refusals. One request and its retries are in `http`.

use std::sync::Arc;

use async_stream::stream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use tallybook_protocol::ModelInfo;
use tallybook_tools::ToolSpec;

use super::{
    endpoint::Endpoint,
    error::ModelError,
    event::ModelEvent,
    http,
    model::{ModelClient, ModelStream},
    names, prompted,
    property_names::PropertyNames,
    quirks::{Quirk, QuirkSet, Quirks},
    reader::{StreamReader, bad_stream},
    request::{ModelMessage, ModelRequest, UserPart},
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
        let answer = http::stream(self.endpoint.clone(), body.clone(), reader);
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

/// A request in the form that a server with quirks accepts, and the state for reading its answer.
pub(crate) struct AdaptedRequest {
    /// `None` if the request needs no change.
    changed: Option<ModelRequest>,
    names: Option<PropertyNames>,
    /// The reader of the tool calls in the answer's text; `None` unless the tools are described in the prompt.
    prompted: Option<prompted::Calls>,
}

impl AdaptedRequest {
    pub(crate) fn new(
        info: &ModelInfo,
        request: &ModelRequest,
        quirks: &QuirkSet,
        plain_names: bool,
    ) -> Result<Self, ModelError> {
        let mut changed = None;
        let mut prompted = None;
        if quirks.has(Quirk::NoTools) {
            changed = Some(prompted::in_text(info, request)?);
            prompted = prompted::Calls::of(request);
        }
        if quirks.has(Quirk::NoImages) && has_image(request) {
            changed = Some(with_notes_for_images(changed.unwrap_or_else(|| request.clone())));
        }
        if quirks.has(Quirk::NoSystemMessage) {
            changed = Some(with_system_in_question(changed.unwrap_or_else(|| request.clone())));
        }
        let sent = changed.as_ref().unwrap_or(request);
        let has_plain_names = plain_names || quirks.has(Quirk::NoSpecialPropertyNames);
        let names = if has_plain_names { PropertyNames::of(&sent.tools) } else { None };
        if let Some(names) = &names {
            changed = Some(names.request(sent.clone()));
        }
        Ok(Self { changed, names, prompted })
    }

    /// Returns the request to send in place of `original`.
    pub(crate) fn request<'a>(&'a self, original: &'a ModelRequest) -> &'a ModelRequest {
        self.changed.as_ref().unwrap_or(original)
    }

    /// Converts the answer to an answer to the original request.
    pub(crate) fn read(&self, answer: ModelStream) -> ModelStream {
        let answer = match self.names.clone() {
            None => answer,
            Some(names) => answer.map(move |event| event.map(|event| with_original_names(&names, event))).boxed(),
        };
        match self.prompted.clone() {
            None => answer,
            Some(calls) => calls.read(answer),
        }
    }
}

fn with_original_names(names: &PropertyNames, event: ModelEvent) -> ModelEvent {
    match event {
        ModelEvent::ToolCall(call) => ModelEvent::ToolCall(names.original(call)),
        event => event,
    }
}

fn has_image(request: &ModelRequest) -> bool {
    let is_image = |part: &UserPart| matches!(part, UserPart::Image(_));
    request.messages.iter().any(|message| match message {
        ModelMessage::User(parts) => parts.iter().any(is_image),
        ModelMessage::ToolResults(results) => results.iter().flat_map(|result| &result.images).any(is_image),
        ModelMessage::Assistant(_) => false,
    })
}

/// Replaces each image with a note that the model cannot see it.
fn with_notes_for_images(mut request: ModelRequest) -> ModelRequest {
    for message in &mut request.messages {
        match message {
            ModelMessage::User(parts) => {
                for part in parts {
                    if let UserPart::Image(image) = part {
                        *part = UserPart::Text(image.note());
                    }
                }
            }
            // The text of the result describes them.
            ModelMessage::ToolResults(results) => results.iter_mut().for_each(|result| result.images.clear()),
            ModelMessage::Assistant(_) => {}
        }
    }
    request
}

/// Moves the system texts to the beginning of the first user message.
fn with_system_in_question(mut request: ModelRequest) -> ModelRequest {
    let texts = std::mem::take(&mut request.system).into_iter().filter(|text| !text.trim().is_empty());
    let mut texts: Vec<UserPart> = texts.map(UserPart::Text).collect();
    if texts.is_empty() {
        return request;
    }
    if let Some(ModelMessage::User(parts)) = request.messages.first_mut() {
        texts.append(parts);
        *parts = texts;
    } else {
        request.messages.insert(0, ModelMessage::User(texts));
    }
    request
}
