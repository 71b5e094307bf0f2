//! Tests that the results of calls are stored while the model is already called, and that its answer is recorded after
//! them.

use tokio::sync::watch;

use super::{
    Agent, AgentError, CancellationToken, Echo, Limits, MemoryRecorder, MockLlm, ModelMessage, ProviderKind,
    RecordedEvent, ToolCallStatus, ToolRegistry, TurnInput, agent, ends, hang, reason, text, tool_call,
};

/// Scripts a model that calls a tool, and returns a turn whose results are stored when `stored` is set.
fn turn(model: &MockLlm, stored: &watch::Sender<bool>) -> (Agent, TurnInput, MemoryRecorder) {
    model.reply([tool_call("echo", r#"{"n": 7}"#)]);
    let tools = ToolRegistry::default().with(Echo).unwrap();
    let agent = agent(ProviderKind::Anthropic, model, tools, Limits::default());
    let history = vec![ModelMessage::user_text("Go")];
    let input = TurnInput { history, tools: agent.tools.clone(), ..TurnInput::default() };
    let recorder = MemoryRecorder { stored: Some(stored.subscribe()), ..MemoryRecorder::default() };
    (agent, input, recorder)
}

#[tokio::test]
async fn the_next_model_call_starts_while_results_are_being_stored() {
    let model = MockLlm::start().await.unwrap();
    let stored = watch::Sender::new(false);
    let (agent, input, mut recorder) = turn(&model, &stored);
    model.reply([text("Seven.")]);
    let cancel = CancellationToken::new();
    let store = async {
        model.requests_reached(2).await;
        stored.send_replace(true);
    };
    let (outcome, ()) = tokio::join!(agent.service.run(&*agent.model, input, &mut recorder, &cancel), store);
    assert_eq!(reason(outcome), "end_turn");
    let place = |is_it: fn(&RecordedEvent) -> bool| recorder.events.iter().position(is_it).unwrap();
    let ended = place(|event| matches!(event, RecordedEvent::ToolEnded(..)));
    let said = place(|event| *event == RecordedEvent::Text("Seven.".to_owned()));
    assert!(ended < said, "{:?}", recorder.events);
}

#[tokio::test]
async fn a_turn_that_is_stopped_while_storing_keeps_its_results() {
    let model = MockLlm::start().await.unwrap();
    let stored = watch::Sender::new(false);
    let (agent, input, mut recorder) = turn(&model, &stored);
    model.reply([hang()]);
    let cancel = CancellationToken::new();
    let stop = async {
        model.requests_reached(2).await;
        cancel.cancel();
        stored.send_replace(true);
    };
    let (outcome, ()) = tokio::join!(agent.service.run(&*agent.model, input, &mut recorder, &cancel), stop);
    assert!(matches!(outcome, Err(AgentError::Cancelled)), "{outcome:?}");
    assert_eq!(ends(&recorder.events), [(1, ToolCallStatus::Success, None)]);
}
