//! Requests to the model server, kept for tests to inspect.

use serde_json::Value;

use crate::{check, wire::Format};

/// One request, as received.
#[derive(Clone, Debug)]
pub struct CapturedRequest {
    /// The path, e.g. `/v1/messages`.
    pub path: String,
    /// The headers: names in lower case, values as text.
    pub headers: Vec<(String, String)>,
    /// The body; `null` if it was not JSON.
    pub body: Value,
    /// The body's bytes as text, for details that `Value` does not keep (the digits of numbers).
    pub body_text: String,
    /// `true` if a reply was scripted for the request.
    pub scripted: bool,
    pub(crate) format: Format,
}

impl CapturedRequest {
    /// Returns the value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns what the real provider would refuse in this request; `None` if nothing. Examples: a tool call without
    /// its result, a result without its call, calls out of order, roles that do not alternate, ids or names with
    /// invalid characters.
    pub fn complaint(&self) -> Option<String> {
        check::complaint(self.format, &self.body)
    }
}
