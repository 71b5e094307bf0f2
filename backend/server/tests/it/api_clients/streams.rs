//! Answers as streams of chunks: keep-alives, how they end, and what happens to the turn if the client disconnects.

use std::time::Duration;

use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, cut, text, tool_call};
use tallybook_tools::ToolRegistry;

use super::kit::{
    ChunkReader, ask, conversation_of, conversations, ends_as, question, refusal, streamed, tools, words,
};
use crate::support::{Counts, Engine, Hangs, RawConnection, TestApp, eventually, on_every_engine};

on_every_engine! {
    /// The stream has the role, the text, keep-alives during silence, the end, and the token usage. The web UI follows
    /// the turn live.
    async fn a_stream_has_openais_chunks_and_the_page_follows_it_live(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let gate = model.reply_gated([text("Two ")], [text("\"words\" 数.")]);
        let mut body = streamed("Say");
        body["stream_options"] = json!({"include_usage": true});
        let response = ask(&app, &[], &body).await;
        let uuid = conversation_of(&response);
        let mut stream = ChunkReader::new(response);
        let first = stream.next().await.unwrap();
        assert_eq!(first["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
        stream.until_text("Two ").await;
        stream.until_signs(3).await;
        let mut page = app.follow(&uuid, None).await;
        page.until_text("Two ").await;
        gate.open();
        let rest = stream.all().await;
        assert_eq!(stream.text, "Two \"words\" 数.");
        let [.., end, usage] = &rest[..] else { panic!("{rest:?}") };
        assert_eq!(end["choices"], json!([{"index": 0, "delta": {}, "finish_reason": "stop"}]));
        assert_eq!((&usage["choices"], &usage["usage"]["total_tokens"]), (&json!([]), &json!(32)));
        for chunk in rest.iter().chain([&first]) {
            assert_eq!((&chunk["object"], &chunk["model"]), (&json!("chat.completion.chunk"), &json!("test-model")));
            assert_eq!((&chunk["id"], &chunk["created"]), (&first["id"], &first["created"]));
        }
        page.until("message_end").await;
    }

    /// A stop in the web UI ends the client's answer with the text so far.
    async fn the_page_can_stop_the_turn(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let gate = model.reply_gated([text("For ever")], [text(".")]);
        let response = ask(&app, &[], &streamed("How long?")).await;
        let uuid = conversation_of(&response);
        let mut stream = ChunkReader::new(response);
        stream.until_text("For ever").await;
        app.post(&format!("/api/conversations/{uuid}/stop"), json!({})).await;
        let rest = stream.all().await;
        assert_eq!(rest.last().unwrap()["choices"][0]["finish_reason"], "stop");
        gate.abandoned().await;
        ends_as(&app, &uuid, "stopped").await;
    }

    /// If the client disconnects, the turn is stopped, whether it is streamed or not.
    async fn a_client_that_disconnects_during_a_call_stops_the_turn(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::builder(&engine)
            .with_mock(&model)
            .with_tools(ToolRegistry::default().with(Hangs).unwrap())
            .with_settings(|_| {})
            .spawn()
            .await;
        for (place, body) in [streamed("Wait"), question("Wait")].into_iter().enumerate() {
            model.reply([tool_call("hangs", "{}")]);
            let client = app.client.clone();
            let request = client.post(app.url("/v1/chat/completions")).json(&body);
            let asking = tokio::spawn(async move { request.send().await.unwrap().text().await });
            let call = async || conversations(&app).await.len() == place + 1;
            eventually("the turn has started", call).await;
            let uuid = conversations(&app).await[0]["uuid"].as_str().unwrap().to_owned();
            let runs = async || app.conversation(&uuid).await["messages"][1]["tool_calls"][0]["status"] == "pending";
            eventually("the tool runs", runs).await;
            asking.abort();
            ends_as(&app, &uuid, "stopped").await;
            assert_eq!(app.conversation(&uuid).await["messages"][1]["tool_calls"][0]["status"], "cancelled");
        }
    }
}

/// A failure before the first text is reported by the HTTP status. A later failure is reported by a chunk without
/// choices. The question is stored in both cases, so the client must not send it again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_is_reported_by_its_status_or_in_the_stream() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::builder(&Engine::sqlite())
        .with_mock(&model)
        .with_tools(tools())
        .with_settings(|settings| {
            // Longer than a failure takes, so that no keep-alive starts the stream before it.
            settings.keep_alive = Duration::from_secs(20);
        })
        .spawn()
        .await;
    for body in [streamed("Hello"), question("Hello")] {
        model.fail(401, r#"{"error": {"message": "no"}}"#);
        let response = ask(&app, &[], &body).await;
        assert_eq!(response.headers()["x-should-retry"], "false");
        let uuid = response.headers()["x-tallybook-conversation"].to_str().unwrap().to_owned();
        assert_eq!(app.conversation(&uuid).await["messages"][1]["status"], "failed", "the question is stored");
        let error = refusal(response, 502).await;
        assert_eq!((&error["code"], &error["type"]), (&json!("model_auth"), &json!("server_error")));
    }
    model.reply([text("Half of "), cut()]);
    let mut stream = ChunkReader::new(ask(&app, &[], &streamed("All?")).await);
    let chunks = stream.all().await;
    let error = chunks.last().unwrap();
    assert!(error.get("choices").is_none() && error["error"]["code"] == "model_bad_stream", "{error}");
    assert_eq!(stream.text, "Half of ");
}

/// Nothing is written to the connection until the answer is complete.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_complete_answer_may_take_longer_than_the_idle_timeout() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::builder(&Engine::sqlite())
        .with_mock(&model)
        .with_tools(tools())
        .with_settings(|settings| {
            settings.http_limits.idle_timeout = Duration::from_millis(500);
        })
        .spawn()
        .await;
    let late = model.reply_late([text("At last.")]);
    let asked = question("How long?");
    let answer = ask(&app, &[], &asked);
    let silence = async {
        late.reached().await;
        // The server closes this second connection at the idle timeout. By then, the first connection has been silent
        // for longer than that.
        let bytes = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /he";
        RawConnection::ask(&app, bytes).await;
        late.open();
    };
    let (answer, ()) = tokio::join!(answer, silence);
    assert_eq!(words(answer).await, "At last.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_is_reported_in_the_stream() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let _gate = model.reply_gated([text("To be ")], [text("continued.")]);
    let mut stream = ChunkReader::new(ask(&app, &[], &streamed("And?")).await);
    stream.until_text("To be ").await;
    let ended = tokio::spawn(app.shut_down());
    let error: Value = stream.all().await.pop().unwrap();
    assert_eq!(error["error"]["code"], "shutdown");
    ended.await.unwrap();
}

/// The calls of the server's tools are reported only to clients that request it, and never as calls for the client to
/// run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_calls_are_reported_only_on_request() {
    let model = MockLlm::start().await.unwrap();
    let counts = Counts::default();
    let registry = tools().with(counts.clone()).unwrap();
    let app =
        TestApp::builder(&Engine::sqlite()).with_mock(&model).with_tools(registry).with_settings(|_| {}).spawn().await;
    for (headers, number) in [(&[][..], 0), (&[("X-Tallybook-Tools", "events")][..], 4)] {
        model.reply([tool_call("counts", "{}"), tool_call("divide", r#"{"a":1,"b":0}"#)]);
        model.reply([text("Done.")]);
        let mut stream = ChunkReader::new(ask(&app, headers, &streamed("Count")).await);
        let chunks = stream.all().await;
        assert_eq!(stream.text, "Done.");
        let extended: Vec<&Value> = chunks.iter().filter(|chunk| chunk.get("tallybook").is_some()).collect();
        assert_eq!(extended.len(), number, "{chunks:?}");
        assert!(chunks.iter().all(|chunk| !chunk["choices"].to_string().contains("tool_calls")));
        for chunk in &extended {
            assert_eq!(chunk["choices"], json!([{"index": 0, "delta": {}, "finish_reason": null}]));
            assert_eq!((&chunk["tallybook"]["type"], &chunk["event"]["type"]), (&json!("tool_call"), &json!("status")));
        }
        let of = |name: &str, status: &str| {
            let is_it = |chunk: &&&Value| chunk["tallybook"]["name"] == name && chunk["tallybook"]["status"] == status;
            extended.iter().find(is_it).map(|chunk| (*chunk).clone())
        };
        if number > 0 {
            assert_eq!(of("divide", "pending").unwrap()["tallybook"]["input"], json!({"a": 1, "b": 0}));
            let done = of("counts", "success").unwrap();
            assert_eq!((&done["tallybook"]["output"], &done["event"]["data"]["done"]), (&json!("2"), &json!(true)));
            assert_eq!(of("divide", "error").unwrap()["tallybook"]["error"], "invalid_b: division by zero");
        }
    }
    assert_eq!(counts.runs(), 2);
    // A request that is not streamed still gets its answer.
    model.reply([text("Quiet.")]);
    assert_eq!(words(ask(&app, &[], &question("And?")).await).await, "Quiet.");
}
