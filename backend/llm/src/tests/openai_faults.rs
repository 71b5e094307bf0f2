//! Tests of named faults in a Chat Completions stream, over HTTP, for the three providers that use this format.
//! `openai/tests.rs` tests how the reader handles more unusual bodies.

use serde_json::json;
use tallybook_mock_llm::{MockLlm, fault, text};
use tallybook_protocol::Usage;

use super::{
    AssistantBlock, ModelMessage, ProviderKind, StopReason, ToolCallRequest, ToolResult,
    anthropic_faults::{Played, play},
    ask, client_of, question, request,
};

const SPEAKERS: [ProviderKind; 3] = [ProviderKind::OpenAi, ProviderKind::OpenRouter, ProviderKind::Ollama];
const SUM: &str = "{\"a\": 1, \"b\": 2}";

async fn each(name: &str, check: impl Fn(Played)) {
    for provider in SPEAKERS {
        check(play(provider, name).await);
    }
}

fn adds(inputs: &[&str]) -> Vec<(String, String)> {
    inputs.iter().map(|input| ("add".to_owned(), (*input).to_owned())).collect()
}

#[tokio::test]
async fn interleaved_calls_by_index() {
    each("interleaved_calls", |played| {
        assert_eq!(played.calls, adds(&["{\"a\": 0.1000000000000000000001}", "{\"a\":2}"]));
        assert_eq!(played.ids, ["call_a", "call_b"]);
    })
    .await;
}

#[tokio::test]
async fn missing_or_null_call_id() {
    each("no_call_id", |played| {
        assert_eq!(played.calls, adds(&[SUM, SUM]));
        assert!(played.ids.iter().all(|id| id.starts_with("call_")) && played.ids[0] != played.ids[1]);
    })
    .await;
}

#[tokio::test]
async fn a_whole_call_in_one_chunk_and_arguments_as_an_object() {
    each("call_in_one_chunk", |played| assert_eq!(played.calls, adds(&[SUM]))).await;
    each("arguments_as_an_object", |played| assert_eq!(played.calls, adds(&["{\"a\":1,\"b\":2}"]))).await;
}

#[tokio::test]
async fn finish_reason_stop_although_calls_were_seen() {
    each("stop_although_calls", |played| {
        assert_eq!((played.calls, played.stop_reason), (adds(&[SUM]), Some(StopReason::ToolUse)));
    })
    .await;
}

/// A call that the token limit truncates is not passed on. Otherwise the agent answers the call with an error.
#[tokio::test]
async fn tool_calls_with_truncated_json() {
    each("max_tokens_in_tool_call", |played| {
        assert_eq!((played.calls, played.stop_reason), (vec![], Some(StopReason::MaxTokens)));
    })
    .await;
    each("tool_input_not_json", |played| assert_eq!(played.calls, adds(&["{\"a\": oops"]))).await;
}

#[tokio::test]
async fn no_done_but_a_finish_reason_seen() {
    each("no_done", |played| {
        assert_eq!((played.text.as_str(), played.error), ("Let me see.", None));
        assert_eq!((played.calls, played.stop_reason), (adds(&[SUM]), Some(StopReason::ToolUse)));
    })
    .await;
}

#[tokio::test]
async fn neither_done_nor_a_finish_reason() {
    for name in ["no_finish_reason", "end_of_file"] {
        each(name, |played| {
            assert_eq!(played.text, "The beginning of an answer, ");
            assert_eq!((played.stop_reason, played.error), (None, Some("model_bad_stream")));
        })
        .await;
    }
}

#[tokio::test]
async fn usage_chunk_with_no_choices_empty_delta_null_content_and_unknown_fields() {
    each("odd_chunks", |played| {
        assert_eq!((played.text.as_str(), played.stop_reason), ("Tolerated.", Some(StopReason::EndTurn)));
        assert_eq!(played.usage, Some(Usage { input_tokens: 3, output_tokens: 4, ..Usage::default() }));
    })
    .await;
}

#[tokio::test]
async fn openrouter_processing_comments() {
    each("comments_and_pings", |played| {
        assert_eq!((played.text.as_str(), played.error), ("Quiet words.", None));
    })
    .await;
}

#[tokio::test]
async fn reasoning_content_is_kept_apart_from_the_answer() {
    each("thinking", |played| {
        assert_eq!(played.text, "Yes.");
        assert_eq!(played.opaque, [r#"{"reasoning_content":"Let me think."}"#]);
        assert_eq!(played.reasoning, "Let me think.");
    })
    .await;
}

/// Behind OpenRouter, Claude and Gemini refuse the results of their calls without the reasoning before those calls.
#[tokio::test]
async fn reasoning_details_are_joined_and_replayed_within_the_turn() {
    for provider in SPEAKERS {
        let model = MockLlm::start().await.unwrap();
        model.reply(fault("reasoning_details").unwrap());
        model.reply([text("Done.")]);
        let client = client_of(provider, &model);
        let played = Played::new(ask(&*client, question()).await);
        assert_eq!(played.reasoning, "Let me think.");
        let [reasoning] = played.opaque.as_slice() else { panic!("{played:?}") };
        let (id, (name, input_text)) = (played.ids[0].clone(), played.calls[0].clone());
        let result = ToolResult {
            call_id: id.clone(),
            tool_name: name.clone(),
            content: "3".to_owned(),
            is_error: false,
            images: Vec::new(),
        };
        let next = request(vec![
            ModelMessage::user_text("What is 1 + 2?"),
            ModelMessage::Assistant(vec![
                AssistantBlock::Opaque { provider: provider.as_str().to_owned(), model: None, json: reasoning.clone() },
                AssistantBlock::ToolCall(ToolCallRequest {
                    id,
                    name,
                    input_text,
                    written_by: Some(client.info().clone()),
                }),
            ]),
            ModelMessage::ToolResults(vec![result]),
        ]);
        ask(&*client, next).await;
        model.assert_calls_paired();
        let expected = json!([
            {"type": "reasoning.text", "text": "Let me think.", "signature": "c2ln", "format": "f-1", "index": 0},
            {"type": "reasoning.encrypted", "data": "eHl6", "id": "call_a", "index": 1},
        ]);
        assert_eq!(model.requests()[1].body["messages"][2]["reasoning_details"], expected, "{provider}");
    }
}

/// Through its compatible API, Gemini refuses a call's result without the signature.
#[tokio::test]
async fn a_thought_signature_is_sent_back_with_its_call_within_the_turn() {
    let model = MockLlm::start().await.unwrap();
    model.reply(fault("thought_signature").unwrap());
    model.reply([text("Done.")]);
    let client = client_of(ProviderKind::OpenAi, &model);
    let played = Played::new(ask(&*client, question()).await);
    let [signed] = played.opaque.as_slice() else { panic!("{played:?}") };
    assert_eq!(played.ids, ["call_a", "call_b"]);
    let opaque = |model: Option<&str>| AssistantBlock::Opaque {
        provider: "openai".to_owned(),
        model: model.map(str::to_owned),
        json: signed.clone(),
    };
    let calls = played.ids.iter().zip(&played.calls).map(|(id, (name, input_text))| {
        AssistantBlock::ToolCall(ToolCallRequest {
            id: id.clone(),
            name: name.clone(),
            input_text: input_text.clone(),
            written_by: None,
        })
    });
    let results = played.ids.iter().map(|id| ToolResult {
        call_id: id.clone(),
        tool_name: "add".to_owned(),
        content: "3".to_owned(),
        is_error: false,
        images: Vec::new(),
    });
    let (calls, results): (Vec<_>, Vec<_>) = (calls.collect(), results.collect());
    for (opaque, signature) in
        [(opaque(None), json!({"google": {"thought_signature": "c2lnbmVk"}})), (opaque(Some("another")), json!(null))]
    {
        let said = [vec![opaque], calls.clone()].concat();
        let history = vec![
            ModelMessage::user_text("What is 1 + 2?"),
            ModelMessage::Assistant(said),
            ModelMessage::ToolResults(results.clone()),
        ];
        model.reply([text("Done.")]);
        ask(&*client, request(history)).await;
        let sent = &model.requests().pop().unwrap().body["messages"][2];
        assert_eq!(sent["tool_calls"][0]["extra_content"], signature);
        assert_eq!(sent["tool_calls"][1]["extra_content"], json!(null));
        assert_eq!(sent["extra_content"], json!(null), "{sent}");
    }
    model.assert_calls_paired();
}

#[tokio::test]
async fn body_split_at_every_byte() {
    for provider in SPEAKERS {
        let whole = play(provider, "everything").await;
        assert_eq!((whole.text.as_str(), whole.calls.len()), ("12.5 は🙂 “ok”", 2));
        assert_eq!(play(provider, "split_at_every_byte").await, whole);
    }
}

#[tokio::test]
async fn an_error_instead_of_a_chunk() {
    each("error_chunk", |played| assert_eq!(played.error, Some("model_failing"))).await;
}

/// The call is passed on, so that the agent can answer it with an error. An entry without ID, name and arguments is not
/// a call.
#[tokio::test]
async fn a_call_without_a_name() {
    each("call_without_a_name", |played| {
        assert_eq!(played.calls, [(String::new(), SUM.to_owned())]);
        assert_eq!((played.ids, played.stop_reason), (vec!["call_a".to_owned()], Some(StopReason::ToolUse)));
    })
    .await;
    each("empty_call", |played| {
        assert_eq!((played.calls, played.stop_reason), (vec![], Some(StopReason::EndTurn)));
    })
    .await;
}
