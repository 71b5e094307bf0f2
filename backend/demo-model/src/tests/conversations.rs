//! Tests of several questions in a conversation, and of what the agent requires of a model: pacing, IDs, an end without
//! tools.

use std::{collections::HashSet, time::Duration};

use futures_util::StreamExt as _;
use tallybook_llm::{
    AssistantBlock, ModelClient as _, ModelEvent, ModelMessage, ModelRequest, Sampling, ToolChoice, ToolResult,
};

use super::{DemoModel, Talk};

#[test]
fn later_questions_continue_from_the_last_result() {
    let mut talk = Talk::new();
    talk.ask("2 + 3");
    assert_eq!(talk.ask("now double it").answer, "Done: 5 × 2 = **10**.");
    assert_eq!(talk.ask("divide that by 4").answer, "Done: 10 ÷ 4 = **2.5**.");
    assert_eq!(talk.ask("それを3倍して").answer, "できました。2.5 × 3 = **7.5** です。");
    assert!(talk.ask("hello").answer.starts_with("Hello!"));
    assert_eq!(talk.ask("plus 2.5, then squared?").answer, talk.ask("hm?").answer, "not understood");
    assert_eq!(talk.ask("plus 2.5").answer, "Done: 7.5 + 2.5 = **10**.");
    assert_eq!(talk.ask("square root of it").answer, "Done: sqrt(10) = **3.1622776601683795** (in floating point).");
    assert_eq!(talk.ask("× 2").answer, "Done: 3.1622776601683795 × 2 = **6.324555320336759**.");
    talk.ask("1 / 0");
    assert!(talk.ask("double it").answer.starts_with("There is no earlier result"));
}

#[test]
fn call_ids_are_unique_in_the_conversation_even_when_its_beginning_is_cut_off() {
    let mut talk = Talk::new();
    for question in ["(1 + 2) * (3 + 4)", "(1 + 2) * (3 + 4)"] {
        talk.ask(question);
    }
    talk.messages.drain(..4);
    talk.ask("(5 + 6) * (7 + 8)");
    let ids = talk.messages.iter().flat_map(|message| match message {
        ModelMessage::Assistant(blocks) => blocks.as_slice(),
        ModelMessage::User(_) | ModelMessage::ToolResults(_) => &[],
    });
    let ids: Vec<&str> = ids
        .filter_map(|block| match block {
            AssistantBlock::ToolCall(call) => Some(call.id.as_str()),
            AssistantBlock::Text { .. } | AssistantBlock::Opaque { .. } => None,
        })
        .collect();
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len(), "{ids:?}");
}

#[test]
fn without_tools_it_answers_from_its_results() {
    let mut talk = Talk::new();
    talk.messages.push(ModelMessage::user_text("2 * 3 and (4 + 5) * 6"));
    let (_, calls) = talk.step(ToolChoice::Auto);
    talk.run(&calls);
    let (text, calls) = talk.step(ToolChoice::None);
    assert!(calls.is_empty());
    assert_eq!(
        text,
        "Here you are:\n\n- 2 × 3 = **6**.\n- I could not finish (4 + 5) × 6: it takes more steps than I was given."
    );
}

#[test]
fn a_tool_that_is_switched_off_is_named() {
    let mut talk = Talk::new();
    talk.tools = talk.tools.iter().filter(|tool| tool.name != "multiply").cloned().collect();
    assert_eq!(talk.ask("2 * 3").answer, "For that I need the tool `multiply`, which is not available here.");
    assert_eq!(talk.ask("2 × 3は？").answer, "この計算にはツール `multiply` が必要ですが、ここでは使えません。");
}

#[test]
fn results_of_any_shape_do_not_panic() {
    for (content, is_error, expected) in [
        (r#"{"success":true,"result":5}"#, false, "Done: 2 + 3 = **5**."),
        (
            r#"{"success":true,"result":"12\n… cut here"}"#,
            false,
            "2 + 3 has no result: the tool says “the tool gave \"12\\n… cut here\", which is not a number”.",
        ),
        ("out of memory", true, "2 + 3 has no result: the tool says “out of memory”."),
        (r#"{"success":false,"error":"invalid_a: no."}"#, true, "2 + 3 has no result: the tool says “no”."),
        (
            r#"{"success":true,"result":"many"}"#,
            false,
            "2 + 3 has no result: the tool says “the tool gave \"many\", which is not a number”.",
        ),
        (
            r#"{"success":true}"#,
            false,
            "2 + 3 has no result: the tool says “the tool gave \"null\", which is not a number”.",
        ),
    ] {
        let mut talk = Talk::new();
        talk.messages.push(ModelMessage::user_text("2 + 3"));
        let (_, calls) = talk.step(ToolChoice::Auto);
        let result = ToolResult {
            call_id: calls[0].id.clone(),
            tool_name: "add".to_owned(),
            content: content.to_owned(),
            is_error,
            images: Vec::new(),
        };
        talk.messages.push(ModelMessage::ToolResults(vec![result]));
        assert_eq!(talk.step(ToolChoice::Auto).0, expected);
    }
}

#[test]
fn an_empty_history_is_answered() {
    let (text, calls) = Talk::new().step(ToolChoice::Auto);
    assert!(text.contains("demo model") && calls.is_empty());
}

#[tokio::test]
async fn words_are_sent_one_by_one_at_the_configured_pace() {
    let request = ModelRequest {
        system: Vec::new(),
        messages: vec![ModelMessage::user_text("Hello!")],
        tools: [].into(),
        tool_choice: ToolChoice::Auto,
        sampling: Sampling::default(),
        may_search: false,
    };
    let pace = Duration::from_millis(2);
    let started = std::time::Instant::now();
    let events = DemoModel::new(pace).stream(request).collect::<Vec<_>>().await;
    let words = events.iter().filter(|event| matches!(event, Ok(ModelEvent::TextDelta(_)))).count();
    assert!(words > 20);
    assert!(started.elapsed() >= pace * u32::try_from(words).unwrap());
}
