//! Complete turns: the events that a client receives, the stored rows, and the requests to the model.

use std::collections::HashSet;

use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call, tool_call_with_id};
use tallybook_protocol::{ChatEvent, Conversation, MessageStatus, ToolCallStatus};

use crate::support::{Engine, EventReader, Provider, TestApp, names, on_every_engine, rows};

on_every_engine! {
    /// Two calls in one step, with both providers: the sequence of events, the rows, the paired requests.
    async fn a_turn_with_two_calls_is_streamed_and_stored_completely(engine: Engine) {
        for provider in Provider::ALL {
            two_tool_calls(&engine, provider).await;
        }
    }

    /// The prompt of a later turn contains the calls and results of the earlier one.
    async fn the_next_prompt_contains_the_calls(engine: Engine) {
        for provider in Provider::ALL {
            let model = MockLlm::start().await.unwrap();
            let app = TestApp::builder(&engine).with_model(provider.settings(model.url())).spawn().await;
            let conversation = app.create_conversation().await;
            model.reply([tool_call("add", r#"{"a":12.5,"b":7.25}"#)]);
            model.reply([tool_call("multiply", r#"{"a":19.75,"b":4}"#)]);
            model.reply([text("It is 79.")]);
            let events = app.send(&conversation, "What is (12.5 + 7.25) × 4?").await.all().await;
            let call = ["tool_call_start", "tool_call_end"];
            assert_eq!(names(&events), [&["message_start"][..], &call, &call, &["content_delta", "message_end"]].concat());
            model.reply([text("You asked for 79.")]);
            app.send(&conversation, "What did I ask?").await.all().await;
            model.assert_calls_paired();
            let last = model.requests().pop().unwrap().body_text;
            for part in ["19.75", "12.5", "It is 79.", "multiply"] {
                assert!(last.contains(part), "{provider:?}: the prompt lacks {part}: {last}");
            }
        }
    }

    /// Checks what a turn with one tool call costs the database, with and without an ID of the client.
    async fn a_tool_turn_takes_few_statements_and_transactions(engine: Engine) {
        const MOST: (u64, u64) = (18, 4);
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::builder(&engine).with_mock(&model).spawn().await;
        let counts = async || {
            let metrics = app.get("/metrics").await.text().await.unwrap();
            let count = |name: &str| {
                let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
                value.unwrap().parse::<u64>().unwrap()
            };
            (count("tallybook_database_statements_total"), count("tallybook_database_transactions_total"))
        };
        for client_id in [None, Some("sent-once")] {
            let mut fewest = (u64::MAX, u64::MAX);
            // Tasks in the background also run statements, so that only a turn beside none of them counts.
            for _ in 0..60 {
                let conversation = app.create_conversation().await;
                model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
                model.reply([text("It is 3.")]);
                let before = counts().await;
                let body = json!({"content": "1 + 2?", "client_message_id": client_id});
                let sent = app.post(&format!("/api/conversations/{conversation}/messages"), body).await;
                let events = EventReader::new(sent).all().await;
                assert!(names(&events).contains(&"tool_call_end"), "{events:?}");
                let after = counts().await;
                fewest = fewest.min((after.0 - before.0, after.1 - before.1));
                if fewest <= MOST {
                    break;
                }
            }
            assert!(fewest <= MOST, "{client_id:?}: {fewest:?} statements and transactions");
        }
    }

    /// Arguments are stored exactly as the model wrote them. If they are invalid, the call gets an error result.
    async fn odd_arguments_are_stored_exactly(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::builder(&engine).with_model(Provider::OpenAi.settings(model.url())).spawn().await;
        let conversation = app.create_conversation().await;
        let long = "7".repeat(60);
        let exact = format!(r#"{{"b": 1.10, "a": {long}}}"#);
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        let long_name = "n".repeat(300);
        // Inputs that at least one of the engines does not accept as JSON.
        let odd = [
            r#"{"a":1e999999,"b":1}"#.to_owned(),
            format!(r#"{{"a":{},"b":1}}"#, "9".repeat(400)),
            format!("{}{}", "[".repeat(50), "]".repeat(50)),
            r#"{"a":"\ud800","b":1}"#.to_owned(),
        ];
        let mut calls = vec![
            tool_call("multiply", exact.clone()),
            tool_call("add", "{\"a\": 1, "),
            tool_call("add", deep.clone()),
            tool_call(long_name.clone(), "{}"),
            tool_call("divide", r#"{"a":1,"b":0}"#),
        ];
        calls.extend(odd.iter().map(|input| tool_call("add", input.clone())));
        model.reply(calls);
        model.reply([text("Done.")]);
        let events = app.send(&conversation, "Try all of these").await.all().await;
        assert!(matches!(events.last(), Some(ChatEvent::MessageEnd(end)) if end.status == MessageStatus::Complete));
        let rows = rows!(app, (String, String, String, Option<String>), "SELECT tool_name, input_text, status, error FROM tool_calls ORDER BY position");
        let inputs: Vec<&str> = rows.iter().map(|row| row.1.as_str()).collect();
        assert_eq!(inputs[..5], [&exact, "{\"a\": 1, ", &deep, "{}", r#"{"a":1,"b":0}"#]);
        assert_eq!(inputs[5..], odd);
        let statuses: Vec<&str> = rows.iter().map(|row| row.2.as_str()).collect();
        assert_eq!(statuses, ["success", "error", "error", "error", "error", "error", "success", "error", "error"]);
        assert_eq!(rows[3].0, long_name[..100]);
        assert_eq!(rows[4].3.as_deref(), Some("invalid_b: division by zero"));
        // Parsed as the web client parses it. A parser that makes every number a float would fail.
        let shown: Conversation = app.get(&format!("/api/conversations/{conversation}")).await.json().await.unwrap();
        let shown: Vec<&str> = shown.messages[1].tool_calls[5..].iter().map(|call| call.input.as_str()).collect();
        assert_eq!(shown, odd);
        model.assert_calls_paired();
    }

    /// If a model writes the same call twice under one id, the call runs once.
    async fn a_duplicate_call_id_runs_once(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let call = tool_call_with_id("toolu_same", "add", r#"{"a":1,"b":2}"#);
        model.reply([call.clone(), call]);
        model.reply([text("3")]);
        let events = app.send(&conversation, "1 + 2, twice").await.all().await;
        assert_eq!(events.iter().filter(|event| event.name() == "tool_call_start").count(), 1);
        model.assert_calls_paired();
    }

    /// If a model never stops calling tools, its last request forbids tool calls, and the turn ends.
    async fn endless_tool_calls_end_at_the_step_limit(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        for _ in 0..10 {
            model.reply([tool_call("add", r#"{"a":1,"b":1}"#)]);
        }
        model.reply([text("I give up.")]);
        let events = app.send(&conversation, "Loop").await.all().await;
        let Some(ChatEvent::MessageEnd(end)) = events.last() else { panic!("{:?}", names(&events)) };
        assert_eq!(end.stop_reason.as_deref(), Some("step_limit"));
        assert_eq!(end.content, "I give up.");
        assert_eq!(end.tool_calls.len(), 10);
        let last = model.requests().pop().unwrap().body;
        assert_eq!(last["tool_choice"], json!({"type": "none"}));
        assert!(!last["tools"].as_array().unwrap().is_empty());
        let open = rows!(app, (i64,), "SELECT COUNT(*) FROM tool_calls WHERE status = 'pending'");
        assert_eq!(open, [(0,)]);
        model.assert_calls_paired();
    }
}

/// Columns of the tool history: tool, status, input, output, kind of error, status of the turn, provider, model.
type History = (String, String, String, Option<String>, Option<String>, String, String, Option<String>);

/// Columns of a model call: step, stop reason, output tokens, duration in milliseconds.
type Step = (i32, Option<String>, i64, i64);

fn started((place, event): (usize, &ChatEvent)) -> Option<(i64, usize)> {
    let ChatEvent::ToolCallStart(start) = event else { return None };
    Some((start.tool_call_id.0, place))
}

fn ended((place, event): (usize, &ChatEvent)) -> Option<(i64, usize)> {
    let ChatEvent::ToolCallEnd(end) = event else { return None };
    Some((end.tool_call_id.0, place))
}

/// Returns the error type of a call that ended; empty if the call succeeded.
fn error_type(event: &ChatEvent) -> Option<&str> {
    let ChatEvent::ToolCallEnd(end) = event else { return None };
    Some(end.error_type.as_deref().unwrap_or_default())
}

async fn two_tool_calls(engine: &Engine, provider: Provider) {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::builder(engine).with_model(provider.settings(model.url())).spawn().await;
    let conversation = app.create_conversation().await;
    model.reply([
        text("Let me work that out. "),
        tool_call("add", r#"{"a":0.1,"b":0.2}"#),
        tool_call("divide", r#"{"a":1,"b":0}"#),
    ]);
    model.reply([text("The sum is 0.3; one cannot divide by zero. 数")]);

    let mut reader = app.send(&conversation, "0.1 + 0.2, and 1 / 0?").await;
    let (mut events, mut last) = (Vec::new(), -1);
    while let Some(seen) = reader.next().await {
        // Ids have the form `message.epoch.number`. The numbers increase from 0 on.
        let number: i64 = seen.id.unwrap().rsplit('.').next().unwrap().parse().unwrap();
        assert!(if events.is_empty() { number == 0 } else { number > last }, "{number} comes after {last}");
        last = number;
        events.push(seen.event);
    }

    let seen = names(&events);
    // The two calls run in parallel, so only their ends may change places, with each other or with the second start.
    assert_eq!(seen[..3], ["message_start", "content_delta", "tool_call_start"]);
    assert_eq!(seen[6..], ["content_delta", "message_end"]);
    let starts: Vec<_> = events.iter().enumerate().filter_map(started).collect();
    let ends: Vec<_> = events.iter().enumerate().filter_map(ended).collect();
    assert_eq!((starts.len(), ends.len()), (2, 2));
    for (key, began) in starts {
        assert!(ends.iter().any(|(ended_key, end)| *ended_key == key && *end > began), "{seen:?}");
    }

    let ChatEvent::MessageStart(start) = &events[0] else { panic!("{events:?}") };
    assert_eq!(start.conversation_id.to_string(), conversation);
    assert_eq!(start.content, "0.1 + 0.2, and 1 / 0?");
    let Some(ChatEvent::MessageEnd(end)) = events.last() else { panic!("{events:?}") };
    assert_eq!(end.assistant_message_id, start.assistant_message_id);
    assert_eq!(end.content, "Let me work that out. \n\nThe sum is 0.3; one cannot divide by zero. 数");
    assert_eq!((end.status, end.stop_reason.as_deref()), (MessageStatus::Complete, Some("end_turn")));
    assert!(end.usage.output_tokens > 0);

    // The deltas join to the content, each at its own offset.
    let mut text = String::new();
    for event in &events {
        match event {
            ChatEvent::ContentDelta(delta) => {
                assert_eq!(usize::try_from(delta.offset).unwrap(), text.len());
                text.push_str(&delta.delta);
            }
            ChatEvent::ToolCallStart(call) => assert_eq!(usize::try_from(call.offset).unwrap(), text.len()),
            _ => {}
        }
    }
    assert_eq!(text, end.content);

    let calls: Vec<_> = end
        .tool_calls
        .iter()
        .map(|call| {
            (call.tool_name.as_str(), call.input.as_str(), call.status, call.output.as_deref(), call.error.as_deref())
        })
        .collect();
    let error_types: HashSet<&str> = events.iter().filter_map(error_type).collect();
    assert_eq!(error_types, HashSet::from(["", "invalid_argument"]));
    let failed = Some("invalid_b: division by zero");
    assert_eq!(
        calls,
        [
            ("add", r#"{"a":0.1,"b":0.2}"#, ToolCallStatus::Success, Some("0.3"), None),
            ("divide", r#"{"a":1,"b":0}"#, ToolCallStatus::Error, None, failed),
        ]
    );

    // The rows have the same data as the events.
    let stored = app.conversation(&conversation).await;
    assert_eq!(stored["active_message_id"], Value::Null);
    assert_eq!(stored["messages"][0]["id"], start.user_message_id.0);
    assert_eq!(stored["messages"][1]["content"], end.content);
    assert_eq!(stored["messages"][1]["usage"], serde_json::to_value(end.usage).unwrap());
    assert_eq!(stored["messages"][0].get("usage"), None, "a question costs nothing");
    let stored_calls = serde_json::to_value(&end.tool_calls).unwrap();
    for (stored, reported) in
        stored["messages"][1]["tool_calls"].as_array().unwrap().iter().zip(stored_calls.as_array().unwrap())
    {
        for field in ["tool_call_id", "tool_name", "input", "output", "error", "status", "duration_ms", "offset"] {
            assert_eq!(stored[field], reported[field], "{field}");
        }
    }
    let history = rows!(
        app,
        History,
        "SELECT tool_name, status, input, output, error_type, turn_status, provider, model FROM tool_history ORDER BY id DESC"
    );
    assert_eq!(history[0].0, "divide");
    assert_eq!((history[0].4.as_deref(), history[0].5.as_str()), (Some("invalid_argument"), "complete"));
    assert_eq!((history[1].1.as_str(), history[1].3.as_deref()), ("success", Some("0.3")));
    assert_eq!(history[1].7.as_deref(), Some("test-model"));
    let steps = rows!(
        app,
        Step,
        "SELECT step, stop_reason, output_tokens, duration_ms FROM model_calls ORDER BY id DESC LIMIT 2"
    );
    let reasons: Vec<_> = steps.iter().map(|step| (step.0, step.1.as_deref())).collect();
    assert_eq!(reasons, [(1, Some("end_turn")), (0, Some("tool_use"))]);
    assert_eq!(steps.iter().map(|step| step.2).sum::<i64>(), end.usage.output_tokens);

    assert_eq!(model.requests().len(), 2);
    model.assert_calls_paired();
}
