//! Tests of parts of a request that a model's server refuses: the client recognizes them from the error, omits them,
//! and remembers them.

use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, Reply, raw, text};

use super::{
    ModelClient, ModelEvent, ModelRequest, ModelSettings, PROVIDERS, ProviderKind, Sampling, ToolChoice, ask,
    client_of, connect, history, question, request, settings,
};
use crate::{Quirk, QuirkSet, ReasoningEffort};

/// A change of the settings.
type Setting = fn(ModelSettings) -> ModelSettings;

/// Returns an error in the form of the provider's own API.
fn refusal(message: &str) -> String {
    json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}}).to_string()
}

fn demanding() -> ModelRequest {
    ModelRequest {
        tool_choice: ToolChoice::Required,
        sampling: Sampling { temperature: Some(0.5), stop: vec!["END".to_owned()], ..Sampling::default() },
        ..question()
    }
}

fn quirks_of(client: &dyn ModelClient) -> Vec<&'static str> {
    client.quirks().iter().map(Quirk::as_str).collect()
}

#[tokio::test]
async fn parts_that_a_server_rejects_are_left_out_one_after_another() {
    let model = MockLlm::start().await.unwrap();
    let refusals = [
        "Unrecognized request argument supplied: stream_options",
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.",
        "[{'type': 'extra_forbidden', 'loc': ('body', 'stop_sequences'), 'msg': 'Extra inputs are not permitted'}]",
        "No endpoints found that support the provided 'tool_choice' value.",
        "System role not supported",
        "Function calling is not enabled for models/m",
    ];
    for (number, message) in refusals.iter().enumerate() {
        model.fail([400, 422, 404, 500][number % 4], refusal(message));
    }
    model.reply([text("```tool\n{\"tool\": \"add\", \"args\": {\"a\": 1}}\n```")]);
    let client = client_of(ProviderKind::OpenAi, &model);
    let (said, events, error) = ask(&*client, demanding()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(said, "");
    assert!(matches!(&events[0], ModelEvent::ToolCall(call) if call.input_text == "{\"a\": 1}"), "{events:?}");

    let requests = model.requests();
    assert_eq!(requests.len(), refusals.len() + 1);
    for (number, field) in ["stream_options", "max_tokens", "temperature", "stop", "tool_choice"].iter().enumerate() {
        assert!(requests[number].body.get(*field).is_some(), "{field} is sent until it is refused");
        assert!(requests[number + 1].body.get(*field).is_none(), "{field} is not sent any more");
    }
    let last = &requests.last().unwrap().body;
    assert_eq!(last["max_completion_tokens"], 4096);
    let messages = last["messages"].as_array().unwrap();
    assert_eq!((messages.len(), &messages[0]["role"]), (1, &json!("user")));
    let sent = messages[0]["content"].as_str().unwrap();
    assert!(sent.starts_with("Be exact.\n\n# Calling tools") && sent.ends_with("\n\nWhat is 1 + 2?"), "{sent}");

    let known = [
        "no_stream_options",
        "no_max_tokens",
        "no_temperature",
        "no_stop",
        "no_tool_choice",
        "no_system_message",
        "no_tools",
    ];
    assert_eq!(quirks_of(&*client), known);
    assert_eq!(client.tool_offer(), tallybook_protocol::ToolOffer::Prompt);
    // The client remembers all of these quirks.
    model.reply([text("Again.")]);
    assert_eq!(ask(&*client, demanding()).await.0, "Again.");
    assert_eq!(model.requests().len(), refusals.len() + 2);
    model.assert_calls_paired();
}

#[tokio::test]
async fn each_part_can_be_left_out_in_each_format() {
    let effort = |settings| ModelSettings { reasoning_effort: Some(ReasoningEffort::High), ..settings };
    let plain = |settings| settings;
    let cases: [(ProviderKind, Setting, &str, &str); 6] = [
        (ProviderKind::Anthropic, effort, "This model does not support the effort parameter.", "output_config"),
        (ProviderKind::Anthropic, plain, "`temperature` is deprecated for this model.", "temperature"),
        (ProviderKind::Anthropic, plain, "stop_sequences: Extra inputs are not permitted", "stop_sequences"),
        (
            ProviderKind::OpenAi,
            effort,
            "Unsupported parameter: 'reasoning_effort' is not supported",
            "reasoning_effort",
        ),
        (ProviderKind::Ollama, plain, "json: unknown field \"stream_options\"", "stream_options"),
        (ProviderKind::Ollama, plain, "max_tokens is not supported", "max_tokens"),
    ];
    for (provider, set, message, field) in cases {
        let model = MockLlm::start().await.unwrap();
        model.fail(400, refusal(message));
        model.reply([text("Yes.")]);
        let asked = ModelRequest { tool_choice: ToolChoice::Auto, ..demanding() };
        let client = connect(&set(settings(provider, &model.url()))).unwrap();
        let (said, _, error) = ask(&*client, asked).await;
        assert_eq!(said, "Yes.", "{message}: {error:?}");
        let requests = model.requests();
        assert!(requests[0].body.get(field).is_some() && requests[1].body.get(field).is_none(), "{message}");
    }
    let model = MockLlm::start().await.unwrap();
    model.fail(400, refusal("system.0.cache_control: Extra inputs are not permitted"));
    model.reply([text("Yes.")]);
    let (said, _, error) = ask(&*client_of(ProviderKind::Anthropic, &model), question()).await;
    assert_eq!(said, "Yes.", "{error:?}");
    let marks =
        model.requests().iter().map(|request| request.body_text.matches("cache_control").count()).collect::<Vec<_>>();
    assert_eq!(marks, [3, 0]);
}

#[tokio::test]
async fn a_rejection_of_an_unknown_part_is_final() {
    for provider in PROVIDERS {
        for message in [
            "the request is not as it should be",
            // The request does not contain this field.
            "Unsupported parameter: 'temperature' is not supported with this model.",
            "tools.0.custom.input_schema: input_schema does not support oneOf at the top level",
            "Invalid schema for function 'add': unknown keyword 'max_tokens'",
            "max_tokens is too large: 4096. This model supports at most 1000 completion tokens.",
        ] {
            let model = MockLlm::start().await.unwrap();
            model.fail(400, refusal(message));
            let (_, _, error) = ask(&*client_of(provider, &model), question()).await;
            let error = error.unwrap();
            assert_eq!((error.code(), model.requests().len()), ("model_refused_request", 1), "{message}");
            assert!(error.to_string().ends_with(message), "{error}");
        }
        let model = MockLlm::start().await.unwrap();
        model.fail(400, refusal("prompt is too long: 9 tokens > 8 maximum; tools are not supported"));
        let (_, _, error) = ask(&*client_of(provider, &model), question()).await;
        assert_eq!((error.unwrap().code(), model.requests().len()), ("model_context_too_long", 1));
    }
}

#[tokio::test]
async fn a_server_that_rejects_everything_is_retried_once_per_part() {
    for provider in PROVIDERS {
        let model = MockLlm::start().await.unwrap();
        let everything = "Unsupported: stream_options, max_tokens, max_completion_tokens, temperature, stop_sequences, \
                          reasoning_effort, tool_choice, cache_control, system message, tools are not supported";
        for _ in 0..50 {
            model.fail(400, refusal(everything));
        }
        let (_, _, error) = ask(&*client_of(provider, &model), demanding()).await;
        assert!(error.is_some());
        let asked = model.requests().len();
        assert!((5..=Quirk::ALL.len()).contains(&asked), "{provider}: {asked}");
        // The next request does not repeat the refused parts one by one.
        ask(&*client_of(provider, &model), question()).await;
    }
}

#[tokio::test]
async fn a_rejection_after_text_is_final() {
    let model = MockLlm::start().await.unwrap();
    let error = raw(format!("data: {}\n\n", json!({"error": {"code": 400, "message": "System role not supported"}})));
    model.reply([text("Well"), error.clone()]);
    let client = client_of(ProviderKind::OpenAi, &model);
    let (said, _, failed) = ask(&*client, question()).await;
    assert_eq!((said.as_str(), failed.is_some(), model.requests().len()), ("Well", true, 1));
    // An error at the beginning of the stream has the same effect as an error status.
    model.reply([error]);
    model.reply([text("Yes.")]);
    assert_eq!(ask(&*client, question()).await.0, "Yes.");
}

#[tokio::test]
async fn settings_confirm_and_deny_quirks_from_the_start() {
    let model = MockLlm::start().await.unwrap();
    let set = |quirks: &[(Quirk, bool)]| {
        let quirks = quirks.iter().copied().collect();
        connect(&ModelSettings { quirks, ..settings(ProviderKind::OpenAi, &model.url()) }).unwrap()
    };
    model.reply([text("Yes.")]);
    let client = set(&[(Quirk::NoStreamOptions, true), (Quirk::NoSystemMessage, true)]);
    assert_eq!(client.quirks(), QuirkSet::from_iter([Quirk::NoStreamOptions, Quirk::NoSystemMessage]));
    assert_eq!(ask(&*client, question()).await.0, "Yes.");
    let body = &model.requests()[0].body;
    assert_eq!((&body["stream_options"], &body["messages"][0]["role"]), (&Value::Null, &json!("user")));

    model.fail(400, refusal("System role not supported"));
    let (_, _, error) = ask(&*set(&[(Quirk::NoSystemMessage, false)]), question()).await;
    assert_eq!((error.unwrap().code(), model.requests().len()), ("model_refused_request", 2));
}

#[tokio::test]
async fn two_concurrent_requests_both_learn_a_quirk() {
    let model = MockLlm::start().await.unwrap();
    let client = client_of(ProviderKind::OpenAi, &model);
    let busy = model.reply_late(Reply::fail(400, refusal("Unknown field: stream_options")));
    model.fail(400, refusal("Unknown field: stream_options"));
    model.reply([text("Yes.")]);
    model.reply([text("Yes.")]);
    let first = tokio::spawn({
        let client = client.clone();
        async move { ask(&*client, question()).await.0 }
    });
    busy.reached().await;
    assert_eq!(ask(&*client, question()).await.0, "Yes.");
    busy.open();
    assert_eq!(first.await.unwrap(), "Yes.", "it was sent before the quirk was known");
}

#[tokio::test]
async fn several_calls_are_sent_one_by_one_if_required() {
    let model = MockLlm::start().await.unwrap();
    let client = client_of(ProviderKind::OpenAi, &model);
    model.fail(400, refusal("This model only supports single tool-calls at once!"));
    model.reply([text("Yes.")]);
    let (said, _, error) = ask(&*client, request(history::two_calls(Some(client.info())))).await;
    assert_eq!(said, "Yes.", "{error:?}");
    model.assert_calls_paired();
    let roles = |number: usize| -> Vec<Value> {
        let messages = model.requests()[number].body["messages"].clone();
        messages.as_array().unwrap().iter().map(|message| message["role"].clone()).collect()
    };
    assert_eq!(roles(0), ["system", "user", "assistant", "tool", "tool"]);
    assert_eq!(roles(1), ["system", "user", "assistant", "tool", "assistant", "tool"]);
}

#[tokio::test]
async fn tool_messages_have_no_name_if_the_server_rejects_it() {
    let model = MockLlm::start().await.unwrap();
    let client = client_of(ProviderKind::OpenAi, &model);
    model.fail(
        400,
        refusal("'messages.3' : for 'role:tool' the following must be satisfied[(property 'name' is unsupported)]"),
    );
    model.reply([text("Yes.")]);
    ask(&*client, request(history::two_calls(Some(client.info())))).await;
    let names: Vec<Value> = model.requests().iter().map(|one| one.body["messages"][3]["name"].clone()).collect();
    assert_eq!(names, [json!("add"), Value::Null]);
}
