//! Faults between a model and its tools, tested through the whole server. The tests check the stored rows, the results
//! that the model receives, and that the turn continues or ends as it should.

use std::time::Duration;

use serde_json::{Value, json};
use tallybook_agent::Limits;
use tallybook_mock_llm::{MockLlm, fault, text, thinking, tool_call, tool_call_with_id};
use tallybook_protocol::{ChatEvent, MessageStatus};
use tallybook_tools::{Tool, ToolError, ToolOutput, builtin};

use crate::support::{Counts, Engine, Hangs, NoArgs, Panics, Provider, TestApp, names, on_every_engine, rows};

/// A tool that returns 100 MB.
struct Floods;

impl Tool for Floods {
    type Args = NoArgs;
    const NAME: &'static str = "floods";
    const DESCRIPTION: &'static str = "Gives back very much.";

    async fn call(&self, _: NoArgs) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("x".repeat(100_000_000)))
    }
}

/// A tool that fails with a long kind of error and a long error message.
struct Laments;

impl Tool for Laments {
    type Args = NoArgs;
    const NAME: &'static str = "laments";
    const DESCRIPTION: &'static str = "Fails at length.";

    async fn call(&self, _: NoArgs) -> Result<ToolOutput, ToolError> {
        Err(ToolError::other(&"悲".repeat(200), "嘆".repeat(200_000)))
    }
}

/// Columns of a stored call, which an admin can read: tool, status, kind of error, error.
type Row = (String, String, Option<String>, Option<String>);

const ROWS: &str = "SELECT tool_name, status, error_type, error FROM tool_calls ORDER BY message_id, position";

/// Returns the tool results in the latest request to the model, in order, as JSON.
fn results_in_prompt(model: &MockLlm) -> Vec<Value> {
    let body = model.requests().pop().unwrap().body;
    let messages = body["messages"].as_array().unwrap();
    let blocks = messages.iter().flat_map(|message| match &message["content"] {
        Value::Array(blocks) => blocks.iter().filter(|block| block["type"] == "tool_result").collect(),
        _ if message["role"] == "tool" => vec![message],
        _ => vec![],
    });
    blocks.map(|result| serde_json::from_str(result["content"].as_str().unwrap()).unwrap()).collect()
}

fn ended_with(events: &[ChatEvent], words: &str) -> bool {
    matches!(events.last(), Some(ChatEvent::MessageEnd(end)) if end.content == words && end.status == MessageStatus::Complete)
}

on_every_engine! {
    /// Each failure becomes a result that the model receives, and a row that gives the reason. The agent loop
    /// continues.
    async fn each_kind_of_failed_call_becomes_a_result(engine: Engine) {
        for provider in Provider::ALL {
            let model = MockLlm::start().await.unwrap();
            let tools = builtin().unwrap().with(Panics).unwrap().with(Hangs).unwrap();
            let limits = Limits { tool_time: Duration::from_millis(200), ..Limits::default() };
            let app = TestApp::builder(&engine)
                .with_model(provider.settings(model.url()))
                .with_tools(tools)
                .with_limits(limits)
                .spawn()
                .await;
            let conversation = app.create_conversation().await;
            model.reply([
                tool_call("no_such_tool", "{}"),
                tool_call("add", r#"{"a":1}"#),
                tool_call("divide", r#"{"a":1,"b":0}"#),
                tool_call("panics", "{}"),
                tool_call("hangs", "{}"),
            ]);
            model.reply([text("All failed.")]);
            let events = app.send(&conversation, "Try these").await.all().await;
            assert!(ended_with(&events, "All failed."), "{events:?}");
            let kinds = ["unknown_tool", "invalid_argument", "invalid_argument", "panic", "timeout"];
            let all = rows!(app, Row, ROWS);
            let rows = &all[all.len() - kinds.len()..];
            for ((row, kind), result) in rows.iter().zip(kinds).zip(results_in_prompt(&model)) {
                assert_eq!((row.1.as_str(), row.2.as_deref()), ("error", Some(kind)));
                assert_eq!((&result["success"], &result["error_type"]), (&Value::Bool(false), &kind.into()));
                assert_eq!(result["error"].as_str(), row.3.as_deref());
            }
            model.assert_calls_paired();
        }
    }

    /// Nine calls end without waiting for the tenth, which times out alone.
    async fn a_hanging_call_does_not_delay_the_other_calls(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let tools = builtin().unwrap().with(Hangs).unwrap();
        let limits = Limits { tool_time: Duration::from_millis(500), ..Limits::default() };
        let settings = Provider::OpenAi.settings(model.url());
        let app = TestApp::builder(&engine).with_model(settings).with_tools(tools).with_limits(limits).spawn().await;
        let conversation = app.create_conversation().await;
        let sums = (1..10).map(|n| tool_call("add", format!(r#"{{"a":{n},"b":1}}"#)));
        // The call that hangs starts last, so that it cannot time out before the others have started.
        model.reply(sums.chain([tool_call("hangs", "{}")]).collect::<Vec<_>>());
        model.reply([text("Nine answered.")]);
        let events = app.send(&conversation, "Ten at once").await.all().await;
        assert!(ended_with(&events, "Nine answered."), "{events:?}");
        let ends: Vec<_> = events.iter().filter_map(|event| match event {
            ChatEvent::ToolCallEnd(end) => Some(end.error.is_some()),
            _ => None,
        }).collect();
        assert_eq!(ends, [&[false; 9][..], &[true]].concat(), "the hanging call ends last");
        let rows = rows!(app, Row, ROWS);
        assert_eq!((rows[9].1.as_str(), rows[9].2.as_deref()), ("error", Some("timeout")));
        assert!(rows.len() == 10 && rows[..9].iter().all(|row| row.1 == "success"), "{rows:?}");
        let results: Vec<_> = results_in_prompt(&model).iter().map(|result| result["result"].clone()).collect();
        assert_eq!(results[7..], ["9".into(), "10".into(), Value::Null], "the model receives the results in the order of its calls");
        model.assert_calls_paired();
    }

    /// The names and ids are stored and sent back safely. A call that appears twice with one id runs once.
    async fn odd_tool_names_and_duplicate_call_ids_are_handled(engine: Engine) {
        for provider in Provider::ALL {
            let model = MockLlm::start().await.unwrap();
            let counts = Counts::default();
            let tools = builtin().unwrap().with(counts.clone()).unwrap();
            let app = TestApp::builder(&engine)
                .with_model(provider.settings(model.url()))
                .with_tools(tools)
                .spawn()
                .await;
            let conversation = app.create_conversation().await;
            let long = "n".repeat(300);
            let (odd, kept) = ("git diff! ☃ <b>\u{0}", "git diff! ☃ <b>\u{fffd}");
            let twice = tool_call_with_id("call_same", "counts", "{}");
            model.reply([
                tool_call(long.clone(), "{}"),
                tool_call(odd, "{}"),
                twice.clone(),
                twice,
                tool_call_with_id("an id / that is \"odd\"".repeat(20), "counts", "{}"),
            ]);
            model.reply([text("Done.")]);
            let events = app.send(&conversation, "Go").await.all().await;
            assert!(ended_with(&events, "Done."), "{events:?}");
            assert_eq!(counts.runs(), 2);
            let all = rows!(app, Row, ROWS);
            let rows: Vec<_> = all[all.len() - 4..].iter().map(|row| (row.0.as_str(), row.1.as_str())).collect();
            assert_eq!(rows, [(&long[..100], "error"), (kept, "error"), ("counts", "success"), ("counts", "success")]);
            // Every later request contains this history, so a provider that rejects it once would reject it every time.
            model.reply([text("Still here.")]);
            let events = app.send(&conversation, "And now?").await.all().await;
            assert!(ended_with(&events, "Still here."), "{events:?}");
            assert_eq!(results_in_prompt(&model).len(), 4);
            model.assert_calls_paired();
        }
    }

    /// The row keeps the beginnings of the kind and the message, which fit the columns of every engine. The turn
    /// continues.
    async fn a_long_tool_error_is_truncated(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let tools = builtin().unwrap().with(Laments).unwrap();
        let app = TestApp::builder(&engine).with_mock(&model).with_tools(tools).spawn().await;
        let conversation = app.create_conversation().await;
        model.reply([tool_call("laments", "{}")]);
        model.reply([text("It failed.")]);
        let events = app.send(&conversation, "Go").await.all().await;
        assert!(ended_with(&events, "It failed."), "{events:?}");
        let rows = rows!(app, Row, ROWS);
        let (kind, error) = (rows[0].2.as_deref().unwrap(), rows[0].3.as_deref().unwrap());
        assert_eq!((rows[0].1.as_str(), kind.chars().count()), ("error", 64));
        assert!(error.starts_with("嘆") && error.len() < 65_536, "{} bytes", error.len());
    }

    /// Outputs are truncated, so memory use is bounded. Each error is clear, and the row keeps the arguments as the
    /// model wrote them.
    async fn huge_outputs_and_hostile_arguments_are_bounded(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let tools = builtin().unwrap().with(Floods).unwrap();
        let app = TestApp::builder(&engine).with_mock(&model).with_tools(tools).spawn().await;
        let conversation = app.create_conversation().await;
        let deep = format!(r#"{{"a":{}{},"b":1}}"#, "[".repeat(100_000), "]".repeat(100_000));
        let parentheses = format!(r#"{{"expression":"{}1{}"}}"#, "(".repeat(500_000), ")".repeat(500_000));
        let huge = r#"{"a":1e999999,"b":1}"#;
        model.reply([
            tool_call("floods", "{}"),
            tool_call("add", deep.clone()),
            tool_call("add", huge),
            tool_call("evaluate", parentheses.clone()),
        ]);
        model.reply([text("Too much.")]);
        let events = app.send(&conversation, "Break it").await.all().await;
        assert!(ended_with(&events, "Too much."), "{:?} {:?}", names(&events), events.last());
        let kept = rows!(app, (String, Option<String>), "SELECT input_text, output FROM tool_calls ORDER BY position");
        let inputs: Vec<_> = kept.iter().map(|(input, _)| input.as_str()).collect();
        assert!(inputs == ["{}", &deep, huge, &parentheses], "the arguments are stored unchanged");
        let output = kept[0].1.as_deref().unwrap();
        assert!(output.len() < 2 * Limits::default().stored_output_bytes && output.contains("of 100000000 bytes"));
        let rows = rows!(app, Row, ROWS);
        for (row, words) in rows[1..].iter().zip(["", "invalid_a", "invalid_expression"]) {
            let error = row.3.as_deref().unwrap();
            assert_eq!(row.1, "error");
            assert!(error.starts_with(words) && error.len() < 500, "{error}");
        }
        let results = results_in_prompt(&model);
        assert!(results[0]["result"].to_string().len() < 2 * Limits::default().model_output_bytes);
        assert!(results[1..].iter().all(|result| result["success"] == false), "{results:?}");
        // The prompt of the next turn contains all of these calls again.
        model.reply([text("Unharmed.")]);
        assert!(ended_with(&app.send(&conversation, "And now?").await.all().await, "Unharmed."));
        model.assert_calls_paired();
    }

    /// The calls fail, and their rows keep the beginning of the arguments, which fits the packets and columns of every
    /// engine. The turn continues.
    async fn invalid_arguments_and_a_missing_name_fail_the_call(engine: Engine) {
        // Each of these characters takes several bytes when it is stored as JSON.
        for (provider, filler) in Provider::ALL.into_iter().zip(["\u{1}", "\""]) {
            let model = MockLlm::start().await.unwrap();
            let app = TestApp::builder(&engine).with_model(provider.settings(model.url())).spawn().await;
            let conversation = app.create_conversation().await;
            let huge = filler.repeat(1_300_000);
            model.reply([tool_call("add", huge.clone()), tool_call("", r#"{"a":1,"b":2}"#)]);
            model.reply([text("Too much.")]);
            let events = app.send(&conversation, "Break it").await.all().await;
            assert!(ended_with(&events, "Too much."), "{:?} {:?}", names(&events), events.last());
            let all = rows!(app, Row, ROWS);
            let rows = all[all.len() - 2..].iter();
            let rows: Vec<_> = rows.map(|row| (row.0.as_str(), row.1.as_str(), row.2.as_deref())).collect();
            assert_eq!(rows, [("add", "error", Some("invalid_argument")), ("", "error", Some("unknown_tool"))]);
            let kept = rows!(app, (String,), "SELECT input_text FROM tool_calls WHERE tool_name = 'add' ORDER BY id DESC");
            let note = "\n… cut here: these are the first 1048576 of 1300000 bytes";
            assert!(kept[0].0 == format!("{}{note}", &huge[..1024 * 1024]), "{} bytes", kept[0].0.len());
            model.reply([text("Unharmed.")]);
            assert!(ended_with(&app.send(&conversation, "And now?").await.all().await, "Unharmed."));
            model.assert_calls_paired();
        }
    }

    /// The model's reasoning is sent back unchanged with the results of its calls, and does not appear in later turns.
    async fn reasoning_is_sent_back_only_within_its_turn(engine: Engine) {
        for provider in Provider::ALL {
            let model = MockLlm::start().await.unwrap();
            let app = TestApp::builder(&engine).with_model(provider.settings(model.url())).spawn().await;
            let conversation = app.create_conversation().await;
            model.reply([thinking("I should add.", "c2ln"), tool_call("add", r#"{"a":1,"b":2}"#)]);
            model.reply([text("Three.")]);
            assert!(ended_with(&app.send(&conversation, "1 + 2?").await.all().await, "Three."));
            let step = model.requests().pop().unwrap().body;
            match provider {
                Provider::Anthropic => {
                    let reasoning = json!({"type": "thinking", "thinking": "I should add.", "signature": "c2ln"});
                    assert_eq!(step["messages"][1]["content"][0], reasoning);
                }
                Provider::OpenAi => assert_eq!(step["messages"][2]["reasoning_content"], "I should add."),
            }
            let shown = app.conversation(&conversation).await;
            let answer = &shown["messages"][1];
            assert_eq!((&answer["content"], &answer["reasoning"][0]["text"]), (&json!("Three."), &json!("I should add.")));
            model.reply([text("You are welcome.")]);
            assert!(ended_with(&app.send(&conversation, "Thanks").await.all().await, "You are welcome."));
            assert!(!model.requests().pop().unwrap().body_text.contains("I should add."));
            model.assert_calls_paired();
        }
    }

    /// If an answer reaches its token limit inside a call, the answer ends there and no tool runs.
    async fn a_call_truncated_at_the_token_limit_does_not_run(engine: Engine) {
        for provider in Provider::ALL {
            let model = MockLlm::start().await.unwrap();
            let app = TestApp::builder(&engine).with_model(provider.settings(model.url())).spawn().await;
            let conversation = app.create_conversation().await;
            model.reply(fault("max_tokens_in_tool_call").unwrap());
            let events = app.send(&conversation, "Add").await.all().await;
            let Some(ChatEvent::MessageEnd(end)) = events.last() else { panic!("{events:?}") };
            assert_eq!((end.stop_reason.as_deref(), end.tool_calls.len()), (Some("max_tokens"), 0));
            assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM tool_calls"), [(0,)]);
        }
    }

    /// The text that was already sent stays, and one error follows.
    async fn an_overloaded_error_after_text_keeps_the_text(engine: Engine) {
        for provider in Provider::ALL {
            let model = MockLlm::start().await.unwrap();
            let app = TestApp::builder(&engine).with_model(provider.settings(model.url())).spawn().await;
            let conversation = app.create_conversation().await;
            model.reply(fault("overloaded_after_text").unwrap());
            let events = app.send(&conversation, "Hello").await.all().await;
            assert!(matches!(events.last(), Some(ChatEvent::Error(error)) if error.code == "model_busy"), "{events:?}");
            let stored = app.conversation(&conversation).await;
            assert_eq!(stored["messages"][1]["content"], "The beginning of an answer, ");
            assert_eq!(model.requests().len(), 1);
        }
    }

    /// The stop reason is unknown, and far longer than its column.
    async fn an_overlong_stop_reason_does_not_fail_the_turn(engine: Engine) {
        for provider in Provider::ALL {
            let model = MockLlm::start().await.unwrap();
            let app = TestApp::builder(&engine).with_model(provider.settings(model.url())).spawn().await;
            let conversation = app.create_conversation().await;
            model.reply(fault("long_stop_reason").unwrap());
            assert!(ended_with(&app.send(&conversation, "Hello").await.all().await, "Well."));
        }
    }

    /// The connection to the model is closed, both while the model writes and before it has sent anything.
    async fn stopping_closes_the_connection_to_the_model(engine: Engine) {
        for provider in Provider::ALL {
            let model = MockLlm::start().await.unwrap();
            let app = TestApp::builder(&engine).with_model(provider.settings(model.url())).spawn().await;
            let conversation = app.create_conversation().await;
            let stop = format!("/api/conversations/{conversation}/stop");

            let writing = model.reply_gated([text("The beginning")], [text(" and the end")]);
            let mut turn = app.send(&conversation, "Go").await;
            turn.until("content_delta").await;
            writing.reached().await;
            app.post(&stop, Value::Null).await;
            writing.abandoned().await;
            let end = turn.until("message_end").await.event;
            assert!(matches!(end, ChatEvent::MessageEnd(end) if end.status == MessageStatus::Stopped));

            let silent = model.reply_late([text("never")]);
            let mut turn = app.send(&conversation, "Again").await;
            silent.reached().await;
            app.post(&stop, Value::Null).await;
            silent.abandoned().await;
            turn.until("message_end").await;
        }
    }

    /// The turn fails with a readable error, its text stays, and the connection to the model is closed.
    async fn a_turn_timeout_keeps_the_text_and_closes_the_connection(engine: Engine) {
        for provider in Provider::ALL {
            let model = MockLlm::start().await.unwrap();
            // Long enough for the beginning to be stored.
            let limits = Limits { turn_time: Duration::from_secs(4), ..Limits::default() };
            let settings = provider.settings(model.url());
            let app = TestApp::builder(&engine)
                .with_model(settings.clone())
                .with_tools(builtin().unwrap())
                .with_limits(limits)
                .spawn()
                .await;
            let conversation = app.create_conversation().await;
            let gate = model.reply_gated([text("The beginning")], [text(" and the end")]);
            let turn = app.send(&conversation, "Go").await;
            gate.abandoned().await;
            let events = turn.all().await;
            let Some(ChatEvent::Error(error)) = events.last() else { panic!("{events:?}") };
            assert!(error.code == "turn_timeout" && error.error.contains("TURN_TIMEOUT_SECS"), "{error:?}");
            let stored = app.conversation(&conversation).await;
            assert_eq!(stored["messages"][1]["content"], "The beginning");
            app.shut_down().await;
            let app = TestApp::builder(&engine).with_model(settings).spawn().await;
            model.reply([text("In time.")]);
            assert!(ended_with(&app.send(&conversation, "Again").await.all().await, "In time."));
            model.assert_calls_paired();
        }
    }
}
