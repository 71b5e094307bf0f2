//! Tests of models and tools that exceed limits: each is a failed call, and the turn continues.

use tallybook_tools::MAX_INPUT_BYTES;

use super::{
    CancellationToken, Flood, Limits, MockLlm, Number, ProviderKind, RecordedEvent, Tool, ToolCallStatus, ToolError,
    ToolOutput, ToolRegistry, agent, ends, reason, run, run_turn, text, tool_call,
};

/// A tool that fails with an error whose length its argument sets.
struct Rants;

impl Tool for Rants {
    type Args = Number;
    const NAME: &'static str = "rants";
    const DESCRIPTION: &'static str = "Fails.";

    async fn call(&self, Number { n }: Number) -> Result<ToolOutput, ToolError> {
        Err(ToolError::other(&"kind\u{0}数".repeat(n), "\u{1}no".repeat(n)))
    }
}

#[tokio::test]
async fn a_huge_error_fits_its_columns() {
    let model = MockLlm::start().await.unwrap();
    model.reply([tool_call("rants", r#"{"n":1000000}"#)]);
    model.reply([text("It failed.")]);
    let tools = ToolRegistry::default().with(Rants).unwrap();
    let (outcome, events) = run(&model, tools, Limits::default(), &CancellationToken::new()).await;
    assert_eq!(reason(outcome), "end_turn");
    let end = events.iter().find_map(|event| match event {
        RecordedEvent::ToolEnded(_, end) => Some(end),
        _ => None,
    });
    let end = end.unwrap();
    let (error, error_type) = (end.error.as_deref().unwrap(), end.error_type.as_deref().unwrap());
    assert_eq!(error_type, "kind_数".repeat(11).chars().take(64).collect::<String>());
    assert!(error.len() < 65_000 && error.starts_with(" no no no") && error.ends_with("of 3000000 bytes"), "{error}");
    assert!(model.requests()[1].body_text.len() < 100_000);
    model.assert_calls_paired();
}

#[tokio::test]
async fn arguments_over_the_limit_fail_the_call() {
    for provider in [ProviderKind::Anthropic, ProviderKind::OpenAi] {
        let model = MockLlm::start().await.unwrap();
        let input = format!(r#"{{"n":1,"x":"{}"}}"#, "数".repeat(MAX_INPUT_BYTES));
        model.reply([tool_call("flood", input.clone()), tool_call("n".repeat(100_000), "{}")]);
        model.reply([text("It was too long.")]);
        let tools = ToolRegistry::default().with(Flood).unwrap();
        let agent = agent(provider, &model, tools, Limits::default());
        let (outcome, events) = run_turn(&agent, &CancellationToken::new()).await;
        assert_eq!(reason(outcome), "end_turn");
        let started = events.iter().filter_map(|event| match event {
            RecordedEvent::ToolStarted(_, name, input) => Some((name.as_str(), input.as_str())),
            _ => None,
        });
        let started: Vec<_> = started.collect();
        let (name, kept) = started[0];
        assert_eq!((name, started[1]), ("flood", ("n".repeat(100).as_str(), "{}")));
        let note = format!(" of {} bytes", input.len());
        let (beginning, cut) = kept.split_once('\n').unwrap();
        assert!(input.starts_with(beginning) && cut.ends_with(&note), "{cut}");
        assert!((MAX_INPUT_BYTES - 2..=MAX_INPUT_BYTES).contains(&beginning.len()), "{}", beginning.len());
        let expected =
            [(1, ToolCallStatus::Error, Some("invalid_argument")), (2, ToolCallStatus::Error, Some("unknown_tool"))];
        assert_eq!(ends(&events), expected);
        let request = &model.requests()[1].body_text;
        assert!(
            request.contains("invalid_arguments: longer than 1048576 bytes") && request.len() < 20_000,
            "{}",
            request.len()
        );
        model.assert_calls_paired();
    }
}

#[tokio::test]
async fn a_call_without_a_name_fails() {
    for provider in [ProviderKind::Anthropic, ProviderKind::OpenAi] {
        let model = MockLlm::start().await.unwrap();
        model.reply([tool_call("", r#"{"n":1}"#)]);
        model.reply([text("I forgot the name.")]);
        let tools = ToolRegistry::default().with(Flood).unwrap();
        let agent = agent(provider, &model, tools, Limits::default());
        let (outcome, events) = run_turn(&agent, &CancellationToken::new()).await;
        assert_eq!(reason(outcome), "end_turn");
        assert_eq!(ends(&events), [(1, ToolCallStatus::Error, Some("unknown_tool"))]);
        assert!(model.requests()[1].body_text.contains("there is no tool"));
        model.assert_calls_paired();
    }
}

#[tokio::test]
async fn many_results_share_the_output_limit_of_a_step() {
    let model = MockLlm::start().await.unwrap();
    model.reply(vec![tool_call("flood", r#"{"n":65536}"#); 100]);
    model.reply([text("Much.")]);
    let tools = ToolRegistry::default().with(Flood).unwrap();
    let limits = Limits::default();
    let (outcome, _) = run(&model, tools, limits, &CancellationToken::new()).await;
    outcome.unwrap();
    let request = &model.requests()[1].body_text;
    assert!(request.len() < limits.step_output_bytes + 100_000, "{}", request.len());
    assert_eq!(request.matches("these are the first 5241 of 65535 bytes").count(), 100);
    model.assert_calls_paired();
}
