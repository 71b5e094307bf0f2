//! Tests of named faults in an Anthropic Messages stream, over HTTP. `anthropic/tests.rs` tests how the reader handles
//! more unusual bodies. How the agent reacts to the faults is not tested here.

use tallybook_mock_llm::{MockLlm, fault, text};
use tallybook_protocol::Usage;

use super::{
    AssistantBlock, ModelError, ModelEvent, ModelMessage, ProviderKind, StopReason, ToolResult, ask, client_of,
    question, request,
};

/// The result of a fault.
#[derive(Debug, PartialEq)]
pub(crate) struct Played {
    pub(crate) text: String,
    /// Name and arguments of each call.
    pub(crate) calls: Vec<(String, String)>,
    pub(crate) ids: Vec<String>,
    pub(crate) opaque: Vec<String>,
    pub(crate) reasoning: String,
    pub(crate) stop_reason: Option<StopReason>,
    pub(crate) usage: Option<Usage>,
    /// The error code.
    pub(crate) error: Option<&'static str>,
}

impl Played {
    pub(crate) fn new((text, events, error): (String, Vec<ModelEvent>, Option<ModelError>)) -> Self {
        let error = error.map(|error| error.code());
        let mut played = Self {
            text,
            calls: vec![],
            ids: vec![],
            opaque: vec![],
            reasoning: String::new(),
            stop_reason: None,
            usage: None,
            error,
        };
        for event in events {
            match event {
                ModelEvent::ToolCall(call) => {
                    played.calls.push((call.name, call.input_text));
                    played.ids.push(call.id);
                }
                ModelEvent::ReasoningDelta(words) => played.reasoning.push_str(&words),
                ModelEvent::TextWasReasoning(words) => played.reasoning = words,
                ModelEvent::Opaque(json) => played.opaque.push(json),
                ModelEvent::Ended { stop_reason, usage } => {
                    played.stop_reason = Some(stop_reason);
                    played.usage = Some(usage);
                }
                ModelEvent::TextDelta(_)
                | ModelEvent::Attempt(_)
                | ModelEvent::RetryIn(_)
                | ModelEvent::ToolCallProgress { .. } => {}
            }
        }
        played
    }
}

pub(crate) async fn play(provider: ProviderKind, name: &str) -> Played {
    let model = MockLlm::start().await.unwrap();
    model.reply(fault(name).unwrap());
    Played::new(ask(&*client_of(provider, &model), question()).await)
}

async fn anthropic(name: &str) -> Played {
    play(ProviderKind::Anthropic, name).await
}

fn call(name: &str, input: &str) -> (String, String) {
    (name.to_owned(), input.to_owned())
}

#[tokio::test]
async fn body_split_at_every_byte_inside_utf_8_and_inside_crlf() {
    let whole = anthropic("everything").await;
    assert_eq!((whole.text.as_str(), whole.calls.len(), whole.opaque.len()), ("12.5 は🙂 “ok”", 2, 1));
    assert_eq!(anthropic("split_at_every_byte").await, whole);
}

#[tokio::test]
async fn comments_multi_line_data_and_ping_anywhere() {
    let played = anthropic("comments_and_pings").await;
    assert_eq!((played.text.as_str(), played.error), ("Quiet words.", None));
}

#[tokio::test]
async fn unknown_event_delta_or_block_type() {
    let played = anthropic("unknown_types").await;
    assert_eq!((played.text.as_str(), played.stop_reason), ("Known. Of no block.", Some(StopReason::EndTurn)));
}

#[tokio::test]
async fn end_of_file_without_message_stop() {
    let played = anthropic("end_of_file").await;
    assert_eq!((played.stop_reason, played.error), (None, Some("model_bad_stream")));
    assert_eq!(played.text, "The beginning of an answer, ");
}

#[tokio::test]
async fn a_frame_that_is_not_json() {
    let model = MockLlm::start().await.unwrap();
    model.reply(fault("not_json").unwrap());
    model.reply([text("Unharmed.")]);
    let client = client_of(ProviderKind::Anthropic, &model);
    assert_eq!(Played::new(ask(&*client, question()).await).error, Some("model_bad_stream"));
    assert_eq!(Played::new(ask(&*client, question()).await).text, "Unharmed.");
}

#[tokio::test]
async fn tool_block_with_empty_or_no_input_json_delta() {
    for name in ["empty_tool_input", "no_input_json_delta"] {
        assert_eq!(anthropic(name).await.calls, [call("add", "{}")], "{name}");
    }
}

/// The call is passed on, so that the agent can answer it with an error.
#[tokio::test]
async fn accumulated_tool_input_that_is_not_json() {
    let played = anthropic("tool_input_not_json").await;
    assert_eq!((played.calls, played.error), (vec![call("add", "{\"a\": oops")], None));
}

#[tokio::test]
async fn max_tokens_inside_a_tool_block() {
    let played = anthropic("max_tokens_in_tool_call").await;
    assert_eq!((played.calls, played.stop_reason), (vec![], Some(StopReason::MaxTokens)));
}

#[tokio::test]
async fn several_tool_calls_in_one_answer_have_their_results_in_the_next_message_results_first() {
    let model = MockLlm::start().await.unwrap();
    model.reply(fault("several_calls").unwrap());
    model.reply([text("Done.")]);
    let client = client_of(ProviderKind::Anthropic, &model);
    let (_, events, _) = ask(&*client, question()).await;
    let calls = events.iter().filter_map(|event| match event {
        ModelEvent::ToolCall(call) => Some(call.clone()),
        _ => None,
    });
    let calls: Vec<_> = calls.collect();
    let results = calls.iter().rev().map(|call| ToolResult {
        call_id: call.id.clone(),
        tool_name: call.name.clone(),
        content: "3".to_owned(),
        is_error: false,
        images: Vec::new(),
    });
    let next = request(vec![
        ModelMessage::user_text("What is 1 + 2?"),
        ModelMessage::Assistant(calls.iter().cloned().map(AssistantBlock::ToolCall).collect()),
        ModelMessage::ToolResults(results.collect()),
        ModelMessage::user_text("And then?"),
    ]);
    ask(&*client, next).await;
    model.assert_calls_paired();
    let content = &model.requests()[1].body["messages"][2]["content"];
    let kinds: Vec<_> = content.as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["tool_result", "tool_result", "tool_result", "text"]);
}

#[tokio::test]
async fn thinking_signature_delta_and_redacted_thinking_are_replayed_verbatim() {
    let model = MockLlm::start().await.unwrap();
    model.reply(fault("thinking").unwrap());
    model.reply([text("Done.")]);
    let client = client_of(ProviderKind::Anthropic, &model);
    let played = Played::new(ask(&*client, question()).await);
    assert_eq!((played.text.as_str(), played.opaque.len()), ("Yes.", 2));
    let provider = ProviderKind::Anthropic.as_str();
    let blocks = played.opaque.iter().map(|json| AssistantBlock::Opaque {
        provider: provider.into(),
        model: None,
        json: json.clone(),
    });
    let next = request(vec![
        ModelMessage::user_text("What is 1 + 2?"),
        ModelMessage::Assistant(blocks.chain([AssistantBlock::Text { text: played.text }]).collect()),
        ModelMessage::user_text("Are you sure?"),
    ]);
    ask(&*client, next).await;
    let request = &model.requests()[1];
    for json in &played.opaque {
        assert!(request.body_text.contains(json.as_str()), "{json} in {}", request.body_text);
    }
    let reasoning = &request.body["messages"][1]["content"][0];
    assert_eq!((&reasoning["thinking"], &reasoning["signature"]), (&"Let me think.".into(), &"c2ln".into()));
}

#[tokio::test]
async fn pause_turn() {
    let played = anthropic("pause_turn").await;
    assert_eq!((played.text.as_str(), played.stop_reason), ("I look around", Some(StopReason::Pause)));
    // A request that contains the answer so far continues it. Its last message is the model's own.
    let model = MockLlm::start().await.unwrap();
    model.reply([text(" and find it.")]);
    let next = request(vec![
        ModelMessage::user_text("Where is it?"),
        ModelMessage::Assistant(vec![AssistantBlock::Text { text: played.text }]),
    ]);
    let played = Played::new(ask(&*client_of(ProviderKind::Anthropic, &model), next).await);
    assert_eq!((played.text.as_str(), played.error), (" and find it.", None));
    model.assert_calls_paired();
}

#[tokio::test]
async fn refusal_also_after_partial_text() {
    for (name, words) in [("refusal", ""), ("refusal_after_text", "The beginning of an answer, ")] {
        let played = anthropic(name).await;
        assert_eq!((played.text.as_str(), played.stop_reason), (words, Some(StopReason::Refusal)), "{name}");
    }
}

#[tokio::test]
async fn usage_that_repeats() {
    let usage = Usage { input_tokens: 12, output_tokens: 20, cached_tokens: 2, ..Usage::default() };
    assert_eq!(anthropic("repeated_usage").await.usage, Some(usage));
}

/// The agent shows a notice; the reader must report that the answer is empty.
#[tokio::test]
async fn end_turn_with_no_text() {
    let played = anthropic("nothing_to_say").await;
    assert_eq!((played.text.as_str(), played.stop_reason, played.error), ("", Some(StopReason::EndTurn), None));
}

#[tokio::test]
async fn stop_reasons_that_contradict_the_calls() {
    assert_eq!(anthropic("tool_use_without_calls").await.stop_reason, Some(StopReason::EndTurn));
    assert_eq!(anthropic("end_turn_with_calls").await.stop_reason, Some(StopReason::ToolUse));
}

#[tokio::test]
async fn newer_api_versions_that_refuse_sampling_parameters() {
    let model = MockLlm::start().await.unwrap();
    model.reply([text("hi")]);
    ask(&*client_of(ProviderKind::Anthropic, &model), question()).await;
    let body = &model.requests()[0].body;
    for parameter in ["temperature", "top_p", "top_k"] {
        assert!(body.get(parameter).is_none(), "{parameter}");
    }
}
