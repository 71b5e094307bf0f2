//! Extracts the reason from a provider's error response. Providers use different forms for it: an object, a list, JSON
//! within a string, a web page, or plain text.

use serde_json::Value;
use tallybook_protocol::first_chars;

use super::limits::{MAX_REASON_CHARS, MAX_REASON_CODE_CHARS, MAX_REASON_DEPTH, MAX_REASONS};

/// Keys that hold a reason, most general first.
const TEXTS: [&str; 16] = [
    "error",
    "errors",
    "message",
    "msg",
    "detail",
    "details",
    "base_resp",
    "status_msg",
    "error_msg",
    "errorMessage",
    "description",
    "metadata",
    "raw",
    "reasons",
    "innererror",
    "fieldViolations",
];

/// Keys of a word that is used if the response contains no text for a reason.
const TITLES: [&str; 5] = ["error_description", "reason", "title", "status", "code"];

/// Keys that name the invalid field of the request.
const FIELDS: [&str; 3] = ["param", "loc", "field"];

/// Keys of an error code.
const CODES: [&str; 4] = ["code", "type", "status", "reason"];

/// A provider's reason for an error. It is not redacted yet.
#[derive(Debug, Default)]
pub(crate) struct Reason {
    /// The sentences, most general first.
    texts: Vec<String>,
    /// The fields of the request that the error names, as paths: `messages.0.role`.
    pub(crate) fields: Vec<String>,
    /// The error codes: `insufficient_quota`.
    pub(crate) codes: Vec<String>,
}

impl Reason {
    /// Reads the reason from the beginning of an error response's body.
    pub(crate) fn read(body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        // Some servers write errors as a stream event, whatever the status.
        let text = text.trim().trim_start_matches("data:");
        match serde_json::from_str::<Value>(text) {
            Ok(value) => Self::from_json(&value),
            Err(_) if text.trim_start().starts_with('<') => Self::from_text(&page_title(text)),
            Err(_) => Self::from_text(text),
        }
    }

    /// Reads the reason from an error that is JSON.
    pub(crate) fn from_json(value: &Value) -> Self {
        let mut reason = Self::default();
        reason.collect(value, MAX_REASON_DEPTH);
        if reason.texts.is_empty() {
            reason.collect_titles(value, MAX_REASON_DEPTH);
        }
        reason
    }

    /// Creates a reason with one sentence.
    pub(crate) fn from_text(text: &str) -> Self {
        let mut reason = Self::default();
        reason.add_text(text);
        reason
    }

    /// Returns all sentences on one line; empty if the body has none.
    pub(crate) fn text(&self) -> String {
        self.texts.join(": ")
    }

    /// Returns the sentences and the error codes, for recognizing the kind of error.
    pub(crate) fn text_with_codes(&self) -> String {
        format!("{}. {}", self.text(), self.codes.join(", "))
    }

    fn collect(&mut self, value: &Value, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        match value {
            Value::String(text) => match serde_json::from_str::<Value>(text) {
                Ok(inner @ (Value::Object(_) | Value::Array(_))) => self.collect(&inner, depth),
                _ => self.add_text(text),
            },
            Value::Array(values) => values.iter().take(MAX_REASONS).for_each(|value| self.collect(value, depth)),
            Value::Object(fields) => {
                let field_path = FIELDS.iter().find_map(|key| path(fields.get(*key)?));
                let codes = CODES.iter().filter_map(|key| fields.get(*key)?.as_str());
                self.codes
                    .extend(codes.take(MAX_REASONS).map(|code| first_chars(code, MAX_REASON_CODE_CHARS).to_owned()));
                // FastAPI names the field only next to the message.
                if let (Some(field_path), Some(Value::String(message))) = (&field_path, fields.get("msg")) {
                    self.add_text(&format!("{field_path}: {message}"));
                }
                self.fields.extend(field_path);
                TEXTS.iter().filter_map(|key| fields.get(*key)).for_each(|value| self.collect(value, depth));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn collect_titles(&mut self, value: &Value, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        match value {
            Value::Array(values) => values.iter().take(1).for_each(|value| self.collect_titles(value, depth)),
            Value::Object(fields) => {
                TITLES.iter().filter_map(|key| fields.get(*key)?.as_str()).take(1).for_each(|text| self.add_text(text));
                fields.get("error").into_iter().for_each(|value| self.collect_titles(value, depth));
            }
            _ => {}
        }
    }

    /// Adds a sentence, unless an earlier one contains it.
    fn add_text(&mut self, text: &str) {
        let line = one_line(text);
        let text = first_chars(&line, MAX_REASON_CHARS);
        let is_said = self.texts.iter().any(|other| other.contains(text));
        if !text.is_empty() && !is_said && self.texts.len() < MAX_REASONS {
            self.texts.push(text.to_owned());
        }
    }
}

/// Returns the title of a web page, such as a proxy sends, or its first heading if it has no title.
fn page_title(page: &str) -> String {
    let lower = page.to_ascii_lowercase();
    let between = |tag: &str| {
        let start = lower.find(&format!("<{tag}"))?;
        let start = start + lower[start..].find('>')? + 1;
        let end = start + lower[start..].find(&format!("</{tag}"))?;
        Some(&page[start..end])
    };
    let title = between("title").or_else(|| between("h1")).unwrap_or_default();
    title.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&")
}

/// Joins the names and indexes that lead to a field: `messages.0.role`.
fn path(field_path: &Value) -> Option<String> {
    let part = |value: &Value| match value {
        Value::String(name) => Some(name.clone()),
        Value::Number(index) => Some(index.to_string()),
        _ => None,
    };
    let path = match field_path {
        Value::Array(parts) => parts.iter().take(MAX_REASONS).filter_map(part).collect::<Vec<_>>().join("."),
        value => part(value)?,
    };
    (!path.is_empty()).then(|| first_chars(&path, MAX_REASON_CHARS).to_owned())
}

/// Converts a text to one line without control characters.
pub(crate) fn one_line(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Reason;

    fn text(body: &str) -> String {
        Reason::read(body.as_bytes()).text()
    }

    #[test]
    fn reasons_are_found_wherever_a_provider_puts_them() {
        let raw = json!({"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}).to_string();
        for (body, reason) in [
            (json!({"error": {"message": "bad\nkey"}}), "bad key"),
            (json!({"error": "model not loaded"}), "model not loaded"),
            (json!({"message": "no"}), "no"),
            (json!({"detail": "no"}), "no"),
            (
                json!([{"error": {"code": 400, "message": "Bad argument.", "status": "INVALID_ARGUMENT"}}]),
                "Bad argument.",
            ),
            (json!({"detail": [{"loc": ["body", "stop"], "msg": "too long", "type": "x"}]}), "body.stop: too long"),
            (json!({"errors": [{"message": "one"}, {"message": "two"}]}), "one: two"),
            (json!({"errors": ["one"]}), "one"),
            (json!({"error": {"message": raw}}), "prompt is too long: 9 tokens > 8 maximum"),
            (
                json!({"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}}),
                "Provider returned error: prompt is too long: 9 tokens > 8 maximum",
            ),
            (
                json!({"error": {"message": "Provider returned error", "metadata": {"raw": "Sorry"}}}),
                "Provider returned error: Sorry",
            ),
            (json!({"error": {"code": "content_filter"}}), "content_filter"),
            (json!({"title": "Not Found", "status": 404}), "Not Found"),
            (json!({"error": "Bad Request", "message": "why", "timestamp": 1}), "Bad Request: why"),
            (json!({"ok": false}), ""),
        ] {
            assert_eq!(text(&body.to_string()), reason, "{body}");
        }
        assert_eq!(text("upstream connect error\r\n"), "upstream connect error");
        assert_eq!(text("<html><head><TITLE>502 Bad &amp; Gateway</TITLE></head></html>"), "502 Bad & Gateway");
        assert_eq!(text("<!DOCTYPE html><body><h1 class=x>Blocked</h1>"), "Blocked");
        assert_eq!(text("<html>nothing</html>"), "");
        assert_eq!(text("data: {\"error\":{\"message\":\"no\"}}\n\n"), "no");
    }

    #[test]
    fn fields_and_codes_are_kept_apart() {
        let reason =
            Reason::from_json(&json!({"error": {"message": "No.", "param": "stop", "code": "unsupported_parameter"}}));
        assert_eq!((reason.fields, reason.codes), (vec!["stop".to_owned()], vec!["unsupported_parameter".to_owned()]));
    }

    #[test]
    fn reasons_are_bounded() {
        let many: Vec<_> =
            (0..1000).map(|number| json!({"message": format!("{number} {}", "x".repeat(9000))})).collect();
        assert!(Reason::from_json(&json!({ "errors": many })).text().len() < 40_000);
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(text(&deep), "");
    }
}
