//! Errors that come after HTTP 200, as a frame of the stream, in the forms in which servers write them. An answer in which
//! one stands is never finished, whatever end mark follows it.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tallybook_protocol::sse::Frame;

use super::{error::ModelError, http_error, reader::bad_stream, reason::Reason};

/// Fails when the frame is an error. What is no JSON, or makes no sense otherwise, is its reader's business.
pub(super) fn check(frame: &Frame, model: &str) -> Result<(), ModelError> {
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

/// What of a frame's JSON says that it is an error; any of it may be of any type, and hold what no number is.
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
    /// `{"base_resp":{"status_code":1008,"status_msg":…}}`: MiniMax, with the code 0 in every chunk.
    #[serde(borrow)]
    base_resp: Option<&'a RawValue>,
    /// `{"detail":…}`: FastAPI; `{"errors":[…]}`: gateways; `{"code":…,"message":"…"}`: SiliconFlow, Alibaba.
    #[serde(borrow)]
    detail: Option<&'a RawValue>,
    #[serde(borrow)]
    errors: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    code: Option<&'a RawValue>,
    /// Beside these a frame is a part of an answer.
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
            || (self.is_no_answer() && self.gives_a_reason())
    }

    /// Returns `true` if the frame has nothing that frames of answers have.
    fn is_no_answer(&self) -> bool {
        self.kind.is_none() && self.choices.is_none() && self.usage.is_none()
    }

    fn gives_a_reason(&self) -> bool {
        let is_text = |value: Option<&RawValue>| value.is_some_and(|value| value.get().starts_with('"'));
        let has_words = |value: &RawValue| serde_json::from_str(value.get()).is_ok_and(|value| says_something(&value));
        [self.detail, self.errors].into_iter().flatten().any(has_words)
            || (is_text(self.message) && self.code.is_some())
    }
}

/// Some servers say with every chunk that there is no error.
fn says_something(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(words) => !words.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(elements) => !elements.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

/// The error that a frame tells of, told as its status would have been.
fn read(data: &str, model: &str) -> ModelError {
    let body: Value = serde_json::from_str(data).unwrap_or_else(|_| Value::from(data));
    let body = match body {
        Value::Array(mut elements) if !elements.is_empty() => elements.swap_remove(0),
        body => body,
    };
    let error = if says_something(&body["error"]) { &body["error"] } else { &body };
    let reason = Reason::in_value(&body);
    let text = reason.text();
    let message = if text.is_empty() { "no message" } else { &text };
    let words = [&error["type"], &error["code"], &body["error_type"]].map(|word| word.as_str().unwrap_or_default());
    let status = status_code(&error["code"]).or_else(|| words.iter().find_map(|word| status_of(word)));
    // Without a status the words alone say it, as they would with the one for all mistakes in a request.
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

/// A code that is an HTTP status, as a number or as text.
fn status_code(code: &Value) -> Option<u16> {
    let number = code.as_u64().or_else(|| code.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|code| (400..=599).contains(code))
}

/// The status that a word stands for, however it is spelled: `InternalServerError`, `internal_server_error`.
fn status_of(word: &str) -> Option<u16> {
    // No known word is longer.
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
