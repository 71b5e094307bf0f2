//! The real program, killed with SIGKILL inside each write of a turn, and started again on the same database.

use std::{collections::BTreeMap, future::pending};

use reqwest::Response;
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, Reply, text, tool_call};
use tallybook_protocol::{ChatEvent, MessageStatus};
use tokio::task::JoinHandle;

use crate::support::{Engine, EventReader, TestApp, Trap, eventually, on_every_engine, rows};

const ANSWER: &str = "Adding. \n\nIt is three and two.";

/// Writes of the turn that [`undisturbed`] scripts, in their order. A kill inside a write comes before that write and
/// after the previous one: nothing of the aborted write is permanent.
const WRITES: [Trap; 12] = [
    Trap { write: "INSERT ON messages", condition: "NEW.role = 'user'" },
    Trap { write: "INSERT ON messages", condition: "NEW.role = 'assistant'" },
    Trap { write: "INSERT ON journal_events", condition: "NEW.event = 'message_start'" },
    Trap { write: "INSERT ON model_calls", condition: "NEW.step = 0" },
    Trap { write: "INSERT ON tool_calls", condition: "NEW.position = 0" },
    Trap { write: "INSERT ON tool_calls", condition: "NEW.position = 1" },
    Trap { write: "UPDATE ON tool_calls", condition: "NEW.position = 0 AND NEW.status <> OLD.status" },
    Trap { write: "UPDATE ON tool_calls", condition: "NEW.position = 1 AND NEW.status <> OLD.status" },
    Trap { write: "INSERT ON model_calls", condition: "NEW.step = 1" },
    Trap { write: "UPDATE ON messages", condition: "NEW.status = 'complete' AND OLD.status <> 'complete'" },
    Trap { write: "INSERT ON journal_events", condition: "NEW.event = 'content_delta' AND NEW.data LIKE '%three%'" },
    Trap { write: "INSERT ON journal_events", condition: "NEW.event = 'message_end'" },
];

/// Writes that resume a turn whose second call was aborted. The writes after these are the same as in any other turn.
const WRITES_OF_GOING_ON: [Trap; 4] = [
    Trap { write: "UPDATE ON messages", condition: "NEW.status = 'streaming' AND NEW.epoch > OLD.epoch" },
    Trap { write: "INSERT ON journal_events", condition: "NEW.event = 'snapshot'" },
    Trap { write: "INSERT ON tool_calls", condition: "NEW.position > 1" },
    Trap { write: "UPDATE ON messages", condition: "NEW.status = 'complete' AND OLD.status <> 'complete'" },
];

/// Returns the model's replies for the two steps of the turn.
fn undisturbed() -> [Reply; 2] {
    let calls = [text("Adding. "), tool_call("add", r#"{"a":1,"b":2}"#), tool_call("multiply", r#"{"a":1,"b":2}"#)];
    [calls.into(), [text("It is three and two.")].into()]
}

/// Starts the program with a model that has the replies for the steps after the first `steps_done`.
async fn launch(engine: &Engine, steps_done: usize) -> (TestApp, MockLlm) {
    let model = MockLlm::start().await.unwrap();
    for reply in undisturbed().into_iter().skip(steps_done) {
        model.reply(reply);
    }
    (TestApp::launch(engine, &model), model)
}

fn question() -> Value {
    json!({"content": "1 + 2, and 1 × 2?", "client_message_id": "one"})
}

/// Sends `body` to `path`, and kills the program inside a write.
async fn kill_inside(write: Trap, engine: &Engine, doomed: TestApp, path: &str, body: &Value) {
    write.lay(engine).await;
    let mut asking = tokio::spawn(doomed.client.post(doomed.url(path)).json(body).send());
    tokio::select! {
        () = write.sprung(engine) => {}
        refusal = refusal(&mut asking) => panic!("{write:?}: {refusal}"),
    }
    doomed.kill();
    // Whether the program has answered depends on the write.
    asking.abort();
    write.clear(engine).await;
}

/// Returns the response or the error if the program does not accept the request. Never returns if it does.
async fn refusal(asking: &mut JoinHandle<reqwest::Result<Response>>) -> String {
    match asking.await.unwrap() {
        Ok(response) if response.status().is_success() => pending().await,
        Ok(response) => format!("{} {}", response.status(), response.text().await.unwrap_or_default()),
        Err(error) => format!("{error:?}"),
    }
}

/// Returns the number of steps of the newest turn that the model answered completely.
async fn steps_done(engine: &Engine) -> usize {
    let done = "SELECT COUNT(*) FROM model_calls WHERE message_id = (SELECT MAX(id) FROM messages)";
    usize::try_from(rows!(engine, (i64,), done)[0].0).unwrap()
}

/// Checks that the stored conversation is consistent, that its turn reaches the answer of an undisturbed turn, and that
/// the conversation accepts the next message.
async fn check_that_it_resumes(write: Trap, engine: &Engine, conversation: &str) {
    let begun = rows!(engine, (i64,), "SELECT COUNT(*) FROM messages WHERE status <> 'complete'")[0].0 > 0;
    let (app, model) = launch(engine, if begun { steps_done(engine).await } else { 0 }).await;
    let left = app.idle_conversation(conversation).await;
    check_what_is_left(&app, &left).await;
    let page = app.get(&format!("/c/{conversation}")).await.text().await.unwrap();
    assert_eq!(page.contains("data-status=\"interrupted\""), begun, "{write:?}");
    assert!(!page.contains("data-status=\"streaming\""), "{write:?}");
    let completed = completed_calls(&left);
    let events = if begun {
        app.continue_turn(conversation).await.all().await
    } else {
        let path = format!("/api/conversations/{conversation}/messages");
        EventReader::new(app.post(&path, question()).await).all().await
    };
    let Some(ChatEvent::MessageEnd(end)) = events.last() else { panic!("{write:?}: {events:?}") };
    assert_eq!((end.status, end.content.as_str()), (MessageStatus::Complete, ANSWER), "{write:?}");
    assert_eq!(begun, matches!(events[0], ChatEvent::Snapshot(_)), "{write:?}: {events:?}");

    let whole = app.idle_conversation(conversation).await;
    check_what_is_left(&app, &whole).await;
    let expected =
        BTreeMap::from([("add".to_owned(), vec!["3".to_owned()]), ("multiply".to_owned(), vec!["2".to_owned()])]);
    assert_eq!(completed_calls(&whole), expected, "{write:?}: each completed once");
    assert!(completed.iter().all(|(tool, outputs)| expected.get(tool) == Some(outputs)), "{write:?}");
    assert_eq!(model.unused_replies(), 0, "{write:?}");

    model.reply([text("As I said.")]);
    let next = app.send(conversation, "And?").await.all().await;
    assert!(matches!(next.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "As I said."), "{write:?}");
    model.assert_calls_paired();
}

on_every_engine! {
    /// If the program is killed at any write, then after the next start every row of the conversation is terminal, and
    /// completed calls are intact. The turn resumes to the answer of an undisturbed turn. No completed call runs again.
    async fn a_turn_resumes_after_a_kill_at_any_write(engine: Engine) {
        for write in WRITES {
            let (doomed, _model) = launch(&engine, 0).await;
            let conversation = doomed.create_conversation().await;
            let path = format!("/api/conversations/{conversation}/messages");
            kill_inside(write, &engine, doomed, &path, &question()).await;
            check_that_it_resumes(write, &engine, &conversation).await;
        }
    }

    /// A second kill, while the program resumes the turn, does not change that.
    async fn a_turn_resumes_after_a_second_kill(engine: Engine) {
        for write in WRITES_OF_GOING_ON {
            let (doomed, _model) = launch(&engine, 0).await;
            let conversation = doomed.create_conversation().await;
            let path = format!("/api/conversations/{conversation}/messages");
            // A program that starts also updates earlier calls, for the tool history, but not their status.
            let condition = "NEW.tool_name = 'multiply' AND NEW.status <> OLD.status";
            let second_call = Trap { write: "UPDATE ON tool_calls", condition };
            kill_inside(second_call, &engine, doomed, &path, &question()).await;
            let (doomed, _model) = launch(&engine, 1).await;
            doomed.idle_conversation(&conversation).await;
            let path = format!("/api/conversations/{conversation}/continue");
            kill_inside(write, &engine, doomed, &path, &json!({})).await;
            check_that_it_resumes(write, &engine, &conversation).await;
        }
    }

    /// Text is stored in batches, every 250 ms.
    async fn a_kill_keeps_the_stored_text(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let doomed = TestApp::launch(&engine, &model);
        let conversation = doomed.create_conversation().await;
        let gate = model.reply_gated([text("It is three. ")], [text("Never sent.")]);
        let _turn = doomed.send(&conversation, "1 + 2?").await;
        gate.reached().await;
        eventually("the text is stored", async || {
            let texts = rows!(engine, (String,), "SELECT data FROM journal_events WHERE event = 'content_delta'");
            texts.iter().any(|row| row.0.contains("It is three. "))
        })
        .await;
        doomed.kill();
        let app = TestApp::spawn(&engine, &model).await;
        let left = app.idle_conversation(&conversation).await;
        assert_eq!(left["messages"][1]["content"], "It is three. ");
        check_what_is_left(&app, &left).await;
        assert_eq!(model.requests().len(), 1, "nothing runs again by itself");
    }
}

/// Checks that no row is open, and that each run of a turn has one end. An incomplete answer must be the beginning of
/// the complete one.
async fn check_what_is_left(app: &TestApp, conversation: &Value) {
    let open = "SELECT (SELECT COUNT(*) FROM messages WHERE status = 'streaming') \
        + (SELECT COUNT(*) FROM tool_calls WHERE status = 'pending')";
    assert_eq!(rows!(app, (i64,), open), [(0,)]);
    let unended = "SELECT message_id, epoch FROM journal_events GROUP BY message_id, epoch \
        HAVING SUM(CASE WHEN event IN ('message_end', 'error') THEN 1 ELSE 0 END) <> 1";
    assert_eq!(rows!(app, (i64, i32), unended), []);
    for message in conversation["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "assistant") {
        let content = message["content"].as_str().unwrap();
        match message["status"].as_str().unwrap() {
            "interrupted" => assert!(ANSWER.starts_with(content) || content == "It is three. ", "{content}"),
            other => assert_eq!(other, "complete"),
        }
        for call in message["tool_calls"].as_array().unwrap() {
            match call["status"].as_str().unwrap() {
                "success" => assert!(call["output"].is_string() && call["error"].is_null(), "{call}"),
                other => {
                    assert_eq!(other, "interrupted");
                    assert_eq!(call["error"], "The server restarted during this call. It may have run.");
                }
            }
        }
    }
}

/// Returns the outputs of the completed calls, by tool.
fn completed_calls(conversation: &Value) -> BTreeMap<String, Vec<String>> {
    let mut completed = BTreeMap::<_, Vec<_>>::new();
    let messages = conversation["messages"].as_array().unwrap();
    for call in messages.iter().flat_map(|message| message["tool_calls"].as_array().unwrap()) {
        if let Some(output) = call["output"].as_str() {
            completed.entry(call["tool_name"].as_str().unwrap().to_owned()).or_default().push(output.to_owned());
        }
    }
    completed
}
