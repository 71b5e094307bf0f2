//! Tests of the agent loop alone: a scripted model over real HTTP, tools made for the test, and a recorder in memory.

pub(crate) mod approval;
mod bounds;
mod client_tools;
mod concurrency;
mod recorder;
mod settling;

use std::{
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use recorder::{MemoryRecorder, RecordedEvent};
use schemars::JsonSchema;
use serde::Deserialize;
use tallybook_llm::{ApiKey, ModelClient, ModelMessage, ModelSettings, ProviderKind};
use tallybook_mock_llm::{MockLlm, Reply, hang, text, tool_call};
use tallybook_protocol::ToolCallStatus;
use tallybook_tools::{Risk, Tool, ToolError, ToolOutput, ToolRegistry};
use tokio_util::sync::CancellationToken;

use super::{AgentError, AgentService, EndReason, Limits, SystemPrompt, TurnInput, TurnOutcome};

#[derive(Deserialize, JsonSchema)]
struct Number {
    n: usize,
}

/// Returns its argument. With 0 it never returns.
struct Echo;

impl Tool for Echo {
    type Args = Number;
    const NAME: &'static str = "echo";
    const DESCRIPTION: &'static str = "Gives the number back.";

    async fn call(&self, Number { n }: Number) -> Result<ToolOutput, ToolError> {
        if n == 0 { pending().await } else { Ok(ToolOutput::text(n.to_string())) }
    }
}

/// Returns about the requested number of bytes.
struct Flood;

impl Tool for Flood {
    type Args = Number;
    const NAME: &'static str = "flood";
    const DESCRIPTION: &'static str = "Gives back many bytes.";

    async fn call(&self, Number { n }: Number) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("数".repeat(n / 3)))
    }
}

/// Records its runs, and the maximum number of its calls that ran at the same time.
#[derive(Clone, Default)]
struct Launch {
    order: Arc<Mutex<Vec<usize>>>,
    at_once: Arc<AtomicUsize>,
    most_at_once: Arc<AtomicUsize>,
}

impl Tool for Launch {
    type Args = Number;
    const NAME: &'static str = "launch";
    const DESCRIPTION: &'static str = "Changes the world.";
    const RISK: Risk = Risk::High;

    async fn call(&self, Number { n }: Number) -> Result<ToolOutput, ToolError> {
        self.most_at_once.fetch_max(self.at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        self.order.lock().unwrap().push(n);
        tokio::task::yield_now().await;
        self.at_once.fetch_sub(1, Ordering::SeqCst);
        Ok(ToolOutput::text("launched"))
    }
}

/// An agent, with the model and the tools of its turns.
#[derive(Clone)]
struct Agent {
    service: AgentService,
    model: Arc<dyn ModelClient>,
    tools: Arc<ToolRegistry>,
}

fn agent(provider: ProviderKind, model: &MockLlm, tools: ToolRegistry, limits: Limits) -> Agent {
    let settings = ModelSettings {
        base_url: Some(model.url()),
        api_key: Some(ApiKey::new("sk-test")),
        ..ModelSettings::new(provider)
    };
    let model = tallybook_llm::connect(&settings).unwrap();
    Agent { service: AgentService::new(SystemPrompt::BuiltIn, limits), model, tools: Arc::new(tools) }
}

async fn run(
    model: &MockLlm,
    tools: ToolRegistry,
    limits: Limits,
    cancel: &CancellationToken,
) -> (Result<TurnOutcome, AgentError>, Vec<RecordedEvent>) {
    run_turn(&agent(ProviderKind::Anthropic, model, tools, limits), cancel).await
}

async fn run_turn(agent: &Agent, cancel: &CancellationToken) -> (Result<TurnOutcome, AgentError>, Vec<RecordedEvent>) {
    let mut recorder = MemoryRecorder::default();
    let history = vec![ModelMessage::user_text("Go")];
    let input = TurnInput { history, tools: agent.tools.clone(), ..TurnInput::default() };
    let outcome = agent.service.run(&*agent.model, input, &mut recorder, cancel).await;
    (outcome, recorder.events)
}

/// Returns the reason why a turn is over.
fn reason(outcome: Result<TurnOutcome, AgentError>) -> String {
    let EndReason::Over(word) = outcome.unwrap().reason else { panic!("it waits") };
    word
}

/// Returns the keys of the calls that ended, in the order of their ends, with status and error type.
fn ends(events: &[RecordedEvent]) -> Vec<(i64, ToolCallStatus, Option<&str>)> {
    let ends = events.iter().filter_map(|event| match event {
        RecordedEvent::ToolEnded(key, end) => Some((*key, end.status, end.error_type.as_deref())),
        _ => None,
    });
    ends.collect()
}

#[tokio::test]
async fn only_the_hanging_call_of_a_step_times_out() {
    let model = MockLlm::start().await.unwrap();
    model.reply((0..10).map(|n| tool_call("echo", format!(r#"{{"n":{n}}}"#))).collect::<Vec<_>>());
    model.reply([text("Nine answered.")]);
    let limits = Limits { tool_time: Duration::from_millis(100), ..Limits::default() };
    let tools = ToolRegistry::default().with(Echo).unwrap();
    let (outcome, events) = run(&model, tools, limits, &CancellationToken::new()).await;
    assert_eq!(reason(outcome), "end_turn");
    let ends = ends(&events);
    assert_eq!(ends.len(), 10);
    assert!(ends[..9].iter().all(|end| end.1 == ToolCallStatus::Success), "{ends:?}");
    assert_eq!(ends[9], (1, ToolCallStatus::Error, Some("timeout")));
    // Results are returned in the order of the calls, whatever the order in which they ended.
    let results = &model.requests()[1].body["messages"][2]["content"];
    let results: Vec<bool> =
        results.as_array().unwrap().iter().map(|r| r["content"].to_string().contains("timeout")).collect();
    assert_eq!(results, [&[true][..], &[false; 9]].concat());
    model.assert_calls_paired();
}

#[tokio::test]
async fn at_the_time_limit_running_calls_end_and_the_turn_fails() {
    let model = MockLlm::start().await.unwrap();
    model.reply([text("Waiting."), tool_call("echo", r#"{"n":0}"#)]);
    let limits = Limits { turn_time: Duration::from_secs(2), ..Limits::default() };
    let tools = ToolRegistry::default().with(Echo).unwrap();
    let (outcome, events) = run(&model, tools, limits, &CancellationToken::new()).await;
    assert!(matches!(outcome, Err(AgentError::TurnTimeout { .. })), "{outcome:?}");
    assert_eq!(ends(&events), [(1, ToolCallStatus::Cancelled, Some("cancelled"))]);
}

#[tokio::test]
async fn at_the_time_limit_the_connection_to_the_model_is_closed() {
    let model = MockLlm::start().await.unwrap();
    let gate = model.reply_gated([text("One ")], [text("two.")]);
    let limits = Limits { turn_time: Duration::from_secs(2), ..Limits::default() };
    let (outcome, _) = run(&model, ToolRegistry::default(), limits, &CancellationToken::new()).await;
    assert!(matches!(outcome, Err(AgentError::TurnTimeout { .. })), "{outcome:?}");
    gate.abandoned().await;
}

#[tokio::test]
async fn a_cancelled_turn_sends_no_further_request() {
    let model = MockLlm::start().await.unwrap();
    model.reply([hang()]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let (outcome, events) = run(&model, ToolRegistry::default(), Limits::default(), &cancel).await;
    assert!(matches!(outcome, Err(AgentError::Cancelled)), "{outcome:?}");
    assert_eq!(events, [RecordedEvent::StepAnswered(0, Err("stopped: the turn was stopped".to_owned()))]);
    assert_eq!(model.requests().len(), 0);
}

#[tokio::test]
async fn a_huge_output_is_truncated_for_storage_and_further_for_the_model() {
    let model = MockLlm::start().await.unwrap();
    model.reply([tool_call("flood", r#"{"n":100000000}"#)]);
    model.reply([text("Much.")]);
    let limits = Limits::default();
    let (outcome, events) =
        run(&model, ToolRegistry::default().with(Flood).unwrap(), limits, &CancellationToken::new()).await;
    outcome.unwrap();
    let stored = events.iter().find_map(|event| match event {
        RecordedEvent::ToolEnded(_, end) => end.output.as_deref(),
        _ => None,
    });
    let stored = stored.unwrap();
    assert!(
        stored.len() <= limits.stored_output_bytes + 100 && stored.contains("of 99999999 bytes"),
        "{}",
        stored.len()
    );
    let request = &model.requests()[1].body_text;
    assert!(request.len() <= 2 * limits.model_output_bytes, "{}", request.len());
    model.assert_calls_paired();
}

#[tokio::test]
async fn a_paused_answer_is_continued_a_bounded_number_of_times() {
    let model = MockLlm::start().await.unwrap();
    let pause = |words: &str| Reply::from([text(words)]).stop_reason("pause_turn");
    model.reply(pause("One. "));
    model.reply([text("Two.")]);
    let (outcome, events) = run(&model, ToolRegistry::default(), Limits::default(), &CancellationToken::new()).await;
    assert_eq!(reason(outcome), "end_turn");
    assert!(events.contains(&RecordedEvent::StepAnswered(0, Ok("pause_turn".to_owned()))), "{events:?}");

    let model = MockLlm::start().await.unwrap();
    let limits = Limits { steps: 3, ..Limits::default() };
    for _ in 0..4 {
        model.reply(pause("Again. "));
    }
    let (outcome, _) = run(&model, ToolRegistry::default(), limits, &CancellationToken::new()).await;
    assert_eq!(reason(outcome), "step_limit");
    assert_eq!(model.requests().len(), 4);
}

/// The turn's final event lists every call, and must not exceed the size that clients accept.
#[tokio::test]
async fn a_turn_at_its_step_limit_answers_without_tools() {
    let model = MockLlm::start().await.unwrap();
    let two_calls = || [tool_call("echo", r#"{"n":1}"#), tool_call("echo", r#"{"n":2}"#)];
    model.reply(two_calls());
    model.reply(two_calls());
    model.reply([text("Enough.")]);
    let tools = ToolRegistry::default().with(Echo).unwrap();
    let limits = Limits { calls: 3, ..Limits::default() };
    let (outcome, events) = run(&model, tools, limits, &CancellationToken::new()).await;
    assert_eq!(reason(outcome), "step_limit");
    assert_eq!(ends(&events).len(), 4);
    let choices: Vec<_> = model.requests().iter().map(|request| request.body["tool_choice"]["type"].clone()).collect();
    assert_eq!(choices[2], "none", "{choices:?}");
    assert!(choices[..2].iter().all(|choice| choice != "none"), "{choices:?}");
    model.assert_calls_paired();
}

#[tokio::test]
async fn an_answer_without_text_after_tools_ends_the_turn() {
    let model = MockLlm::start().await.unwrap();
    model.reply([tool_call("echo", r#"{"n":7}"#)]);
    model.reply(Vec::new());
    let tools = ToolRegistry::default().with(Echo).unwrap();
    let (outcome, events) = run(&model, tools, Limits::default(), &CancellationToken::new()).await;
    assert_eq!(reason(outcome), "end_turn");
    assert!(!events.iter().any(|event| matches!(event, RecordedEvent::Text(_))), "{events:?}");
    assert_eq!(model.requests().len(), 2);
}
