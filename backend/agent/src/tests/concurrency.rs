//! Tests of the limits on concurrent calls, and of calls that wait for a slot.

use tokio::sync::watch;

use super::{
    Agent, AgentError, CancellationToken, Deserialize, Duration, JsonSchema, Limits, MockLlm, ProviderKind,
    RecordedEvent, Tool, ToolCallStatus, ToolError, ToolOutput, ToolRegistry, agent, ends, reason, run_turn, text,
    tool_call,
};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// A tool that runs until it is released. Counts its concurrent calls.
#[derive(Clone)]
struct Waits {
    running: watch::Sender<usize>,
    most: watch::Sender<usize>,
    let_go: watch::Sender<bool>,
}

impl Waits {
    fn new() -> Self {
        Self { running: watch::Sender::new(0), most: watch::Sender::new(0), let_go: watch::Sender::new(false) }
    }

    async fn running_reached(&self, count: usize) {
        let mut running = self.running.subscribe();
        let reached = tokio::time::timeout(Duration::from_secs(20), running.wait_for(|running| *running >= count));
        assert!(reached.await.is_ok(), "{count} calls never ran at the same time");
    }

    fn registry(&self) -> ToolRegistry {
        ToolRegistry::default().with(self.clone()).unwrap()
    }
}

impl Tool for Waits {
    type Args = Nothing;
    const NAME: &'static str = "waits";
    const DESCRIPTION: &'static str = "Waits.";

    async fn call(&self, _: Nothing) -> Result<ToolOutput, ToolError> {
        self.running.send_modify(|running| *running += 1);
        self.most.send_modify(|most| *most = (*most).max(*self.running.borrow()));
        let _ = self.let_go.subscribe().wait_for(|let_go| *let_go).await;
        self.running.send_modify(|running| *running -= 1);
        Ok(ToolOutput::text("waited"))
    }
}

fn calls(model: &MockLlm, count: usize) {
    model.reply(vec![tool_call("waits", "{}"); count]);
}

fn started(events: &[RecordedEvent]) -> usize {
    events.iter().filter(|event| matches!(event, RecordedEvent::ToolStarted(..))).count()
}

#[tokio::test]
async fn a_thousand_calls_run_sixteen_at_a_time_and_waiting_calls_have_no_row() {
    let model = MockLlm::start().await.unwrap();
    calls(&model, 1000);
    model.reply([text("Done.")]);
    let tool = Waits::new();
    let agent = agent(ProviderKind::Anthropic, &model, tool.registry(), Limits::default());
    let cancel = CancellationToken::new();
    let let_go = async {
        tool.running_reached(16).await;
        tool.let_go.send_replace(true);
    };
    let ((outcome, events), ()) = tokio::join!(run_turn(&agent, &cancel), let_go);
    assert_eq!(reason(outcome), "end_turn");
    assert_eq!(*tool.most.borrow(), 16);
    let mut open = 0_usize;
    for event in &events {
        match event {
            RecordedEvent::ToolStarted(..) => open += 1,
            RecordedEvent::ToolEnded(..) => open -= 1,
            _ => {}
        }
        assert!(open <= 16, "{open} rows are open");
    }
    assert!(ends(&events).len() == 1000 && ends(&events).iter().all(|end| end.1 == ToolCallStatus::Success));
    model.assert_calls_paired();
}

#[tokio::test]
async fn all_turns_of_a_process_share_the_slots() {
    let model = MockLlm::start().await.unwrap();
    calls(&model, 10);
    calls(&model, 10);
    for _ in 0..2 {
        model.reply([text("Done.")]);
    }
    let tool = Waits::new();
    let limits = Limits { concurrent_calls: 3, ..Limits::default() };
    let agent = agent(ProviderKind::Anthropic, &model, tool.registry(), limits);
    let turn = |agent: Agent| async move { run_turn(&agent, &CancellationToken::new()).await };
    let let_go = async {
        tool.running_reached(3).await;
        tool.let_go.send_replace(true);
    };
    let (one, two, ()) = tokio::join!(turn(agent.clone()), turn(agent.clone()), let_go);
    for (outcome, events) in [one, two] {
        outcome.unwrap();
        assert_eq!(started(&events), 10);
    }
    assert_eq!(*tool.most.borrow(), 3);
}

#[tokio::test]
async fn a_stop_ends_waiting_calls() {
    let model = MockLlm::start().await.unwrap();
    let tool = Waits::new();
    let limits = Limits { concurrent_calls: 2, ..Limits::default() };
    let agent = agent(ProviderKind::Anthropic, &model, tool.registry(), limits);
    calls(&model, 4);
    let cancel = CancellationToken::new();
    let stop = async {
        tool.running_reached(2).await;
        cancel.cancel();
    };
    let ((outcome, events), ()) = tokio::join!(run_turn(&agent, &cancel), stop);
    assert!(matches!(outcome, Err(AgentError::Cancelled)), "{outcome:?}");
    // The calls that ran are recorded, the others are not.
    assert_eq!((started(&events), ends(&events).len()), (2, 2));
    assert!(ends(&events).iter().all(|end| end.1 == ToolCallStatus::Cancelled));

    // The slots are free again.
    calls(&model, 2);
    model.reply([text("Done.")]);
    tool.let_go.send_replace(true);
    let (outcome, _) = run_turn(&agent, &CancellationToken::new()).await;
    assert_eq!(reason(outcome), "end_turn");
}

#[tokio::test]
async fn the_turns_timeout_ends_waiting_calls() {
    let model = MockLlm::start().await.unwrap();
    calls(&model, 3);
    let limits = Limits { concurrent_calls_per_turn: 1, turn_time: Duration::from_secs(2), ..Limits::default() };
    let agent = agent(ProviderKind::Anthropic, &model, Waits::new().registry(), limits);
    let (outcome, events) = run_turn(&agent, &CancellationToken::new()).await;
    assert!(matches!(outcome, Err(AgentError::TurnTimeout { .. })), "{outcome:?}");
    assert_eq!(started(&events), 1);
    assert_eq!(ends(&events), [(1, ToolCallStatus::Cancelled, Some("cancelled"))]);
}
