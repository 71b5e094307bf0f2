//! Tests of both wire formats over real HTTP, against the scripted model server: the behavior that all providers share.

mod anthropic_faults;
mod history;
mod openai_faults;
mod quirks;
mod reasons;
mod retries;
mod split_characters;
mod stalls;
mod stream_errors;

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, Part, Reply, cut, end_of_file, hang, raw, text, thinking, tool_call};
use tallybook_protocol::Usage;

use super::{
    ApiKey, AssistantBlock, ModelClient, ModelError, ModelEvent, ModelMessage, ModelRequest, ModelSettings,
    ProviderKind, RetryPolicy, Sampling, StopReason, ToolCallRequest, ToolChoice, ToolMode, ToolResult, UserPart,
    connect,
    testing::{self, add_spec},
};

const KEY: &str = "sk-test-0123456789";
const PROVIDERS: [ProviderKind; 4] =
    [ProviderKind::Anthropic, ProviderKind::OpenAi, ProviderKind::OpenRouter, ProviderKind::Ollama];

/// Returns settings for a model at this address, without retries.
fn settings(provider: ProviderKind, url: &str) -> ModelSettings {
    ModelSettings {
        base_url: Some(url.to_owned()),
        api_key: Some(ApiKey::new(KEY)),
        model: Some("some-model".to_owned()),
        retries: RetryPolicy { retries: 0, ..RetryPolicy::default() },
        ..ModelSettings::new(provider)
    }
}

/// Creates a client with these retries that always uses native tool calling.
fn client_with_retries(provider: ProviderKind, url: &str, retries: RetryPolicy) -> Arc<dyn ModelClient> {
    // A fallback to the prompt-based tool mode would be another kind of retry.
    connect(&ModelSettings { retries, tool_mode: ToolMode::Native, ..settings(provider, url) }).unwrap()
}

fn client(provider: ProviderKind, url: &str, idle: Duration) -> Arc<dyn ModelClient> {
    connect(&ModelSettings { idle_timeout: idle, ..settings(provider, url) }).unwrap()
}

fn client_of(provider: ProviderKind, model: &MockLlm) -> Arc<dyn ModelClient> {
    client(provider, &model.url(), Duration::from_secs(20))
}

fn request(messages: Vec<ModelMessage>) -> ModelRequest {
    ModelRequest {
        system: vec!["Be exact.".to_owned()],
        messages,
        tools: Arc::from(vec![add_spec()]),
        tool_choice: ToolChoice::Auto,
        sampling: Sampling::default(),
        may_search: true,
    }
}

fn question() -> ModelRequest {
    request(vec![ModelMessage::user_text("What is 1 + 2?")])
}

/// A long call produces [`ModelEvent::ToolCallProgress`] events while the model writes it.
#[tokio::test]
async fn the_progress_of_a_long_call_is_reported() {
    for provider in PROVIDERS {
        let model = MockLlm::start().await.unwrap();
        let input = json!({ "words": "many ".repeat(2000) }).to_string();
        model.reply([tool_call("write", &input)]);
        let mut stream = client_of(provider, &model).stream(question());
        let mut progress = Vec::new();
        let whole = loop {
            match stream.next().await.unwrap().unwrap() {
                ModelEvent::ToolCallProgress { name, bytes } => progress.push((name, bytes)),
                ModelEvent::ToolCall(call) => break call,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!((progress[0].0.as_str(), progress[0].1), ("write", 0));
        assert!(progress.len() > 2 && progress.is_sorted_by(|one, next| one.1 < next.1), "{progress:?}");
        assert!(progress.last().unwrap().1 <= whole.input_text.len());
    }
}

/// Returns the complete answer: its text, its other events, and the error if there is one.
async fn ask(client: &dyn ModelClient, request: ModelRequest) -> (String, Vec<ModelEvent>, Option<ModelError>) {
    let (mut text, mut events) = (String::new(), Vec::new());
    let mut stream = client.stream(request);
    while let Some(event) = stream.next().await {
        match event {
            Ok(ModelEvent::TextDelta(delta)) => text.push_str(&delta),
            Ok(ModelEvent::TextWasReasoning(reasoning)) => {
                text.clear();
                events.push(ModelEvent::TextWasReasoning(reasoning));
            }
            // `the_progress_of_a_long_call_is_reported` tests this event.
            Ok(ModelEvent::ToolCallProgress { .. }) => {}
            Ok(event) => events.push(event),
            Err(error) => return (text, events, Some(error)),
        }
    }
    (text, events, None)
}

async fn failure(provider: ProviderKind, reply: impl Into<Reply>) -> (String, ModelError) {
    let model = MockLlm::start().await.unwrap();
    model.reply(reply);
    let (text, events, error) = ask(&*client_of(provider, &model), question()).await;
    assert_eq!(events, [], "an answer that fails has no end and no calls");
    (text, error.unwrap())
}

#[tokio::test]
async fn a_turn_with_tools_in_two_steps() {
    for provider in PROVIDERS {
        let model = MockLlm::start().await.unwrap();
        let input = r#"{"a": 0.1000000000000000000001, "b": 2}"#;
        model.reply([text("Let me see. 🙂"), tool_call("add", input), tool_call("add", "{}")]);
        model.reply([text("It is 3.")]);
        let client = client_of(provider, &model);
        assert_eq!((client.info().provider.as_str(), client.info().model.as_str()), (provider.as_str(), "some-model"));

        let (said, events, error) = ask(&*client, question()).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(said, "Let me see. 🙂");
        let usage = Usage { input_tokens: 12, output_tokens: 20, cached_tokens: 2, ..Usage::default() };
        let [ModelEvent::ToolCall(one), ModelEvent::ToolCall(two), end] = events.as_slice() else {
            panic!("{events:?}");
        };
        assert_eq!(*end, ModelEvent::Ended { stop_reason: StopReason::ToolUse, usage });
        assert_eq!((one.input_text.as_str(), two.input_text.as_str()), (input, "{}"));

        let result = |call: &ToolCallRequest, content: &str| ToolResult {
            call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: content.to_owned(),
            is_error: false,
            images: Vec::new(),
        };
        let next = request(vec![
            ModelMessage::user_text("What is 1 + 2?"),
            ModelMessage::Assistant(vec![
                AssistantBlock::Text { text: said },
                AssistantBlock::ToolCall(one.clone()),
                AssistantBlock::ToolCall(two.clone()),
            ]),
            ModelMessage::ToolResults(vec![result(two, "two"), result(one, "one")]),
        ]);
        let (said, events, error) = ask(&*client, next).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!((said.as_str(), events.len()), ("It is 3.", 1));
        model.assert_calls_paired();
        let sent = &model.requests()[1].body_text;
        assert!(sent.contains("0.1000000000000000000001"), "{sent}");
    }
}

#[tokio::test]
async fn system_texts_and_the_parts_of_a_message_keep_their_order() {
    let part = |words: &str| UserPart::Text(words.to_owned());
    for provider in PROVIDERS {
        let model = MockLlm::start().await.unwrap();
        model.reply([text("hi")]);
        let mut asked = request(vec![ModelMessage::User(vec![part("one"), part(" "), part("two")])]);
        asked.system = ["Be exact.", "Be brief.", "\n", "Be kind."].map(str::to_owned).into();
        ask(&*client_of(provider, &model), asked).await;
        let body = model.requests().remove(0).body;
        if provider == ProviderKind::Anthropic {
            let block = |words: &str| json!({"type": "text", "text": words});
            let marked = |words: &str| json!({"type": "text", "text": words, "cache_control": {"type": "ephemeral"}});
            // The cache marks separate the text that all conversations have in common from the text of this
            // conversation.
            assert_eq!(body["system"], json!([marked("Be exact."), block("Be brief."), marked("Be kind.")]));
            assert_eq!(body["messages"], json!([{"role": "user", "content": [block("one"), marked("two")]}]));
            assert_eq!(body.to_string().matches("cache_control").count(), 4, "no more than the API takes");
        } else {
            let system = json!({"role": "system", "content": "Be exact.\n\nBe brief.\n\nBe kind."});
            assert_eq!(body["messages"], json!([system, {"role": "user", "content": "one\n\ntwo"}]));
        }
    }
}

#[tokio::test]
async fn headers_and_paths_are_each_providers_own() {
    for provider in PROVIDERS {
        let model = MockLlm::start().await.unwrap();
        for _ in 0..2 {
            model.reply([text("hi")]);
        }
        ask(&*client_of(provider, &model), question()).await;
        let with_v1 = client(provider, &format!("{}/v1", model.url()), Duration::from_secs(20));
        ask(&*with_v1, question()).await;
        let requests = model.requests();
        let paths: Vec<&str> = requests.iter().map(|request| request.path.as_str()).collect();
        let request = &requests[0];
        if provider == ProviderKind::Anthropic {
            assert_eq!(paths, ["/v1/messages", "/v1/messages"]);
            assert_eq!(request.header("x-api-key"), Some(KEY));
            assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
            assert_eq!(request.header("authorization"), None);
        } else {
            assert_eq!(paths, ["/chat/completions", "/v1/chat/completions"]);
            assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
        }
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!((&request.body["temperature"], &request.body["top_p"]), (&Value::Null, &Value::Null));
    }
}

#[tokio::test]
async fn web_search_is_only_for_openrouter_and_the_version_for_anthropic() {
    for provider in PROVIDERS {
        let model = MockLlm::start().await.unwrap();
        model.reply([text("hi")]);
        let settings = ModelSettings {
            base_url: Some(model.url()),
            web_search: true,
            anthropic_version: Some("2031-01-02".to_owned()),
            ..ModelSettings::new(provider)
        };
        ask(&*connect(&settings).unwrap(), question()).await;
        let request = &model.requests()[0];
        let plugins = if provider == ProviderKind::OpenRouter { json!([{"id": "web"}]) } else { Value::Null };
        assert_eq!(request.body["plugins"], plugins);
        // Requests for titles, summaries and other auxiliary model calls do not search.
        model.reply([text("hi")]);
        ask(&*connect(&settings).unwrap(), ModelRequest { may_search: false, ..question() }).await;
        assert_eq!(model.requests()[1].body["plugins"], Value::Null);
        let version = (provider == ProviderKind::Anthropic).then_some("2031-01-02");
        assert_eq!(request.header("anthropic-version"), version);
    }
}

#[tokio::test]
async fn reasoning_is_not_part_of_the_answer() {
    for provider in PROVIDERS {
        let model = MockLlm::start().await.unwrap();
        model.reply([thinking("hm", "c2ln"), text("Yes.")]);
        let (said, events, error) = ask(&*client_of(provider, &model), question()).await;
        assert!(error.is_none() && said == "Yes.");
        let kept = events.iter().any(|event| matches!(event, ModelEvent::Opaque(json) if json.contains("c2ln")));
        assert_eq!(kept, provider == ProviderKind::Anthropic);
    }
}

#[tokio::test]
async fn errors_say_what_to_fix_and_never_contain_the_key() {
    let body = json!({"error": {"type": "x", "message": format!("wrong:\n{KEY}")}}).to_string();
    for provider in PROVIDERS {
        for (status, code, words) in [
            (400, "model_refused_request", "wrong: [key]"),
            (401, "model_auth", "Check LLM_API_KEY"),
            (402, "model_out_of_credit", "out of credit (402: wrong: [key])"),
            (403, "model_refused_request", "403): wrong: [key]"),
            (404, "model_not_found", "\"some-model\""),
            (413, "model_refused_request", "413"),
            (429, "model_busy", "Try again"),
            (500, "model_failing", "500"),
            (529, "model_busy", "529"),
            (307, "model_refused_request", "LLM_BASE_URL"),
        ] {
            let reply = Reply::fail(status, body.clone()).header("location", "http://127.0.0.1:1/");
            let (_, error) = failure(provider, reply).await;
            assert_eq!(error.code(), code, "{status}");
            let said = format!("{error} {error:?}");
            assert!(said.contains(words) && !said.contains(KEY), "{status}: {said}");
        }
    }
}

#[tokio::test]
async fn aborted_answers_are_errors_after_their_text() {
    for provider in PROVIDERS {
        let beginning = || text("The beginning");
        let cases: [[Part; 2]; 3] =
            [[beginning(), cut()], [beginning(), end_of_file()], [beginning(), raw("data: {not JSON\n\n")]];
        for parts in cases {
            let (said, error) = failure(provider, parts).await;
            assert_eq!((said.as_str(), error.code()), ("The beginning", "model_bad_stream"), "{error}");
        }
        let (said, error) = failure(provider, [tool_call("add", "{}"), cut()]).await;
        assert_eq!((said.as_str(), error.code()), ("", "model_bad_stream"));
    }
}

#[tokio::test]
async fn a_response_that_is_not_a_stream_fails() {
    for provider in PROVIDERS {
        let page = Reply::raw_stream("<html></html>");
        assert_eq!(failure(provider, page).await.1.code(), "model_bad_stream");
        for nothing in ["{\"hello\": 1}", "{\"hello\": ", "{}", "{\"choices\": []}"] {
            let (said, error) = failure(provider, Reply::fail(200, nothing)).await;
            assert!(said.is_empty() && error.to_string().contains("application/json"), "{error}");
        }
        let (_, error) =
            failure(provider, Reply::fail(200, "{\"error\": {\"message\": \"No.\", \"code\": 404}}")).await;
        assert_eq!(error.code(), "model_not_found", "{error}");
    }
}

/// Some servers never stream, even if the request asks for it.
#[tokio::test]
async fn an_answer_in_one_body() {
    let call = json!({"id": "a", "type": "function", "function": {"name": "add", "arguments": "{\"a\": 1}"}});
    let message = json!({"role": "assistant", "content": "Let me see.", "tool_calls": [call]});
    let completion =
        json!({"object": "chat.completion", "choices": [{"message": message, "finish_reason": "tool_calls"}]});
    let content = json!([{"type": "text", "text": "Let me see."}, {"type": "tool_use", "id": "a", "name": "add", "input": {"a": 1}}]);
    let whole = json!({"type": "message", "role": "assistant", "content": content, "stop_reason": "tool_use"});
    for provider in PROVIDERS {
        let body = if provider == ProviderKind::Anthropic { &whole } else { &completion };
        let model = MockLlm::start().await.unwrap();
        model.reply(Reply::fail(200, serde_json::to_string_pretty(body).unwrap()));
        let client = client(provider, &model.url(), Duration::from_secs(3));
        let (said, events, error) = ask(&*client, question()).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(said, "Let me see.");
        assert_eq!(testing::calls(&events).len(), 1, "{events:?}");
        assert_eq!(testing::stop_reason(&events), Some(&StopReason::ToolUse));
    }
}

#[tokio::test]
async fn a_stalled_answer_times_out_between_portions_and_before_headers() {
    for provider in PROVIDERS {
        let model = MockLlm::start().await.unwrap();
        let client = client(provider, &model.url(), Duration::from_secs(3));
        model.reply([text("The beginning"), hang()]);
        let (said, _, error) = ask(&*client, question()).await;
        assert!(matches!(error, Some(ModelError::Timeout { seconds: 3 })), "{error:?}");
        assert_eq!(said, "The beginning");

        let _gate = model.reply_late([text("never")]);
        let (_, _, error) = ask(&*client, question()).await;
        assert!(matches!(error, Some(ModelError::Timeout { .. })), "{error:?}");
    }
}

/// An address without a server: no operating system assigns this port by itself.
const UNREACHABLE: &str = "http://127.0.0.1:9";

#[tokio::test]
async fn an_unreachable_server_fails() {
    for provider in PROVIDERS {
        let client = client(provider, &format!("{UNREACHABLE}/v1"), Duration::from_secs(20));
        let (_, _, error) = ask(&*client, question()).await;
        let error = error.unwrap();
        assert_eq!(error.code(), "model_unreachable");
        assert!(error.to_string().contains(&format!("is unreachable at {UNREACHABLE}.")), "{error}");
    }
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    for provider in PROVIDERS {
        let model = MockLlm::start().await.unwrap();
        let gate = model.reply_gated([text("The beginning")], [text("and the end")]);
        let client = client_of(provider, &model);
        let mut stream = client.stream(question());
        assert!(matches!(stream.next().await, Some(Ok(ModelEvent::TextDelta(_)))));
        gate.reached().await;
        drop(stream);
        gate.abandoned().await;

        let late = model.reply_late([text("never")]);
        let stream = client.stream(question());
        let waiting = tokio::spawn(stream.collect::<Vec<_>>());
        late.reached().await;
        waiting.abort();
        late.abandoned().await;
    }
}

#[tokio::test]
async fn deltas_are_passed_on_as_they_arrive() {
    for provider in PROVIDERS {
        let model = MockLlm::start().await.unwrap();
        let gate = model.reply_gated([text("before")], [text(" after")]);
        let client = client_of(provider, &model);
        let mut stream = client.stream(question());
        let mut said = String::new();
        while said != "before" {
            let Some(Ok(ModelEvent::TextDelta(delta))) = stream.next().await else { panic!("{said:?}") };
            said.push_str(&delta);
        }
        gate.open();
        let rest: Vec<_> = stream.collect().await;
        assert!(
            matches!(rest.last(), Some(Ok(ModelEvent::Ended { stop_reason: StopReason::EndTurn, .. }))),
            "{rest:?}"
        );
    }
}
