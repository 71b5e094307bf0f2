//! Several clients of one turn, late clients, a second sender, and stops: a turn belongs to the server, not to a
//! connection.

use std::{io::ErrorKind, time::Duration};

use reqwest::StatusCode;
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, hang, text, tool_call};
use tallybook_protocol::{ChatEvent, FeedKind, MessageStatus};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::support::{Engine, EventReader, FeedReader, TIMEOUT, TestApp, eventually, names, on_every_engine};

on_every_engine! {
    /// A second message during a turn is refused with a readable error, and the first turn continues.
    async fn a_second_message_during_a_turn_is_refused(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let gate = model.reply_gated([text("First ")], [text("answer.")]);
        let mut first = app.send(&conversation, "One").await;
        first.until("content_delta").await;
        let second = app.post(&format!("/api/conversations/{conversation}/messages"), json!({"content": "Two"})).await;
        assert_eq!(second.status(), StatusCode::CONFLICT);
        assert_eq!(second.headers()["content-type"], "application/problem+json");
        let problem: Value = second.json().await.unwrap();
        assert_eq!(problem["type"], "/problems/turn-running");
        gate.open();
        let end = first.until("message_end").await;
        assert!(matches!(end.event, ChatEvent::MessageEnd(end) if end.content == "First answer."));
        assert_eq!(app.conversation(&conversation).await["messages"].as_array().unwrap().len(), 2);
    }

    /// Two requests with one `client_message_id` make one message and one turn. The second sender subscribes to that
    /// turn.
    async fn a_message_sent_twice_is_stored_once(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let path = format!("/api/conversations/{conversation}/messages");
        let body = json!({"content": "Once", "client_message_id": "0b6b8c1e-0001"});
        let gate = model.reply_gated([text("Only ")], [text("once.")]);
        let first = EventReader::new(app.post(&path, body.clone()).await);
        gate.reached().await;
        let second = EventReader::new(app.post(&path, body.clone()).await);
        gate.open();
        let (first, second) = (first.all().await, second.all().await);
        assert_eq!(names(&first), ["message_start", "content_delta", "message_end"]);
        assert_eq!(first, second);
        // The message is sent again after the end: the response has the same terminal event, and nothing runs.
        let third = EventReader::new(app.post(&path, body).await).all().await;
        assert_eq!(third.last(), first.last());
        assert_eq!(model.requests().len(), 1);
        assert_eq!(app.conversation(&conversation).await["messages"].as_array().unwrap().len(), 2);
    }

    /// A client that joins late gets a snapshot and the rest. A client that reconnects gets the events that it missed.
    /// After the end, no more events are sent.
    async fn late_and_reconnecting_clients_get_every_event(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("Adding. "), tool_call("add", r#"{"a":1,"b":2}"#)]);
        let gate = model.reply_gated([text("So ")], [text("it is 3.")]);
        let mut first = app.send(&conversation, "1 + 2?").await;
        let tool_end = first.until("tool_call_end").await;
        first.until("content_delta").await;
        gate.reached().await;

        let mut late = app.follow(&conversation, None).await;
        let ChatEvent::Snapshot(snapshot) = late.next().await.unwrap().event else { panic!("a snapshot comes first") };
        assert_eq!(snapshot.status, MessageStatus::Streaming);
        assert!(snapshot.content.starts_with("Adding. "), "{}", snapshot.content);
        assert_eq!(snapshot.tool_calls.len(), 1);
        let mut returning = app.follow(&conversation, tool_end.id.as_deref()).await;
        let missed = returning.next().await.unwrap().event;
        assert!(matches!(&missed, ChatEvent::ContentDelta(delta) if delta.delta.starts_with("\n\nS")), "{missed:?}");
        drop(first);
        gate.open();
        let end = late.until("message_end").await;
        assert_eq!(returning.until("message_end").await, end);
        let ChatEvent::MessageEnd(message) = &end.event else { unreachable!() };
        assert_eq!(message.content, "Adding. \n\nSo it is 3.");

        // The turn is over. A client that has not received its end gets the end, and other clients get nothing.
        let owed = app.follow(&conversation, tool_end.id.as_deref()).await.all().await;
        assert_eq!(owed, std::slice::from_ref(&end.event));
        for query in [format!("?after={}", end.id.unwrap()), String::new()] {
            let nothing = app.get(&format!("/api/conversations/{conversation}/events{query}")).await;
            assert_eq!(nothing.status(), StatusCode::NO_CONTENT);
        }
    }

    /// A stop ends the model's stream and keeps the text so far. The conversation accepts the next message.
    async fn stopping_keeps_the_text(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let gate = model.reply_gated([text("Half an ")], [text("answer.")]);
        let mut turn = app.send(&conversation, "Go").await;
        turn.until("content_delta").await;
        gate.reached().await;
        let shown = app.conversation(&conversation).await;
        assert_eq!((&shown["running"], &shown["messages"][1]["status"]), (&json!(true), &json!("streaming")));
        let stopped = app.post(&format!("/api/conversations/{conversation}/stop"), json!({})).await;
        assert_eq!(stopped.status(), StatusCode::NO_CONTENT);
        let end = turn.until("message_end").await.event;
        let ChatEvent::MessageEnd(end) = end else { unreachable!() };
        assert_eq!((end.status, end.stop_reason, end.conversation_deleted), (MessageStatus::Stopped, None, false));
        gate.abandoned().await;
        let stored = app.conversation(&conversation).await;
        assert_eq!(stored["messages"][1]["status"], "stopped");
        assert_eq!(stored["messages"][1]["content"], end.content);
        assert_eq!(stored["running"], false);
        model.reply([text("Whole.")]);
        let next = app.send(&conversation, "Again").await.all().await;
        assert!(matches!(next.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "Whole."));
        model.assert_calls_paired();
    }

    async fn deleting_a_conversation_ends_its_turn(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("Never "), hang()]);
        let mut turn = app.send(&conversation, "Go").await;
        turn.until("content_delta").await;
        app.delete(&conversation).await;
        let ChatEvent::MessageEnd(end) = turn.until("message_end").await.event else { unreachable!() };
        assert_eq!((end.status, end.conversation_deleted), (MessageStatus::Stopped, true));
        assert!(turn.next().await.is_none());
        assert_eq!(app.get(&format!("/api/conversations/{conversation}")).await.status(), StatusCode::NOT_FOUND);
    }

    /// The user's feed reports created, renamed and deleted conversations, and the start and end of turns.
    async fn the_feed_reports_conversations_and_turns(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let mut feed = FeedReader::open(&app).await;
        let conversation = app.create_conversation().await;
        let created = feed.next().await;
        assert_eq!((created.kind, created.title.as_deref()), (FeedKind::ConversationCreated, Some("New conversation")));
        assert_eq!(created.conversation_id.to_string(), conversation);
        let gate = model.reply_gated([text("Hello ")], [text("you.")]);
        let turn = app.send(&conversation, "Hi there").await;
        let renamed = feed.next().await;
        assert_eq!((renamed.kind, renamed.title.as_deref()), (FeedKind::ConversationRenamed, Some("Hi there")));
        assert_eq!(feed.next().await.kind, FeedKind::TurnStarted);
        gate.open();
        turn.all().await;
        assert_eq!(feed.next().await.kind, FeedKind::TurnEnded);
        app.delete(&conversation).await;
        assert_eq!(feed.next().await.kind, FeedKind::ConversationDeleted);
    }

    /// A client receives what happens after it joined, whichever other clients come or go.
    async fn clients_can_join_and_leave_the_feed(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let hears = async |feed: &mut FeedReader| feed.next().await.conversation_id.to_string();
        let mut first = FeedReader::open(&app).await;
        let one = app.create_conversation().await;
        assert_eq!(hears(&mut first).await, one);
        let mut second = FeedReader::open(&app).await;
        let two = app.create_conversation().await;
        assert_eq!((hears(&mut first).await, hears(&mut second).await), (two.clone(), two));
        drop(first);
        let three = app.create_conversation().await;
        assert_eq!(hears(&mut second).await, three);
        drop(second);
        let four = app.create_conversation().await;
        let mut third = FeedReader::open(&app).await;
        let five = app.create_conversation().await;
        // An event from just before may still be sent.
        let received = hears(&mut third).await;
        let received = if received == four { hears(&mut third).await } else { received };
        assert_eq!(received, five);
    }

    /// An idle stream sends keep-alives. Its headers ask proxies not to buffer anything.
    async fn an_idle_stream_sends_keep_alives_and_forbids_buffering(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([hang()]);
        let path = format!("/api/conversations/{conversation}");
        let sent = app.post(&format!("{path}/messages"), json!({"content": "Go"})).await;
        for mut stream in [sent, app.get(&format!("{path}/events")).await, app.get("/api/events").await] {
            assert_eq!(stream.headers()["x-accel-buffering"], "no");
            assert_eq!(stream.headers()["cache-control"], "no-store");
            let mut read = Vec::new();
            while !String::from_utf8_lossy(&read).contains(": keep-alive\n\n") {
                let chunk = timeout(TIMEOUT, stream.chunk()).await.expect("a keep-alive arrives in time");
                read.extend_from_slice(&chunk.unwrap().expect("the stream stays open"));
            }
        }
    }
}

/// The web client calculates from this header how long a stream may be silent.
#[tokio::test]
async fn event_streams_send_their_keep_alive_interval() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let app = TestApp::builder(&engine)
        .with_mock(&model)
        .with_settings(|settings| {
            settings.keep_alive = Duration::from_secs(7);
        })
        .spawn()
        .await;
    let conversation = app.create_conversation().await;
    model.reply([text("Yes.")]);
    let turn = app.post(&format!("/api/conversations/{conversation}/messages"), json!({"content": "Go"})).await;
    assert_eq!(turn.headers()["tallybook-keep-alive"], "7");
    assert_eq!(app.get("/api/events").await.headers()["tallybook-keep-alive"], "7");
    assert_eq!(app.get("/api/conversations").await.headers().get("tallybook-keep-alive"), None);
}

/// The client reads the beginning of a turn and then nothing more, while more data arrives than the system buffers.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_client_delays_nothing_is_dropped_and_can_resume() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let app = TestApp::builder(&engine)
        .with_mock(&model)
        .with_settings(|settings| {
            // A client that accepts no byte for twelve of these intervals is dropped.
            settings.keep_alive = Duration::from_millis(50);
        })
        .spawn()
        .await;
    let conversation = app.create_conversation().await;
    let flood = "x".repeat(7_000_000);
    model.reply([text(flood.as_str()), tool_call("add", r#"{"a":1,"b":2}"#)]);
    let gate = model.reply_late([text("Enough.")]);

    let host = app.address.trim_start_matches("http://").to_owned();
    let mut deaf = TcpStream::connect(&host).await.unwrap();
    let body = r#"{"content":"Flood me"}"#;
    let request = format!(
        "POST /api/conversations/{conversation}/messages HTTP/1.1\r\nHost: {host}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    deaf.write_all(request.as_bytes()).await.unwrap();
    let mut beginning = String::new();
    while !beginning.contains("message_start") {
        let mut portion = [0; 1024];
        let bytes = deaf.read(&mut portion).await.unwrap();
        beginning.push_str(std::str::from_utf8(&portion[..bytes]).unwrap());
    }
    let id = beginning.split("id: ").nth(1).unwrap().lines().next().unwrap();

    gate.reached().await;
    // If a write to the connection fails, the server has closed its end.
    eventually("the reader is dropped", async || {
        deaf.try_write(b"\r\n").is_err_and(|error| error.kind() != ErrorKind::WouldBlock)
    })
    .await;
    let mut continued = app.follow(&conversation, Some(id)).await;
    gate.open();
    let ChatEvent::MessageEnd(end) = continued.until("message_end").await.event else { unreachable!() };
    assert_eq!((end.status, end.tool_calls.len()), (MessageStatus::Complete, 1));
    assert!(end.content == format!("{flood}\n\nEnough."), "the complete text, once");
}
