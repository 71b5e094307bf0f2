//! What a request to the model server looked like, kept for tests to look at.

use serde_json::Value;

use crate::{check, wire::Format};

/// One request as it came in.
#[derive(Clone, Debug)]
pub struct CapturedRequest {
    /// The path, e.g. `/v1/messages`.
    pub path: String,
    /// Names in lower case, values as text.
    pub headers: Vec<(String, String)>,
    /// The body; `null` when it was not JSON.
    pub body: Value,
    /// The body's bytes as text, for what `Value` does not keep (the digits of numbers).
    pub body_text: String,
    /// Whether a reply was scripted for it.
    pub scripted: bool,
    pub(crate) format: Format,
}

impl CapturedRequest {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// What the real provider would refuse in this request, if anything: a tool call without its result, a result
    /// without its call, calls out of order, roles that do not alternate, ids or names outside their alphabet.
    pub fn complaint(&self) -> Option<String> {
        check::complaint(self.format, &self.body)
    }
}
