//! Secrecy of the provider's API key: if a provider quotes the key, no client and no table receives it.

use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, Reply, raw, text};
use tallybook_protocol::ChatEvent;

use crate::support::{Engine, Provider, TestApp, on_every_engine, rows};

/// The API key in the settings of `support`.
const KEY: &str = "sk-test-secret";

/// Returns HTTP errors and errors inside a stream whose messages contain the key, and a response that is not a stream.
fn indiscreet() -> Vec<Reply> {
    let error = |kind: &str| json!({"type": "error", "error": {"type": kind, "message": format!("your key is {KEY}")}});
    let mut replies: Vec<Reply> =
        [400, 401, 403, 404, 413, 429, 500, 529].map(|status| Reply::fail(status, error("x").to_string())).into();
    for kind in ["overloaded_error", "authentication_error", "not_found_error", "something_new"] {
        let frame = raw(format!("event: error\ndata: {}\n\n", error(kind)));
        replies.push([text("The beginning"), frame].into());
    }
    replies.push(Reply::fail(200, "{}").header("content-type", "text/html"));
    replies
}

on_every_engine! {
    /// The key is not in the events of a turn, in the API, in the page, or in any table that stores a model's output.
    async fn the_key_never_appears_anywhere(engine: Engine) {
        for provider in Provider::ALL {
            let model = MockLlm::start().await.unwrap();
            let app = TestApp::builder(&engine).with_model(provider.settings(model.url())).spawn().await;
            let conversation = app.create_conversation().await;
            for reply in indiscreet() {
                model.reply(reply);
                let events = app.send(&conversation, "Hello").await.all().await;
                let Some(ChatEvent::Error(error)) = events.last() else { panic!("{events:?}") };
                assert!(error.code.starts_with("model_"), "{error:?}");
                assert!(!format!("{events:?}").contains(KEY), "{events:?}");
            }
            let shown: Value = app.conversation(&conversation).await;
            assert!(!shown.to_string().contains(KEY), "{shown}");
            let page = app.get(&format!("/c/{conversation}")).await.text().await.unwrap();
            assert!(!page.contains(KEY), "{page}");
            for query in [
                "SELECT COALESCE(error, '') FROM model_calls",
                "SELECT COALESCE(blocks, '') FROM model_calls",
                "SELECT COALESCE(error, '') FROM messages",
                "SELECT content FROM messages",
            ] {
                let kept: Vec<(String,)> = rows!(app, (String,), query);
                assert!(!kept.is_empty() && !format!("{kept:?}").contains(KEY), "{query}: {kept:?}");
            }
            // The key was sent to the provider all the same.
            let sent = &model.requests()[0];
            assert!(sent.headers.iter().any(|(_, value)| value.contains(KEY)), "{:?}", sent.headers);
        }
    }
}
