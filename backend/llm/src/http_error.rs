//! Converts a provider's error responses into [`ModelError`]s, by status and reason. The errors hold the provider's own
//! text; [`finished`] makes it safe to display after it was interpreted.

use tallybook_protocol::with_ellipsis;

use super::{
    context_error,
    endpoint::Endpoint,
    error::ModelError,
    limits::MAX_DETAIL_CHARS,
    quirks::{self, Quirk},
    reason::{Reason, one_line},
    setting_names::SettingNames,
};

/// Returns the error for a status and the provider's reason.
pub(crate) fn from_status(status: u16, reason: &Reason, model: &str) -> ModelError {
    let text = reason.text();
    let detail = if text.is_empty() { "no reason given".to_owned() } else { text.clone() };
    let numbered = if text.is_empty() { status.to_string() } else { format!("{status}: {text}") };
    let without_full_stop = || detail.trim_end_matches('.').to_owned();
    let whole = reason.text_with_codes();
    let names = SettingNames::default();
    match status {
        401 => return ModelError::Auth { detail: numbered, advice: names.key_advice() },
        400 | 403 if quirks::refuses_key(reason) => {
            return ModelError::Auth { detail: numbered, advice: names.key_advice() };
        }
        400 | 402 | 403 | 412 | 429 if status == 402 || is_out_of_credit(&whole) => {
            return ModelError::OutOfCredit { detail: numbered };
        }
        400 | 413 | 422 | 500 if context_error::says_so(&whole) => {
            return ModelError::ContextTooLong {
                limit: context_error::stated_limit(&text),
                detail: without_full_stop(),
            };
        }
        _ => {}
    }
    let quirks = if matches!(status, 400 | 404 | 422 | 500 | 501) { quirks::named_in(reason) } else { Vec::new() };
    match status {
        _ if quirks.first() == Some(&Quirk::NoTools) => {
            ModelError::ToolsUnsupported { model: model.to_owned(), detail: without_full_stop() }
        }
        _ if !quirks.is_empty() => ModelError::Refused { status, detail, quirks },
        404 => ModelError::NotFound {
            model: model.to_owned(),
            detail: numbered,
            settings: format!("{} and {}", names.model, names.base_url),
        },
        408 | 409 | 429 | 503 | 529 => ModelError::Busy { detail: numbered },
        500.. => ModelError::Failing { detail: numbered },
        _ => ModelError::Refused { status, detail, quirks },
    }
}

/// Phrases for an account without credit, in error codes and in sentences.
const OUT_OF_CREDIT: [&str; 33] = [
    // OpenAI. Its sentence about the quota is not in this list: Gemini sends it, too, for a limit that resets within a
    // minute.
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "account is not active, please check your billing",
    // Anthropic.
    "credit balance is too low",
    "billing_error",
    "specified api usage limits",
    // DeepSeek, Moonshot, OpenRouter and others.
    "insufficient balance",
    "insufficient_balance",
    "insufficient credit",
    "insufficient_credits",
    "insufficient funds",
    "insufficient quota",
    "requires more credits",
    "exceeded_current_quota_error",
    "out of credit",
    // LiteLLM.
    "budget has been exceeded",
    // xAI, Together, Fireworks.
    "used all available credits",
    "monthly spending limit",
    "credit limit exceeded",
    // Hugging Face.
    "monthly included credits",
    "pre-paid credits",
    "prepaid credits",
    // Alibaba, MiniMax, Zhipu, and the gateways one-api and new-api.
    "arrearage",
    "overdue-payment",
    "in good standing",
    "insufficient_user_quota",
    "余额不足",
    "额度不足",
    "欠费",
    // Others.
    "not enough credit",
    "no credits left",
    "payment required",
];

fn is_out_of_credit(whole: &str) -> bool {
    let whole = whole.to_lowercase();
    OUT_OF_CREDIT.iter().any(|text| whole.contains(text))
}

/// Makes an error safe to display: inserts the names of this model's settings, and reduces the provider's text to one
/// short line without the API key.
pub(crate) fn finished(error: ModelError, endpoint: &Endpoint) -> ModelError {
    error.finished(&endpoint.setting_names, |text| {
        let text = endpoint.key.as_ref().map_or_else(|| text.to_owned(), |key| key.scrub(text));
        with_ellipsis(&one_line(&text), MAX_DETAIL_CHARS)
    })
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, ModelError, Reason, finished, from_status};
    use crate::{ModelSettings, ProviderKind};

    fn code(status: u16, message: &str) -> &'static str {
        from_status(status, &Reason::from_text(message), "m").code()
    }

    #[test]
    fn every_status_has_its_cause() {
        for (status, cause) in [
            (301, "model_refused_request"),
            (400, "model_refused_request"),
            (401, "model_auth"),
            (402, "model_out_of_credit"),
            (403, "model_refused_request"),
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
            assert_eq!(code(status, ""), cause, "{status}");
        }
    }

    #[test]
    fn a_reason_has_priority_over_the_status() {
        let quota = "You exceeded your current quota, please check your plan and billing details.";
        for (status, message, cause) in [
            (403, "Country, region, or territory not supported", "model_refused_request"),
            (403, "Your input was flagged: violence", "model_refused_request"),
            (403, "This key may not use the model m", "model_refused_request"),
            (403, "Invalid API key provided", "model_auth"),
            (400, "API key not valid. Please pass a valid API key.", "model_auth"),
            (401, "gemma does not support tools", "model_auth"),
            (429, "gemma does not support tools", "model_busy"),
            (413, "gemma does not support tools", "model_refused_request"),
            (429, quota, "model_busy"),
            (429, "insufficient_quota", "model_out_of_credit"),
            (
                403,
                "Your team has either used all available credits or reached its monthly spending limit.",
                "model_out_of_credit",
            ),
            (400, "Access denied, please make sure your account is in good standing.", "model_out_of_credit"),
            (403, "用户额度不足, 剩余额度: ＄0.00", "model_out_of_credit"),
            (429, "您的账户已欠费，请充值后重试", "model_out_of_credit"),
            (412, "Account a is suspended, possibly due to reaching the monthly spending limit", "model_out_of_credit"),
            (402, "You have depleted your monthly included credits.", "model_out_of_credit"),
            (429, "Rate limit reached for requests per day on the free tier", "model_busy"),
            (
                413,
                "Request too large for model m: Limit 6000, Requested 8000, please reduce your message size",
                "model_context_too_long",
            ),
            (400, "Your credit balance is too low to access the Anthropic API.", "model_out_of_credit"),
            (400, "prompt is too long: 233153 tokens > 200000 maximum", "model_context_too_long"),
            (500, "prompt is too long: 233153 tokens > 200000 maximum", "model_context_too_long"),
            (500, "tools param requires --jinja flag", "model_without_tools"),
            (404, "No endpoints found that support tool use.", "model_without_tools"),
        ] {
            assert_eq!(code(status, message), cause, "{status} {message}");
        }
        let error = from_status(404, &Reason::from_text("No endpoints found for x/y."), "x/y").to_string();
        assert!(error.contains("(404: No endpoints found for x/y.)"), "{error}");
        let error = from_status(403, &Reason::from_text("This model is blocked."), "m").to_string();
        assert!(error.ends_with("rejected the request (403): This model is blocked."), "{error}");
    }

    #[test]
    fn details_are_short() {
        let settings =
            ModelSettings { base_url: Some("http://h:1".to_owned()), ..ModelSettings::new(ProviderKind::OpenAi) };
        let error = ModelError::OutOfCredit { detail: "あ".repeat(9000) };
        let shown = finished(error, &Endpoint::openai(&settings).unwrap()).to_string();
        assert_eq!(shown.matches('あ').count(), 300, "{shown}");
        assert!(shown.contains("あ…"), "{shown}");
    }
}
