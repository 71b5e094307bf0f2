//! Scripted replies and their parts, independent of the wire format.

use bytes::Bytes;

use crate::Gate;

/// One scripted answer to one request. Made from a list of parts, or by one of the functions here.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Body,
    pub(crate) before_headers: Option<Gate>,
    pub(crate) splintered: bool,
}

/// The body of a reply.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// Sent as it is.
    Verbatim(Bytes),
    /// A stream in the format of the request.
    Stream { parts: Vec<Part>, stop_reason: Option<String> },
}

/// A part of a streamed reply.
#[derive(Clone, Debug)]
pub struct Part(pub(crate) PartKind);

#[derive(Clone, Debug)]
pub(crate) enum PartKind {
    Text(String),
    ToolCall { id: Option<String>, name: String, input_text: String, closed: bool },
    Thinking { text: String, signature: String },
    RedactedThinking(String),
    Raw(Bytes),
    Gate(Gate),
    EndOfFile,
    Cut,
}

/// Returns text, sent in several deltas.
pub fn text(words: impl Into<String>) -> Part {
    Part(PartKind::Text(words.into()))
}

/// Returns a complete tool call with a generated ID. `input_text` is sent as it is, in fragments, and need not be JSON.
pub fn tool_call(name: impl Into<String>, input_text: impl Into<String>) -> Part {
    call(None, name, input_text, true)
}

/// Returns a complete tool call with this ID.
pub fn tool_call_with_id(id: impl Into<String>, name: impl Into<String>, input_text: impl Into<String>) -> Part {
    call(Some(id.into()), name, input_text, true)
}

/// Returns the beginning of a tool call that is never closed; put [`cut`], [`end_of_file`] or a stop reason after it.
pub fn partial_tool_call(name: impl Into<String>, input_fragment: impl Into<String>) -> Part {
    call(None, name, input_fragment, false)
}

fn call(id: Option<String>, name: impl Into<String>, input_text: impl Into<String>, closed: bool) -> Part {
    Part(PartKind::ToolCall { id, name: name.into(), input_text: input_text.into(), closed })
}

/// Returns reasoning: a signed block of its own in Anthropic's format, `reasoning_content` in OpenAI's.
pub fn thinking(text: impl Into<String>, signature: impl Into<String>) -> Part {
    Part(PartKind::Thinking { text: text.into(), signature: signature.into() })
}

/// Returns reasoning that only the provider can read; nothing at all in OpenAI's format.
pub fn redacted_thinking(data: impl Into<String>) -> Part {
    Part(PartKind::RedactedThinking(data.into()))
}

/// Returns bytes that are inserted into the stream as they are.
pub fn raw(bytes: impl Into<Bytes>) -> Part {
    Part(PartKind::Raw(bytes.into()))
}

/// Returns a part that sends nothing more and keeps the connection open until the client closes it.
pub fn hang() -> Part {
    Part(PartKind::Gate(Gate::new()))
}

/// Returns a part that ends the body cleanly, without the events that end a finished answer.
pub fn end_of_file() -> Part {
    Part(PartKind::EndOfFile)
}

/// Returns a part that breaks the connection within the body.
pub fn cut() -> Part {
    Part(PartKind::Cut)
}

impl Reply {
    /// Creates an answer with this status and body. The content type is JSON if the body begins with `{`.
    pub fn fail(status: u16, body: impl Into<String>) -> Self {
        let body = body.into();
        let content_type = if body.starts_with('{') { "application/json" } else { "text/plain" };
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            body: Body::Verbatim(body.into()),
            before_headers: None,
            splintered: false,
        }
    }

    /// Creates an event stream from these bytes.
    pub fn raw_stream(body: impl Into<Bytes>) -> Self {
        Self { body: Body::Verbatim(body.into()), ..Self::streaming(Vec::new()) }
    }

    /// Sends nothing, not even headers, until `gate` is opened.
    #[must_use]
    pub fn after(mut self, gate: &Gate) -> Self {
        self.before_headers = Some(gate.clone());
        self
    }

    /// Sends the reply byte by byte, with CRLF at the end of each line.
    #[must_use]
    pub fn splintered(mut self) -> Self {
        self.splintered = true;
        self
    }

    /// Sets another stop reason: Anthropic's word, which is translated for OpenAI's format if that has one, or any
    /// other text.
    #[must_use]
    pub fn stop_reason(mut self, word: impl Into<String>) -> Self {
        if let Body::Stream { stop_reason, .. } = &mut self.body {
            *stop_reason = Some(word.into());
        }
        self
    }

    /// Adds a response header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    fn streaming(parts: Vec<Part>) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type".to_owned(), "text/event-stream; charset=utf-8".to_owned())],
            body: Body::Stream { parts, stop_reason: None },
            before_headers: None,
            splintered: false,
        }
    }
}

impl From<Vec<Part>> for Reply {
    fn from(parts: Vec<Part>) -> Self {
        Self::streaming(parts)
    }
}

impl<const N: usize> From<[Part; N]> for Reply {
    fn from(parts: [Part; N]) -> Self {
        Self::streaming(parts.into())
    }
}
