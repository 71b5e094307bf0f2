//! Tests of the API client's tools: the model can call them in addition to Tallybook's, and they never run on the
//! server.

use serde_json::{Value, json};
use tallybook_llm::{ModelMessage, ProviderKind, ToolChoice};
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_tools::{Risk, ToolRegistry, ToolSpec};
use tokio_util::sync::CancellationToken;

use super::{
    super::{Limits, TurnInput},
    Echo, agent, ends, reason,
    recorder::{MemoryRecorder, RecordedEvent},
};

fn theirs(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: "The program's.".to_owned(),
        aliases: Vec::new(),
        input_schema: json!({"type": "object"}),
        server: None,
        risk: Risk::Low,
        idempotent: false,
        definition_hash: None,
    }
}

async fn run(model: &MockLlm, client_tools: Vec<ToolSpec>, tool_choice: ToolChoice) -> (String, Vec<RecordedEvent>) {
    let agent = agent(ProviderKind::Anthropic, model, ToolRegistry::default().with(Echo).unwrap(), Limits::default());
    let mut recorder = MemoryRecorder::default();
    let history = vec![ModelMessage::user_text("Go")];
    let tools = agent.tools.clone();
    let input = TurnInput { history, tools, client_tools, tool_choice, ..TurnInput::default() };
    let outcome = agent.service.run(&*agent.model, input, &mut recorder, &CancellationToken::new()).await;
    (reason(outcome), recorder.events)
}

#[tokio::test]
async fn in_a_mixed_step_server_calls_run_and_client_calls_end_the_turn() {
    let model = MockLlm::start().await.unwrap();
    model.reply([tool_call("look", "{}"), tool_call("echo", r#"{"n":1}"#), tool_call("look", "{}")]);
    let (word, events) = run(&model, vec![theirs("look")], ToolChoice::Auto).await;
    assert_eq!((word.as_str(), ends(&events).len(), model.requests().len()), ("client_calls", 1, 1));
}

#[tokio::test]
async fn a_client_tool_takes_precedence_over_a_server_tool_of_the_same_name() {
    let model = MockLlm::start().await.unwrap();
    model.reply([tool_call("echo", r#"{"n":1}"#)]);
    let (word, events) = run(&model, vec![theirs("echo")], ToolChoice::Auto).await;
    assert_eq!((word.as_str(), ends(&events).len()), ("client_calls", 0));
    let tools: Vec<Value> = model.requests()[0].body["tools"].as_array().unwrap().clone();
    assert_eq!((tools.len(), &tools[0]["description"]), (1, &json!("The program's.")));
}

#[tokio::test]
async fn the_tool_choice_is_passed_on_and_none_prevents_calls() {
    let model = MockLlm::start().await.unwrap();
    for (choice, sent) in [
        (ToolChoice::None, json!({"type": "none"})),
        (ToolChoice::Required, json!({"type": "any"})),
        (ToolChoice::Named("look".to_owned()), json!({"type": "tool", "name": "look"})),
    ] {
        let is_none = choice == ToolChoice::None;
        model.reply([text("Well. "), tool_call("look", "{}")]);
        let (word, _) = run(&model, vec![theirs("look")], choice).await;
        assert_eq!(word == "client_calls", !is_none, "{word}");
        assert_eq!(model.requests().last().unwrap().body["tool_choice"], sent);
    }
}
