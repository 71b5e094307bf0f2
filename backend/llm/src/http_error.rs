//! Turns a provider's error answers into [`ModelError`]s: which status means what, and a short, clean excerpt of what
//! the provider says. The key never gets through.

use serde_json::Value;

use super::{api_key::ApiKey, context_error, error::ModelError, limits::MAX_DETAIL_CHARS};

/// How servers say that a model takes no tools, in lower case.
const WITHOUT_TOOLS: [&str; 9] = [
    // OpenRouter (404), where no host of the model takes tools.
    "no endpoints found that support tool use",
    // Ollama (400), DeepSeek (400).
    "does not support tools",
    "does not support function calling",
    // llama.cpp, started without a template engine; older ones say so with status 500.
    "tools param requires --jinja",
    // vLLM (400), started without a parser for calls.
    "--enable-auto-tool-choice",
    // OpenAI's older models, Groq and Mistral (400, 422).
    "tools is not supported",
    "'tools' is not supported",
    "`tool calling` is not supported",
    "function calling is not enabled for this model",
];

/// The error for a status and the provider's message, which must be clean already (see [`excerpt`]).
pub(super) fn from_status(status: u16, message: &str, model: &str) -> ModelError {
    let detail = || if message.is_empty() { "it does not say why".to_owned() } else { shorten(message) };
    let numbered = || if message.is_empty() { status.to_string() } else { format!("{status}: {}", detail()) };
    match status {
        401 | 403 => ModelError::Auth { status },
        400 | 404 | 422 | 500 if takes_no_tools(message) => {
            let detail = detail().trim_end_matches('.').to_owned();
            ModelError::ToolsUnsupported { model: model.to_owned(), detail }
        }
        400 | 413 | 422 | 500 if context_error::says_so(message) => ModelError::ContextTooLong {
            limit: context_error::stated_limit(message),
            detail: detail().trim_end_matches('.').to_owned(),
        },
        404 => ModelError::NotFound { model: model.to_owned(), detail: numbered() },
        408 | 409 | 429 | 503 | 529 => ModelError::Busy { detail: numbered() },
        500.. => ModelError::Failing { detail: numbered() },
        300..=399 => ModelError::Refused {
            status,
            detail: "it redirects to another address. Set LLM_BASE_URL to the final one.".to_owned(),
        },
        _ => ModelError::Refused { status, detail: detail() },
    }
}

fn takes_no_tools(message: &str) -> bool {
    let message = message.to_lowercase();
    WITHOUT_TOOLS.iter().any(|words| message.contains(words))
}

/// What an error body says, in one short line without the key; empty when it is not the JSON that providers send.
pub(super) fn excerpt(body: &[u8], key: Option<&ApiKey>) -> String {
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return String::new() };
    let error = &body["error"];
    let said = [&error["message"], error, &body["message"], &body["detail"]].into_iter().find_map(Value::as_str);
    clean(said.unwrap_or_default(), key)
}

/// One short line without control characters and without the key.
pub(super) fn clean(text: &str, key: Option<&ApiKey>) -> String {
    let text = key.map_or_else(|| text.to_owned(), |key| key.scrub(text));
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    shorten(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= MAX_DETAIL_CHARS {
        return text.to_owned();
    }
    text.chars().take(MAX_DETAIL_CHARS).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::{ApiKey, excerpt, from_status};

    #[test]
    fn every_status_has_its_cause() {
        for (status, code) in [
            (301, "model_refused_request"),
            (400, "model_refused_request"),
            (401, "model_auth"),
            (402, "model_refused_request"),
            (403, "model_auth"),
            (404, "model_not_found"),
            (408, "model_busy"),
            (409, "model_busy"),
            (413, "model_refused_request"),
            (422, "model_refused_request"),
            (429, "model_busy"),
            (500, "model_failing"),
            (502, "model_failing"),
            (503, "model_busy"),
            (529, "model_busy"),
        ] {
            assert_eq!(from_status(status, "", "m").code(), code, "{status}");
        }
    }

    #[test]
    fn servers_that_take_no_tools_are_told_apart() {
        for (status, message) in [
            (404, "No endpoints found that support tool use. To learn more about provider routing, visit: x"),
            (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
            (500, "tools param requires --jinja flag"),
            (400, "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"),
            (400, "Unsupported parameter: 'tools' is not supported with this model."),
            (422, "`tool calling` is not supported with this model"),
        ] {
            let error = from_status(status, message, "m");
            assert_eq!(error.code(), "model_without_tools", "{message}");
            assert!(error.to_string().contains(message.trim_end_matches('.')), "{error}");
        }
        for (status, code) in [(401, "model_auth"), (429, "model_busy"), (413, "model_refused_request")] {
            assert_eq!(from_status(status, "gemma does not support tools", "m").code(), code, "{status}");
        }
        for status in [400, 500] {
            let error = from_status(status, "prompt is too long: 233153 tokens > 200000 maximum", "m");
            assert_eq!(error.code(), "model_context_too_long", "{error}");
        }
        let error = from_status(404, "No endpoints found for x/y.", "x/y").to_string();
        assert!(error.contains("(404: No endpoints found for x/y.)"), "{error}");
    }

    #[test]
    fn messages_are_short_clean_and_without_the_key() {
        let key = ApiKey::new("sk-secret");
        let said = |body: &str| excerpt(body.as_bytes(), Some(&key));
        assert_eq!(said(r#"{"error":{"message":"bad\nkey sk-secret"}}"#), "bad key [key]");
        assert_eq!(said(r#"{"error":"model not loaded"}"#), "model not loaded");
        assert_eq!(said(r#"{"detail":"no"}"#), "no");
        assert_eq!(said("<html>sk-secret</html>"), "");
        let long = format!(r#"{{"error":{{"message":"{}"}}}}"#, "あ".repeat(9000));
        assert_eq!(said(&long).chars().count(), 301);
    }
}
