//! Tests of high-risk calls: which of them wait, which run, in which order, and how the model learns of edited
//! arguments.

use tallybook_llm::{AssistantBlock, ToolCallRequest};
use tallybook_protocol::ToolCallId;

use crate::{
    AnsweredStep, PendingApproval, PlannedCall, ResumeState,
    tests::{
        AgentError, CancellationToken, Duration, Echo, EndReason, Launch, Limits, MemoryRecorder, MockLlm,
        ModelMessage, Ordering, ProviderKind, RecordedEvent, ToolRegistry, TurnInput, TurnOutcome, agent, reason, text,
        tool_call,
    },
};

struct Run {
    outcome: Result<TurnOutcome, AgentError>,
    /// Calls that requested approval or started, in order.
    calls: Vec<String>,
    /// The arguments with which the tool ran.
    launched: Vec<usize>,
    most_at_once: usize,
}

/// Runs a turn with the tools `echo` and `launch`. Tools in `approved` need no approval.
async fn run(model: &MockLlm, continued: Option<ResumeState>, approved: &[&'static str]) -> Run {
    let launch = Launch::default();
    let tools = ToolRegistry::default().with(Echo).unwrap().with(launch.clone()).unwrap();
    let agent = agent(ProviderKind::Anthropic, model, tools, Limits::default());
    let mut recorder = MemoryRecorder { approved: approved.to_vec(), ..MemoryRecorder::default() };
    let mut history = vec![ModelMessage::user_text("Go")];
    if let Some(ResumeState { answered: Some(step), .. }) = &continued {
        let asked = |call: &PlannedCall| AssistantBlock::ToolCall(call.request.clone());
        history.push(ModelMessage::Assistant(step.calls.iter().map(asked).collect()));
    }
    let input = TurnInput { history, continued, tools: agent.tools.clone(), ..TurnInput::default() };
    let outcome = agent.service.run(&*agent.model, input, &mut recorder, &CancellationToken::new()).await;
    let calls = recorder.events.iter().filter_map(|event| match event {
        RecordedEvent::Asked(key, name, input) => Some(format!("asked {key} {name} {input}")),
        RecordedEvent::ToolStarted(key, name, input) => Some(format!("started {key} {name} {input}")),
        _ => None,
    });
    let launched = launch.order.lock().unwrap().clone();
    Run { outcome, calls: calls.collect(), launched, most_at_once: launch.most_at_once.load(Ordering::SeqCst) }
}

fn launch_hash() -> String {
    ToolRegistry::default().with(Launch::default()).unwrap().find_spec("launch").unwrap().hash()
}

/// Returns a turn that resumes after its calls were approved. Each call has a key, an argument, and whether it was
/// edited.
fn approved(tool_hash: &str, calls: &[(i64, usize, bool)]) -> ResumeState {
    let call = |(position, &(key, n, is_edited)): (u32, &(i64, usize, bool))| {
        let input_text = format!(r#"{{"n":{n}}}"#);
        let request =
            ToolCallRequest { id: format!("call_{key}"), name: "launch".to_owned(), input_text, written_by: None };
        let waited = PendingApproval { id: ToolCallId(key), tool_hash: tool_hash.to_owned(), is_edited };
        PlannedCall { position, request, waited: Some(waited), secret: None }
    };
    let calls: Vec<PlannedCall> = (0..).zip(calls).map(call).collect();
    let answered = AnsweredStep { step: 0, stop_reason: "tool_use".to_owned(), has_calls: true, calls };
    ResumeState { answered: Some(answered), next_step: 1, whole_steps: 1, ..ResumeState::default() }
}

#[tokio::test]
async fn high_risk_calls_wait_while_the_others_run() {
    let model = MockLlm::start().await.unwrap();
    model.reply([
        tool_call("launch", r#"{"n":1}"#),
        tool_call("echo", r#"{"n":7}"#),
        tool_call("launch", r#"{"n":2}"#),
    ]);
    let run = run(&model, None, &[]).await;
    assert_eq!(run.outcome.unwrap().reason, EndReason::AwaitsApproval);
    let expected = [r#"started 1 echo {"n":7}"#, r#"asked 2 launch {"n":1}"#, r#"asked 3 launch {"n":2}"#];
    assert_eq!((run.calls.as_slice(), run.launched.as_slice()), (&expected.map(str::to_owned)[..], &[][..]));
    assert_eq!(model.requests().len(), 1, "the model is not asked on");
}

#[tokio::test]
async fn approved_high_risk_calls_run_last_one_by_one_in_order() {
    let model = MockLlm::start().await.unwrap();
    model.reply([
        tool_call("launch", r#"{"n":1}"#),
        tool_call("echo", r#"{"n":7}"#),
        tool_call("launch", r#"{"n":2}"#),
        tool_call("launch", r#"{"n":3}"#),
    ]);
    model.reply([text("Done.")]);
    let run = run(&model, None, &["launch"]).await;
    assert_eq!(reason(run.outcome), "end_turn");
    assert!(run.calls[0].contains("echo") && run.calls.len() == 4, "{:?}", run.calls);
    assert_eq!((run.launched.as_slice(), run.most_at_once), (&[1, 2, 3][..], 1));
    model.assert_calls_paired();
}

#[tokio::test]
async fn approved_calls_run_in_order_and_the_model_sees_edited_arguments() {
    let model = MockLlm::start().await.unwrap();
    model.reply([text("Done.")]);
    let continued = approved(&launch_hash(), &[(7, 1, false), (8, 2, true)]);
    let run = run(&model, Some(continued), &[]).await;
    assert_eq!(reason(run.outcome), "end_turn");
    assert_eq!(run.calls, [r#"started 7 launch {"n":1}"#, r#"started 8 launch {"n":2}"#]);
    assert_eq!(run.launched, [1, 2]);
    let results = model.requests()[0].body["messages"][2]["content"].clone();
    let note = |index: usize| results[index]["content"].to_string().contains("A person changed the arguments");
    assert_eq!((note(0), note(1)), (false, true), "{results}");
}

#[tokio::test]
async fn a_tool_that_changed_after_its_approval_needs_approval_again() {
    let model = MockLlm::start().await.unwrap();
    let run = run(&model, Some(approved("of another definition", &[(7, 1, false)])), &[]).await;
    assert_eq!(run.outcome.unwrap().reason, EndReason::AwaitsApproval);
    assert_eq!((run.calls.as_slice(), run.launched.len()), (&[r#"asked 7 launch {"n":1}"#.to_owned()][..], 0));
}

#[tokio::test]
async fn a_resumed_turn_has_the_rest_of_its_time() {
    let model = MockLlm::start().await.unwrap();
    let active = Limits::default().turn_time + Duration::from_secs(1);
    let continued = ResumeState { active, ..approved(&launch_hash(), &[(7, 1, false)]) };
    let run = run(&model, Some(continued), &[]).await;
    assert!(matches!(run.outcome, Err(AgentError::TurnTimeout { .. })), "{:?}", run.outcome);
}
