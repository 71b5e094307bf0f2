//! Ends of turns: the database rejects the end, the user stops a turn at once, or a client names an event that was
//! never sent.

use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, cut, hang, text, tool_call};
use tallybook_protocol::{ChatEvent, MessageStatus};

use crate::support::{Engine, EventReader, Pool, TestApp, execute, names, on_every_engine, rows};

/// Makes the database reject every update of `messages` to one of these statuses, as it would reject one that is too
/// large.
pub(crate) async fn refuse_ends(engine: &Engine, states: &str) {
    match &engine.pool().await {
        Pool::MySql(pool) => {
            let sql = format!(
                "CREATE TRIGGER refuse BEFORE UPDATE ON messages FOR EACH ROW \
                 BEGIN IF NEW.status IN ({states}) THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF; END"
            );
            sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(pool).await.unwrap();
        }
        Pool::Sqlite(pool) => {
            let sql = format!(
                "CREATE TRIGGER refuse BEFORE UPDATE ON messages WHEN NEW.status IN ({states}) \
                 BEGIN SELECT RAISE(ABORT, 'refused'); END"
            );
            sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(pool).await.unwrap();
        }
    }
}

on_every_engine! {
    async fn an_end_that_the_database_rejects_becomes_a_fallback(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        refuse_ends(&engine, "'complete', 'interrupted', 'stopped'").await;
        let conversation = app.create_conversation().await;
        model.reply([text("Here it is.")]);
        let events = app.send(&conversation, "Go.").await.all().await;
        let Some(ChatEvent::Error(error)) = events.last() else { panic!("{events:?}") };
        assert_eq!(error.code, "storage_rejected");
        let stored = app.idle_conversation(&conversation).await;
        assert_eq!(stored["messages"][1]["status"], "failed");
        assert_eq!(stored["messages"][1]["error_code"], "storage_rejected");
        assert_eq!(stored["messages"][1]["content"], "Here it is.");
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM model_calls WHERE output_tokens > 0"), [(1,)]);
    }

    /// Turns that cannot be closed at all do not keep the others from being closed, however many there are.
    async fn recovery_closes_turns_although_others_cannot_be_closed(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        for number in 0..103 {
            let conversation = app.create_conversation().await;
            // The first turns, more than one query reads, contain a text that the trigger recognizes.
            model.reply([text(if number < 101 { "never" } else { "gladly" })]);
            app.send(&conversation, "Go.").await.all().await;
        }
        app.shut_down().await;
        // The state in which a process leaves its turns when it dies.
        let abandon = "UPDATE messages SET status = 'streaming', content = CASE WHEN content = 'never' THEN 'never' ELSE '' END, \
                       lease_until = NULL, completed_at = NULL WHERE role = 'assistant'";
        execute!(engine, abandon);
        let claim = "UPDATE conversations SET active_message_id = head_message_id";
        execute!(engine, claim);
        match &engine.pool().await {
            Pool::MySql(pool) => {
                let sql = "CREATE TRIGGER refuse BEFORE UPDATE ON messages FOR EACH ROW \
                     BEGIN IF OLD.content = 'never' AND NEW.status <> 'streaming' THEN \
                     SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF; END";
                sqlx::raw_sql(sql).execute(pool).await.unwrap();
            }
            Pool::Sqlite(pool) => {
                let sql = "CREATE TRIGGER refuse BEFORE UPDATE ON messages \
                     WHEN OLD.content = 'never' AND NEW.status <> 'streaming' BEGIN SELECT RAISE(ABORT, 'refused'); END";
                sqlx::raw_sql(sql).execute(pool).await.unwrap();
            }
        }
        let app = TestApp::spawn(&engine, &model).await;
        crate::support::eventually("the other turns are closed", async || {
            let closed = "SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND status = 'interrupted'";
            rows!(app, (i64,), closed) == [(2,)]
        })
        .await;
    }

    /// If the database rejects the complete end of a turn, recovery stores a fallback end.
    async fn recovery_stores_a_fallback_end_if_the_complete_one_is_rejected(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("Here it is.")]);
        app.send(&conversation, "Go.").await.all().await;
        app.shut_down().await;
        abandon_turns(&engine).await;
        refuse_ends(&engine, "'interrupted'").await;
        let app = TestApp::spawn(&engine, &model).await;
        let stored = app.idle_conversation(&conversation).await;
        let answer = &stored["messages"][1];
        assert_eq!((&answer["status"], &answer["error_code"]), (&json!("failed"), &json!("storage_rejected")));
        assert_eq!(answer["content"], "Here it is.");
    }

    /// Every step is within its limit, but the answer would exceed the limit for answers.
    async fn an_answer_over_the_size_limit_is_ended(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("x".repeat(5_000_000)), tool_call("add", r#"{"a":2,"b":3}"#)]);
        model.reply([text("y".repeat(5_000_000))]);
        let events = app.send(&conversation, "Much.").await.all().await;
        let Some(ChatEvent::Error(error)) = events.last() else { panic!("{:?}", events.last().map(ChatEvent::name)) };
        assert_eq!(error.code, "answer_too_long");
        let stored = app.idle_conversation(&conversation).await;
        assert_eq!(stored["messages"][1]["status"], "failed");
        assert!(stored["messages"][1]["content"].as_str().unwrap().starts_with("xxx"));
    }

    /// The text of the two complete steps stays, with the empty line between them. The text of the third step is
    /// removed.
    async fn an_answer_resumes_after_its_completed_steps(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("One."), tool_call("add", r#"{"a":1,"b":0}"#)]);
        model.reply([text("Two."), tool_call("add", r#"{"a":2,"b":0}"#)]);
        model.reply([text("Thr"), cut()]);
        let events = app.send(&conversation, "Count.").await.all().await;
        assert_eq!(events.last().map(ChatEvent::name), Some("error"));
        assert_eq!(app.conversation(&conversation).await["messages"][1]["content"], "One.\n\nTwo.\n\nThr");

        model.reply([text("Three.")]);
        let events = app.continue_turn(&conversation).await.all().await;
        let [ChatEvent::Snapshot(snapshot), .., ChatEvent::MessageEnd(end)] = &events[..] else { panic!("{events:?}") };
        assert_eq!((snapshot.content.as_str(), end.content.as_str()), ("One.\n\nTwo.", "One.\n\nTwo.\n\nThree."));
    }

    async fn a_stop_right_after_the_first_commit_is_never_lost(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        for _ in 0..20 {
            let conversation = app.create_conversation().await;
            model.reply([hang()]);
            let path = format!("/api/conversations/{conversation}/messages");
            let sending = app.post(&path, json!({"content": "Go."}));
            // Stops the turn once, as soon as it exists.
            let stopping = async {
                let is_running = async || app.conversation(&conversation).await["running"] == true;
                crate::support::eventually("the turn exists", is_running).await;
                app.post(&format!("/api/conversations/{conversation}/stop"), json!({})).await;
            };
            let (response, ()) = tokio::join!(sending, stopping);
            let events = EventReader::new(response).all().await;
            let Some(ChatEvent::MessageEnd(end)) = events.last() else { panic!("{events:?}") };
            assert_eq!(end.status, MessageStatus::Stopped);
        }
    }

    /// The client names an id of this turn that was never sent. So it has not received the end.
    async fn a_client_that_names_an_unsent_event_gets_the_end(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("Here it is.")]);
        let mut turn = app.send(&conversation, "Go.").await;
        let mut last = String::new();
        while let Some(seen) = turn.next().await {
            last = seen.id.unwrap();
        }
        app.idle_conversation(&conversation).await;
        assert_eq!(app.get(&format!("/api/conversations/{conversation}/events?after={last}")).await.status(), 204);
        let (turn, _) = last.rsplit_once('.').unwrap();
        let heard = app.follow(&conversation, Some(&format!("{turn}.99999"))).await.all().await;
        assert_eq!(names(&heard), ["message_end"]);
    }

    /// Browsers reconnect with the header `Last-Event-ID`, which takes precedence over the query parameter.
    async fn the_last_event_id_header_takes_precedence(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("Here it is.")]);
        let mut turn = app.send(&conversation, "Go.").await;
        let mut ids = Vec::new();
        while let Some(seen) = turn.next().await {
            ids.push(seen.id.unwrap());
        }
        app.idle_conversation(&conversation).await;
        let [first, .., last] = &ids[..] else { panic!("{ids:?}") };
        let (turn, _) = last.rsplit_once('.').unwrap();
        let beyond = format!("{turn}.99999");
        let come_back = async |id: &str, after: &str| {
            let path = app.url(&format!("/api/conversations/{conversation}/events?after={after}"));
            app.client.get(path).header("Last-Event-ID", id).send().await.unwrap()
        };
        for id in [first, &beyond] {
            let heard = EventReader::new(come_back(id, last).await).all().await;
            assert_eq!(names(&heard), ["message_end"], "after {id}");
        }
        assert_eq!(come_back(last, first).await.status(), 204);
    }

    async fn an_empty_line_separates_the_texts_of_two_steps(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("Let me see."), tool_call("add", r#"{"a":2,"b":3}"#)]);
        model.reply([tool_call("add", r#"{"a":5,"b":0}"#)]);
        model.reply([text("Done with five.")]);
        let events = app.send(&conversation, "2 + 3").await.all().await;
        let Some(ChatEvent::MessageEnd(end)) = events.last() else { panic!("{events:?}") };
        assert_eq!(end.content, "Let me see.\n\nDone with five.");
        let offsets: Vec<i64> = end.tool_calls.iter().map(|call| call.offset).collect();
        assert_eq!(offsets, [11, 11]);
        assert_eq!(app.conversation(&conversation).await["messages"][1]["content"], end.content);

        // The prompt contains the model's text without the empty line.
        model.reply([text("Yes.")]);
        app.send(&conversation, "Sure?").await.all().await;
        let prompt = model.requests().pop().unwrap().body_text;
        assert!(prompt.contains(r#""text":"Done with five.""#) && !prompt.contains(r"see.\n"), "{prompt}");
    }

    async fn a_message_may_be_a_list_of_parts(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let path = format!("/api/conversations/{conversation}/messages");
        let part = |text: &str| json!({"type": "text", "text": text});
        model.reply([text("3")]);
        let sent = app.post(&path, json!({"parts": [part("Look:"), part("1 + 2")]})).await;
        EventReader::new(sent).all().await;
        let messages = app.conversation(&conversation).await["messages"].take();
        assert_eq!(messages[0]["content"], "Look:\n\n1 + 2");

        // The next turn and a regenerated answer send the parts to the model as the first turn did.
        model.reply([text("Yes.")]);
        app.send(&conversation, "Sure?").await.all().await;
        model.reply([text("Three.")]);
        let again = app.post(&format!("{path}/{}/regenerate", messages[1]["id"]), Value::Null).await;
        EventReader::new(again).all().await;
        let requests = model.requests();
        assert_eq!(requests.len(), 3);
        for request in requests {
            let prompt = request.body["messages"][0]["content"].as_array().unwrap();
            let texts: Vec<_> = prompt.iter().map(|part| part["text"].as_str().unwrap()).collect();
            assert_eq!(texts, ["Look:", "1 + 2"]);
        }
        for (body, status) in [
            (json!({"parts": [part("a")], "content": "b"}), 422),
            (json!({"parts": [part(" ")]}), 422),
            (json!({"parts": vec![part("a"); 101]}), 422),
            (json!({"parts": [{"type": "image", "url": "x"}]}), 400),
            (json!({}), 422),
            // A field that is `null` counts as missing.
            (json!({"content": null, "parts": null, "mode": null}), 422),
        ] {
            assert_eq!(app.post(&path, body.clone()).await.status(), status, "{body}");
        }
    }
}

/// The answer is larger than one statement may be, at the turn's end and when recovery closes the turn after a crash.
/// MySQL closes the connection on such a statement, so the server must not try it. Only the proxy reports the small
/// limit: the real setting applies to the whole database server, and other tests run there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_larger_than_one_statement_becomes_a_fallback() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let (narrow, proxy) = engine.clone().behind_proxy().await;
        proxy.report_statement_limit(600_000);
        let app = TestApp::spawn(&narrow, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("x".repeat(700_000))]);
        let events = app.send(&conversation, "Much.").await.all().await;
        let Some(ChatEvent::Error(error)) = events.last() else { panic!("{:?}", events.last().map(ChatEvent::name)) };
        assert_eq!(error.code, "storage_rejected");
        assert_fallback_end(&app, &conversation).await;
        app.shut_down().await;

        execute!(engine, "UPDATE messages SET content = '' WHERE role = 'assistant'");
        abandon_turns(&engine).await;
        let app = TestApp::spawn(&narrow, &model).await;
        assert_fallback_end(&app, &conversation).await;
        app.shut_down().await;

        // If the database accepts the statement, the answer is complete.
        abandon_turns(&engine).await;
        let app = TestApp::spawn(&engine, &model).await;
        let closed = app.idle_conversation(&conversation).await;
        assert_eq!(closed["messages"][1]["status"], "interrupted");
        assert_eq!(closed["messages"][1]["content"].as_str().map(str::len), Some(700_000));
    }
}

async fn assert_fallback_end(app: &TestApp, conversation: &str) {
    let stored = app.idle_conversation(conversation).await;
    let answer = &stored["messages"][1];
    assert_eq!((&answer["status"], &answer["error_code"]), (&json!("failed"), &json!("storage_rejected")));
    assert_eq!(answer["content"].as_str().map(str::len), Some(64 * 1024));
}

/// Leaves every turn as a process does that dies before it can write the end.
async fn abandon_turns(engine: &Engine) {
    let abandon =
        "UPDATE messages SET status = 'streaming', lease_until = NULL, completed_at = NULL WHERE role = 'assistant'";
    execute!(engine, abandon);
    execute!(engine, "UPDATE conversations SET active_message_id = head_message_id");
}
