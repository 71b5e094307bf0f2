//! Adapts requests and answers to those quirks of a server that all wire formats handle in the same way.

use futures_util::StreamExt as _;
use tallybook_protocol::ModelInfo;

use super::{
    error::ModelError,
    event::ModelEvent,
    model::ModelStream,
    prompted,
    property_names::PropertyNames,
    quirks::{Quirk, QuirkSet},
    request::{ModelMessage, ModelRequest, UserPart},
};

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
