//! Recognizes errors that a server sends in the stream after HTTP 200, in the forms that servers use. An answer that
//! contains such an error is never complete, whatever end mark follows the error.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tallybook_protocol::sse::Frame;

use super::{error::ModelError, http_error, reader::bad_stream, reason::Reason};

/// Returns an error if the frame reports one. The reader handles frames that are malformed in any other way.
pub(crate) fn check(frame: &Frame, model: &str) -> Result<(), ModelError> {
    let names_an_error = |json: &str| serde_json::from_str::<Marks<'_>>(json).is_ok_and(|marks| marks.name_an_error());
    // Gemini writes errors as a list.
    let is_error = || {
        names_an_error(&frame.data)
            || (frame.data.trim_start().starts_with('[')
                && serde_json::from_str::<Vec<&RawValue>>(&frame.data)
                    .is_ok_and(|elements| elements.first().is_some_and(|first| names_an_error(first.get()))))
    };
    if frame.event == "error" || is_error() { Err(read(&frame.data, model)) } else { Ok(()) }
}

/// The fields of a frame's JSON that identify an error. They are raw values, because each may have any type and hold
/// numbers that are out of range.
#[derive(Debug, Deserialize)]
struct Marks<'a> {
    /// `{"error":{"message":…}}`, or `{"error":"…"}`: OpenAI, OpenRouter, newer vLLM, text-generation-inference.
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    /// `{"object":"error","message":…,"code":…}`: vLLM.
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    /// `{"type":"error",…}`: Anthropic, and servers that send it without the event's name.
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    /// `{"base_resp":{"status_code":1008,"status_msg":…}}`: `MiniMax`, with the code 0 in every chunk.
    #[serde(borrow)]
    base_resp: Option<&'a RawValue>,
    /// `{"detail":…}`: `FastAPI`; `{"errors":[…]}`: gateways; `{"code":…,"message":"…"}`: `SiliconFlow`, Alibaba.
    #[serde(borrow)]
    detail: Option<&'a RawValue>,
    #[serde(borrow)]
    errors: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    code: Option<&'a RawValue>,
    /// Fields of a normal answer: a frame that has one of them is part of an answer.
    #[serde(borrow)]
    choices: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

impl Marks<'_> {
    fn name_an_error(&self) -> bool {
        let is_word = |value: Option<&RawValue>| value.is_some_and(|value| value.get() == "\"error\"");
        let is_error =
            |error: &RawValue| serde_json::from_str(error.get()).map_or(true, |error| says_something(&error));
        let has_failed = |status: &RawValue| {
            let status: Value = serde_json::from_str(status.get()).unwrap_or_default();
            status["status_code"].as_i64().is_some_and(|code| code != 0)
        };
        self.error.is_some_and(is_error)
            || is_word(self.object)
            || is_word(self.kind)
            || self.base_resp.is_some_and(has_failed)
            || (self.lacks_answer_fields() && self.gives_a_reason())
    }

    /// Returns `true` if the frame has none of the fields of normal answer frames.
    fn lacks_answer_fields(&self) -> bool {
        self.kind.is_none() && self.choices.is_none() && self.usage.is_none()
    }

    fn gives_a_reason(&self) -> bool {
        let is_text = |value: Option<&RawValue>| value.is_some_and(|value| value.get().starts_with('"'));
        let has_words = |value: &RawValue| serde_json::from_str(value.get()).is_ok_and(|value| says_something(&value));
        [self.detail, self.errors].into_iter().flatten().any(has_words)
            || (is_text(self.message) && self.code.is_some())
    }
}

/// Returns `true` if an error field is not empty. Some servers send an empty error field with every chunk.
fn says_something(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(words) => !words.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(elements) => !elements.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

/// Returns the error that a frame reports, as the corresponding HTTP status would give it.
fn read(data: &str, model: &str) -> ModelError {
    let body: Value = serde_json::from_str(data).unwrap_or_else(|_| Value::from(data));
    let body = match body {
        Value::Array(mut elements) if !elements.is_empty() => elements.swap_remove(0),
        body => body,
    };
    let error = if says_something(&body["error"]) { &body["error"] } else { &body };
    let reason = Reason::from_json(&body);
    let text = reason.text();
    let message = if text.is_empty() { "no message" } else { &text };
    let words = [&error["type"], &error["code"], &body["error_type"]].map(|word| word.as_str().unwrap_or_default());
    let status = status_code(&error["code"]).or_else(|| words.iter().find_map(|word| status_of(word)));
    // Without a status, the text decides, as it does for 400, the status of all invalid requests.
    let by_words = || match http_error::from_status(400, &reason, model) {
        ModelError::Refused { quirks, .. } if quirks.is_empty() => None,
        error => Some(error),
    };
    if let Some(error) = status.map(|status| http_error::from_status(status, &reason, model)).or_else(by_words) {
        return error;
    }
    match words.iter().find(|word| !matches!(**word, "" | "error")) {
        Some(word) => bad_stream(format!("the provider reports {word}: {message}")),
        None => bad_stream(format!("the provider reports: {message}")),
    }
}

/// Returns the HTTP status in an error code, which is a number or a string. Returns `None` if it isn't from 400 to 599.
fn status_code(code: &Value) -> Option<u16> {
    let number = code.as_u64().or_else(|| code.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|code| (400..=599).contains(code))
}

/// Returns the HTTP status that an error code means, in any spelling: `InternalServerError`, `internal_server_error`.
fn status_of(word: &str) -> Option<u16> {
    // No known code is longer.
    let letters = word.chars().take(64).filter(char::is_ascii_alphanumeric);
    let word = letters.map(|c| c.to_ascii_lowercase()).collect::<String>();
    Some(match word.strip_suffix("error").unwrap_or(&word) {
        "invalidrequest" | "badrequest" | "contextlengthexceeded" | "exceedcontextsize" => 400,
        "billing" | "insufficientquota" | "insufficientbalance" | "insufficientcredits" => 402,
        "authentication" | "unauthorized" | "invalidapikey" => 401,
        "permission" | "permissiondenied" | "forbidden" => 403,
        "notfound" | "modelnotfound" => 404,
        "requesttoolarge" => 413,
        "ratelimit" | "ratelimitexceeded" | "toomanyrequests" => 429,
        "server" | "api" | "internal" | "internalserver" => 500,
        "badgateway" => 502,
        "unavailable" | "serviceunavailable" => 503,
        "timeout" | "gatewaytimeout" => 504,
        "overloaded" | "engineoverloaded" => 529,
        _ => return None,
    })
}
