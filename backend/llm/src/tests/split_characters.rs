//! Tests of characters outside the basic plane whose surrogates, as JSON escapes, are in two portions of an answer.
//! Each surrogate alone is valid in JSON text, but not in a Rust string.

use tallybook_mock_llm::Reply;

use super::{ModelEvent, ProviderKind, anthropic_faults::Played, ask, client_of, question};

const HIGH: &str = r"\ud83d";
const LOW: &str = r"\ude00";
const PING: &str = r#"{"type":"ping"}"#;

fn framed(data: &str) -> String {
    let event = if data == PING { "event: ping\n" } else { "" };
    format!("{event}data: {data}\n\n")
}

async fn played(provider: ProviderKind, frames: &[String]) -> Played {
    let model = tallybook_mock_llm::MockLlm::start().await.unwrap();
    model.reply(Reply::raw_stream(frames.iter().map(|data| framed(data)).collect::<Vec<_>>().concat()));
    Played::new(ask(&*client_of(provider, &model), question()).await)
}

/// Returns the result of a Chat Completions answer with these deltas.
async fn openai(deltas: &[String]) -> Played {
    let chunks = deltas.iter().map(|delta| format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#));
    let end = [r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#.to_owned(), "[DONE]".to_owned()];
    played(ProviderKind::OpenAi, &chunks.chain(end).collect::<Vec<_>>()).await
}

/// Returns the result of a Messages answer with one block and these deltas, with a ping after each delta.
async fn anthropic(block: &str, deltas: &[String]) -> Played {
    let start = [format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#)];
    let deltas = deltas
        .iter()
        .flat_map(|delta| [format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#), PING.to_owned()]);
    let end = [r#"{"type":"content_block_stop","index":0}"#.to_owned(), r#"{"type":"message_stop"}"#.to_owned()];
    played(ProviderKind::Anthropic, &start.into_iter().chain(deltas).chain(end).collect::<Vec<_>>()).await
}

/// Returns texts in pieces, each with the text that must result.
fn cases() -> Vec<(Vec<String>, &'static str)> {
    vec![
        (vec![format!("a {HIGH}"), format!("{LOW} b")], "a 😀 b"),
        (vec![HIGH.into(), LOW.into()], "😀"),
        (vec![HIGH.to_uppercase().replace("\\U", "\\u"), LOW.into()], "😀"),
        (vec![HIGH.into(), format!("{LOW}{HIGH}"), format!("{LOW}{HIGH}"), LOW.into()], "😀😀😀"),
        // Lone surrogates.
        (vec![format!("a{HIGH}"), "b".into()], "a\u{fffd}b"),
        (vec![format!("a{HIGH}")], "a\u{fffd}"),
        (vec![LOW.into(), HIGH.into(), HIGH.into(), LOW.into()], "\u{fffd}\u{fffd}😀"),
        (vec![format!("{HIGH} {LOW}"), format!("{LOW}{HIGH}x")], "\u{fffd} \u{fffd}\u{fffd}\u{fffd}x"),
        // Complete characters, and text that only looks like an escape.
        (vec![format!("{HIGH}{LOW}"), r"\\ud83d".into(), r"\\\ude00".into()], "😀\\ud83d\\\u{fffd}"),
    ]
}

#[tokio::test]
async fn text_and_reasoning() {
    for (pieces, expected) in cases() {
        let deltas = |field: &str| pieces.iter().map(|text| format!(r#"{{"{field}":"{text}"}}"#)).collect::<Vec<_>>();
        assert_eq!(openai(&deltas("content")).await.text, expected, "{pieces:?}");
        let parts: Vec<_> =
            pieces.iter().map(|text| format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#)).collect();
        assert_eq!(openai(&parts).await.text, expected, "{pieces:?}");
        let reasoning = openai(&deltas("reasoning_content")).await.opaque;
        let expected_thought = serde_json::json!({"reasoning_content": expected}).to_string();
        assert_eq!(reasoning, [expected_thought], "{pieces:?}");
        let details: Vec<_> = pieces
            .iter()
            .map(|text| format!(r#"{{"reasoning_details":[{{"type":"reasoning.text","index":0,"text":"{text}"}}]}}"#))
            .collect();
        let reasoning = openai(&details).await.opaque;
        assert!(reasoning[0].contains(&serde_json::json!(expected).to_string()), "{pieces:?}: {reasoning:?}");

        let deltas: Vec<_> = pieces.iter().map(|text| format!(r#"{{"type":"text_delta","text":"{text}"}}"#)).collect();
        assert_eq!(anthropic(r#"{"type":"text","text":""}"#, &deltas).await.text, expected, "{pieces:?}");
        let deltas: Vec<_> =
            pieces.iter().map(|text| format!(r#"{{"type":"thinking_delta","thinking":"{text}"}}"#)).collect();
        let reasoning = anthropic(r#"{"type":"thinking","thinking":""}"#, &deltas).await.opaque;
        assert!(reasoning[0].contains(&serde_json::json!(expected).to_string()), "{pieces:?}: {reasoning:?}");
    }
}

#[tokio::test]
async fn arguments_of_calls() {
    for (pieces, expected) in cases() {
        // Some pieces aren't valid JSON within the arguments; this test is about joining them.
        let begin = r#"{"tool_calls":[{"index":0,"id":"call_a","function":{"name":"add"}}]}"#.to_owned();
        let fragment =
            |text: &String| format!(r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":"{text}"}}}}]}}"#);
        let deltas: Vec<_> = std::iter::once(begin).chain(pieces.iter().map(fragment)).collect();
        assert_eq!(openai(&deltas).await.calls, [("add".to_owned(), expected.to_owned())], "{pieces:?}");

        let deltas: Vec<_> =
            pieces.iter().map(|text| format!(r#"{{"type":"input_json_delta","partial_json":"{text}"}}"#)).collect();
        let block = r#"{"type":"tool_use","id":"toolu_a","name":"add","input":{}}"#;
        assert_eq!(anthropic(block, &deltas).await.calls, [("add".to_owned(), expected.to_owned())], "{pieces:?}");
    }
}

/// A lone surrogate in a field that the reader ignores must not make the answer fail.
#[tokio::test]
async fn split_characters_in_ignored_fields_are_accepted() {
    let chunk =
        format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"Fine."}},"x":{{"{HIGH}":["{LOW}"]}}}}],"{LOW}":1}}"#);
    let played = played(ProviderKind::OpenAi, &[chunk, "[DONE]".to_owned()]).await;
    assert_eq!((played.text.as_str(), played.error), ("Fine.", None));
}

/// Text that is held back for a low surrogate is sent before the error if the connection is lost.
#[tokio::test]
async fn a_half_before_the_connection_is_lost() {
    let model = tallybook_mock_llm::MockLlm::start().await.unwrap();
    let chunk = format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"a{HIGH}\"}}}}]}}\n\n");
    model.reply([tallybook_mock_llm::raw(chunk), tallybook_mock_llm::cut()]);
    let client = client_of(ProviderKind::OpenAi, &model);
    let (said, events, error) = ask(&*client, question()).await;
    assert_eq!((said.as_str(), events.as_slice()), ("a\u{fffd}", [].as_slice() as &[ModelEvent]));
    assert_eq!(error.unwrap().code(), "model_bad_stream");
}
