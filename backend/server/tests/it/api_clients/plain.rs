//! Direct model calls, requested by the model's name or as a background task.

use serde_json::{Value, json};
use tallybook_llm::{ModelSettings, ProviderKind};
use tallybook_mock_llm::{MockLlm, text};

use super::{
    conversations,
    kit::{ChunkReader, ask, question, refusal, streamed, words},
};
use crate::support::{Engine, Provider, TestApp, eventually};

const TASK: &str = "### Task:\nWrite a title.";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn background_tasks_make_one_call_and_store_nothing() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let chat = ("X-OpenWebUI-Chat-Id", "a chat");
    let plain = json!({"model": "test-model:plain", "messages": [
        {"role": "system", "content": "Only this."}, {"role": "user", "content": "Title?"}], "max_tokens": 5});
    for (headers, body) in [
        (vec![chat], plain),
        (vec![chat, ("X-Tallybook-Task", "title")], question("Title?")),
        (vec![chat], question(TASK)),
    ] {
        model.reply([text("A title")]);
        let response = ask(&app, &headers, &body).await;
        assert!(!response.headers().contains_key("x-tallybook-conversation"));
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["choices"][0]["message"]["content"], "A title");
        assert_eq!((&answer["model"], &answer["usage"]["total_tokens"]), (&body["model"], &json!(32)));
        let sent = model.requests().pop().unwrap().body;
        assert!(sent.get("tools").is_none() && !sent.to_string().contains("helpful assistant"), "{sent}");
    }
    assert_eq!(model.requests()[0].body["system"][0]["text"], "Only this.");
    let streaming = ("X-Tallybook-Task", "tags");
    model.reply([text("One, two")]);
    let mut stream = ChunkReader::new(ask(&app, &[streaming], &streamed("Tags?")).await);
    stream.all().await;
    assert_eq!(stream.text, "One, two");
    assert_eq!(conversations(&app).await.len(), 0);
    model.fail(500, "");
    let failed = ask(&app, &[streaming], &question("Tags?")).await;
    assert!(!failed.headers().contains_key("x-should-retry"), "nothing is stored, so the client may retry");
    refusal(failed, 502).await;
    let failed =
        r#"tallybook_model_call_duration_seconds_count{model="test-model",purpose="plain",outcome="failed"} 1"#;
    let read = async || app.get("/metrics").await.text().await.unwrap();
    // The call is counted after the response was sent.
    eventually("the last call is counted", async || read().await.contains(failed)).await;
    let metrics = read().await;
    for line in [
        r#"tallybook_model_call_duration_seconds_count{model="test-model",purpose="plain",outcome="answered"} 4"#,
        "tallybook_steps_total 0\n",
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
    let tokens = metrics.lines().find(|line| line.starts_with("tallybook_tokens_total") && line.contains("output"));
    assert_ne!(tokens.unwrap().rsplit(' ').next(), Some("0"), "{metrics}");
    // Prompts with retrieved documents start like tasks, too, but are users' questions. They are streamed or have more
    // than one message.
    for body in [
        streamed(TASK),
        json!({"messages": [{"role": "user", "content": TASK}, {"role": "assistant", "content": "A"}, {"role": "user", "content": TASK}]}),
    ] {
        model.reply([text("An answer.")]);
        let response = ask(&app, &[("X-Tallybook-Task", " ")], &body).await;
        assert!(response.headers().contains_key("x-tallybook-conversation"));
        response.text().await.unwrap();
    }
    assert_eq!(conversations(&app).await.len(), 2);
}

/// A direct model call costs no web searches, as titles and summaries do not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn direct_calls_do_not_search_the_web() {
    let model = MockLlm::start().await.unwrap();
    let settings = Provider::OpenAi.settings(model.url());
    let settings = ModelSettings { provider: ProviderKind::OpenRouter, web_search: true, ..settings };
    let app = TestApp::builder(&Engine::sqlite()).with_model(settings).spawn().await;
    for _ in 0..3 {
        model.reply([text("An answer.")]);
    }
    let mut direct = question("Hello");
    direct["model"] = json!("test-model:plain");
    ask(&app, &[], &direct).await.text().await.unwrap();
    ask(&app, &[("X-Tallybook-Task", "title")], &question("Hello")).await.text().await.unwrap();
    ask(&app, &[], &question("Hello")).await.text().await.unwrap();
    let searched: Vec<bool> = model.requests().iter().map(|request| request.body["plugins"].is_array()).collect();
    assert_eq!(searched, [false, false, true], "a direct call, a task, and a turn");
}

/// If the client disconnects, the direct model call is cancelled. One user can have 16 at a time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn direct_calls_are_limited_and_end_with_their_client() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let mut body = streamed("Hello");
    body["model"] = json!("test-model:plain");
    let mut streams = Vec::new();
    let mut gates = Vec::new();
    for _ in 0..16 {
        gates.push(model.reply_gated([text("Begun")], [text(".")]));
        let mut stream = ChunkReader::new(ask(&app, &[], &body).await);
        stream.until_text("Begun").await;
        streams.push(stream);
    }
    let error = refusal(ask(&app, &[], &body).await, 429).await;
    assert_eq!(error["type"], "rate_limit_error");
    drop(streams.pop());
    gates.pop().unwrap().abandoned().await;
    let mut once_more = body.clone();
    once_more["stream"] = json!(false);
    model.reply([text("Room again.")]);
    assert_eq!(words(ask(&app, &[], &once_more).await).await, "Room again.");
}
