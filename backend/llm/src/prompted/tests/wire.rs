//! Tests of the prompt-based tool mode over real HTTP: the requests, the answers, and when `auto` switches to it.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, Reply, cut, fault, text, tool_call};
use tallybook_protocol::Usage;

use super::tools;
use crate::{
    ApiKey, AssistantBlock, ModelClient, ModelError, ModelEvent, ModelMessage, ModelRequest, ModelSettings,
    ProviderKind, RetryPolicy, Sampling, StopReason, ToolCallRequest, ToolChoice, ToolMode, ToolResult, connect,
};

const BLOCK: &str = "```tool\n{\"tool\": \"plus\", \"args\": {\"a\": 1.10, \"b\": 2}}\n```\n";
const NO_TOOLS: &str = r#"{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools"}}"#;

fn client(provider: ProviderKind, model: &MockLlm, tool_mode: ToolMode) -> Arc<dyn ModelClient> {
    let settings = ModelSettings {
        base_url: Some(model.url()),
        api_key: Some(ApiKey::new("sk-test")),
        idle_timeout: Duration::from_secs(20),
        retries: RetryPolicy { first_delay: Duration::from_millis(1), ..RetryPolicy::default() },
        tool_mode,
        ..ModelSettings::new(provider)
    };
    connect(&settings).unwrap()
}

fn request(messages: Vec<ModelMessage>, tool_choice: ToolChoice) -> ModelRequest {
    ModelRequest {
        system: vec!["Be exact.".to_owned()],
        messages,
        tools: tools(),
        tool_choice,
        sampling: Sampling::default(),
        may_search: true,
    }
}

fn question() -> Vec<ModelMessage> {
    vec![ModelMessage::user_text("What is 1.1 + 2?")]
}

struct Answer {
    text: String,
    reasoning: String,
    calls: Vec<ToolCallRequest>,
    end: Option<(StopReason, Usage)>,
    error: Option<ModelError>,
}

async fn ask(client: &dyn ModelClient, messages: Vec<ModelMessage>, tool_choice: ToolChoice) -> Answer {
    let mut answer =
        Answer { text: String::new(), reasoning: String::new(), calls: Vec::new(), end: None, error: None };
    let mut stream = client.stream(request(messages, tool_choice));
    while let Some(event) = stream.next().await {
        match event {
            Ok(ModelEvent::TextDelta(delta)) => answer.text.push_str(&delta),
            Ok(ModelEvent::ToolCall(call)) => answer.calls.push(call),
            Ok(
                ModelEvent::Opaque(_)
                | ModelEvent::Attempt(_)
                | ModelEvent::RetryIn(_)
                | ModelEvent::ToolCallProgress { .. },
            ) => {}
            Ok(ModelEvent::ReasoningDelta(words)) => answer.reasoning.push_str(&words),
            Ok(ModelEvent::TextWasReasoning(words)) => {
                (answer.reasoning, answer.text) = (words, String::new());
                answer.calls.clear();
            }
            Ok(ModelEvent::Ended { stop_reason, usage }) => answer.end = Some((stop_reason, usage)),
            Err(error) => answer.error = Some(error),
        }
    }
    answer
}

#[tokio::test]
async fn calls_and_results_are_sent_as_text() {
    for provider in [ProviderKind::Anthropic, ProviderKind::OpenAi, ProviderKind::OpenRouter, ProviderKind::Ollama] {
        let model = MockLlm::start().await.unwrap();
        let client = client(provider, &model, ToolMode::Prompt);
        model.reply([text(format!("Let me see.\n\n{BLOCK}{BLOCK}"))]);
        let answer = ask(&*client, question(), ToolChoice::Auto).await;
        assert_eq!(answer.text, "Let me see.\n\n");
        let usage = Usage { input_tokens: 12, output_tokens: 20, cached_tokens: 2, ..Usage::default() };
        assert_eq!(answer.end, Some((StopReason::ToolUse, usage)));
        let [one, two] = answer.calls.as_slice() else { panic!("{:?}", answer.calls) };
        assert_eq!((one.name.as_str(), one.input_text.as_str()), ("add", r#"{"a": 1.10, "b": 2}"#));
        assert!(one.id != two.id && one.id.starts_with("call_"));

        let result = |call: &ToolCallRequest| ToolResult {
            call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: r#"{"success":true,"result":"3.1"}"#.to_owned(),
            is_error: false,
            images: Vec::new(),
        };
        let said = vec![
            AssistantBlock::Text { text: answer.text },
            AssistantBlock::ToolCall(one.clone()),
            AssistantBlock::ToolCall(two.clone()),
        ];
        let results = ModelMessage::ToolResults(vec![result(one), result(two)]);
        model.reply([text("It is 3.1.")]);
        let next = [question(), vec![ModelMessage::Assistant(said), results]].concat();
        let answer = ask(&*client, next, ToolChoice::Auto).await;
        assert_eq!((answer.text.as_str(), answer.calls.len()), ("It is 3.1.", 0));
        assert_eq!(answer.end.map(|end| end.0), Some(StopReason::EndTurn));

        model.assert_calls_paired();
        let asked = model.requests().pop().unwrap().body;
        assert_eq!((&asked["tools"], &asked["tool_choice"]), (&Value::Null, &Value::Null));
        let sent = asked.to_string();
        for told in ["# Calling tools", "## evaluate", "```tool\\\\n", "1.10", "```tool_result\\\\n", "3.1"] {
            assert!(sent.contains(&told.replace("\\\\n", "\\n")), "{provider} was not told {told}: {sent}");
        }
        let roles: Vec<&str> =
            asked["messages"].as_array().unwrap().iter().filter_map(|m| m["role"].as_str()).collect();
        assert!(roles.ends_with(&["user", "assistant", "user"]), "{roles:?}");
    }
}

#[tokio::test]
async fn when_no_tools_may_be_used_calls_are_dropped() {
    let model = MockLlm::start().await.unwrap();
    let client = client(ProviderKind::OpenAi, &model, ToolMode::Prompt);
    model.reply([text(format!("It is about 3.\n{BLOCK}"))]);
    let answer = ask(&*client, question(), ToolChoice::None).await;
    assert_eq!((answer.text.as_str(), answer.calls.len()), ("It is about 3.\n", 0));
    assert_eq!(answer.end.map(|end| end.0), Some(StopReason::EndTurn));
    assert!(model.requests()[0].body_text.contains("No more tools can be called"));
}

#[tokio::test]
async fn a_truncated_or_aborted_answer_runs_no_incomplete_call() {
    let half = BLOCK.trim_end().trim_end_matches('`');
    let model = MockLlm::start().await.unwrap();
    let client = client(ProviderKind::Anthropic, &model, ToolMode::Prompt);
    model.reply(Reply::from([text(half)]).stop_reason("max_tokens"));
    let answer = ask(&*client, question(), ToolChoice::Auto).await;
    assert_eq!((answer.text.as_str(), answer.calls.len()), (half, 0));
    assert_eq!(answer.end.map(|end| end.0), Some(StopReason::MaxTokens));

    model.reply([text(format!("Well.\n{half}")), cut()]);
    let answer = ask(&*client, question(), ToolChoice::Auto).await;
    assert_eq!((answer.text, answer.calls.len()), (format!("Well.\n{half}"), 0));
    assert!(matches!(answer.error, Some(ModelError::BadStream { .. })) && answer.end.is_none());
}

#[tokio::test]
async fn a_server_that_extracts_calls_itself_works() {
    let model = MockLlm::start().await.unwrap();
    let client = client(ProviderKind::Ollama, &model, ToolMode::Prompt);
    model.reply([text("Well. "), tool_call("add", r#"{"a":1,"b":2}"#)]);
    let answer = ask(&*client, question(), ToolChoice::Auto).await;
    assert_eq!((answer.text.as_str(), answer.calls.len()), ("Well. ", 1));
    assert_eq!(answer.end.map(|end| end.0), Some(StopReason::ToolUse));
}

#[tokio::test]
async fn auto_falls_back_once_and_remembers() {
    let model = MockLlm::start().await.unwrap();
    let client = client(ProviderKind::Ollama, &model, ToolMode::Auto);
    model.fail(400, NO_TOOLS);
    model.reply([text(BLOCK)]);
    let answer = ask(&*client, question(), ToolChoice::Auto).await;
    assert_eq!((answer.text.as_str(), answer.calls.len(), answer.error.is_none()), ("", 1, true));
    model.reply([text("Again.")]);
    assert_eq!(ask(&*client, question(), ToolChoice::Auto).await.text, "Again.");
    let with_tools: Vec<bool> = model.requests().iter().map(|request| request.body["tools"].is_array()).collect();
    assert_eq!(with_tools, [true, false, false]);
}

#[tokio::test]
async fn a_server_that_rejects_tools_after_a_busy_error_is_asked_without_tools() {
    let model = MockLlm::start().await.unwrap();
    let client = client(ProviderKind::Ollama, &model, ToolMode::Auto);
    model.fail(503, "busy");
    model.fail(400, NO_TOOLS);
    model.reply([text(BLOCK)]);
    let answer = ask(&*client, question(), ToolChoice::Auto).await;
    assert_eq!((answer.text.as_str(), answer.calls.len(), answer.error.is_none()), ("", 1, true));
}

#[tokio::test]
async fn native_and_auto_leave_text_alone_where_tools_are_supported() {
    for mode in [ToolMode::Native, ToolMode::Auto] {
        let model = MockLlm::start().await.unwrap();
        let client = client(ProviderKind::OpenAi, &model, mode);
        model.reply([text(BLOCK)]);
        let answer = ask(&*client, question(), ToolChoice::Auto).await;
        assert_eq!((answer.text.as_str(), answer.calls.len()), (BLOCK, 0));
        assert_ne!(model.requests()[0].body["tools"], json!(null));
    }
    let model = MockLlm::start().await.unwrap();
    model.fail(400, NO_TOOLS);
    let client = client(ProviderKind::Ollama, &model, ToolMode::Native);
    let answer = ask(&*client, question(), ToolChoice::Auto).await;
    assert!(matches!(answer.error, Some(ModelError::ToolsUnsupported { .. })), "{:?}", answer.error);
}

/// Each fault has the form of its model's chat template. Numbers keep their digits.
#[tokio::test]
async fn calls_in_a_models_own_dialect_are_read_in_the_prompted_mode_and_left_alone_in_the_native_one() {
    for name in [
        "qwen_xml_call",
        "hermes_call",
        "mistral_list_of_calls",
        "mistral_named_call",
        "llama_python_tag",
        "llama_bare_json",
    ] {
        let model = MockLlm::start().await.unwrap();
        model.reply(fault(name).unwrap());
        let answer = ask(&*client(ProviderKind::OpenAi, &model, ToolMode::Prompt), question(), ToolChoice::Auto).await;
        let [call] = answer.calls.as_slice() else { panic!("{name}: {:?}", answer.calls) };
        assert_eq!((call.name.as_str(), call.input_text.as_str()), ("add", r#"{"a":0.10,"b":2}"#), "{name}");
        assert_eq!(answer.text, "Adding.\n", "{name}");
        assert_eq!(answer.end.map(|end| end.0), Some(StopReason::ToolUse));

        model.reply(fault(name).unwrap());
        let answer = ask(&*client(ProviderKind::OpenAi, &model, ToolMode::Native), question(), ToolChoice::Auto).await;
        assert!(answer.calls.is_empty() && answer.text.len() > "Adding.\n".len(), "{name}: {}", answer.text);
    }
}

#[tokio::test]
async fn reasoning_in_the_text_is_not_part_of_the_answer_and_its_calls_do_not_run() {
    for mode in [ToolMode::Prompt, ToolMode::Native] {
        for (name, reasoning, text) in [
            ("think_in_text", "One and two.\n", "Three."),
            ("think_never_closed", "One and two, and", ""),
            (
                "think_of_a_call",
                r#"I could write <tool_call>{"name": "add", "arguments": {"a":0.10,"b":2}}</tool_call>."#,
                "No need: three.",
            ),
        ] {
            let model = MockLlm::start().await.unwrap();
            model.reply(fault(name).unwrap());
            let answer = ask(&*client(ProviderKind::OpenAi, &model, mode), question(), ToolChoice::Auto).await;
            assert_eq!((answer.reasoning.as_str(), answer.text.as_str()), (reasoning, text), "{name}");
            assert!(answer.calls.is_empty(), "{name}: {:?}", answer.calls);
        }
    }
}
