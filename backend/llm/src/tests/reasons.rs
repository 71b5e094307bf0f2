//! Tests of the reasons in provider errors, and of the text that users see of them.

use serde_json::json;
use tallybook_mock_llm::{MockLlm, Reply, raw};

use super::{
    ApiKey, ModelError, ModelSettings, PROVIDERS, ProviderKind, RetryPolicy, ask, client_with_retries, connect,
    failure, question, settings,
};
use crate::SettingNames;

#[tokio::test]
async fn an_error_is_interpreted_before_the_key_is_redacted() {
    let message = json!({"error": {"message": "This model's maximum context length is 8192 tokens. Key x, sk-12345."}});
    for (key, shown) in [("x", "maximum context length"), ("sk-12345", "[key]"), ("maximum context", "[key] length")] {
        let model = MockLlm::start().await.unwrap();
        model.fail(400, message.to_string());
        let settings =
            ModelSettings { api_key: Some(ApiKey::new(key)), ..settings(ProviderKind::OpenAi, &model.url()) };
        let (_, _, error) = ask(&*connect(&settings).unwrap(), question()).await;
        let Some(error @ ModelError::ContextTooLong { limit: Some(8192), .. }) = &error else { panic!("{error:?}") };
        assert!(error.to_string().contains(shown), "{error}");
    }
}

#[tokio::test]
async fn an_overflow_is_recognized_however_it_is_wrapped() {
    let message = "This model's maximum context length is 8192 tokens.";
    let inner = json!({"error": {"message": message, "code": "context_length_exceeded"}}).to_string();
    for provider in PROVIDERS {
        for body in [
            json!([{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}]),
            json!({"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": inner, "provider_name": "P"}}}),
            json!({"error": {"message": "Provider returned error", "metadata": {"raw": message}}}),
            json!({"detail": [{"loc": ["body"], "msg": message}]}),
            json!({"errors": [{"message": message}]}),
            json!({"error": {"message": inner}}),
        ] {
            let (_, error) = failure(provider, Reply::fail(400, body.to_string())).await;
            assert!(matches!(error, ModelError::ContextTooLong { limit: Some(8192), .. }), "{body}: {error:?}");
        }
        let (_, error) = failure(provider, Reply::fail(400, message)).await;
        assert_eq!(error.code(), "model_context_too_long");
        let page = "<html><head><title>504 Gateway Time-out</title></head></html>";
        let (_, error) = failure(provider, Reply::fail(504, page)).await;
        assert!(error.to_string().contains("(504: 504 Gateway Time-out)"), "{error}");
    }
}

#[tokio::test]
async fn errors_name_the_settings_of_the_model_in_question() {
    for provider in PROVIDERS {
        let model = MockLlm::start().await.unwrap();
        let setting_names = SettingNames {
            api_key: "SONNET_KEY".to_owned(),
            model: "model".to_owned(),
            base_url: "base_url of \"Sonnet\"".to_owned(),
            need_restart: true,
        };
        let settings = ModelSettings { setting_names, ..settings(provider, &model.url()) };
        let client = connect(&settings).unwrap();
        for (status, words) in [
            (401, "rejected the API key (401: no). Check SONNET_KEY and restart"),
            (404, "(404: no). Check model and base_url of \"Sonnet\"."),
            (302, "Set base_url of \"Sonnet\" to the final URL."),
        ] {
            model.fail(status, "{\"error\": \"no\"}");
            let error = ask(&*client, question()).await.2.unwrap().to_string();
            assert!(error.contains(words) && !error.contains("LLM_"), "{error}");
        }
        // This also holds for errors after HTTP 200.
        model.reply([raw(format!("data: {}\n\n", json!({"type": "error", "error": {"code": 401, "message": "no"}})))]);
        let error = ask(&*client, question()).await.2.unwrap().to_string();
        assert!(error.contains("Check SONNET_KEY"), "{error}");
    }
}

#[tokio::test]
async fn an_account_without_credit_is_not_retried() {
    for provider in PROVIDERS {
        for (status, body) in [
            (429, json!({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}})),
            (402, json!({"error": {"message": "Insufficient credits"}})),
            (400, json!({"type": "error", "error": {"message": "Your credit balance is too low to access the API."}})),
        ] {
            let model = MockLlm::start().await.unwrap();
            model.fail(status, body.to_string());
            let client = client_with_retries(provider, &model.url(), RetryPolicy::default());
            let (_, events, error) = ask(&*client, question()).await;
            let error = error.unwrap();
            assert_eq!((events.len(), error.code(), model.requests().len()), (0, "model_out_of_credit", 1));
            assert!(error.to_string().contains("is out of credit"), "{error}");
        }
    }
}
