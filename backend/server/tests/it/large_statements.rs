//! Steps and results that are larger than the database accepts in one statement (`max_allowed_packet`). The turn ends,
//! what fits is stored, and the conversation takes new messages. A proxy sets the limit: the real one applies to the
//! whole database server, and other tests run there.

use serde_json::json;
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_protocol::ChatEvent;
use tallybook_tools::builtin;

use crate::support::{Engine, Provider, Proxy, TestApp, Writes, end_of, rows};

const LIMIT: u32 = 4 * 1024 * 1024;

/// Runs one step with six calls, each with a megabyte of arguments. `limit` lets no statement pass that contains all of
/// them. Returns the error code that the client gets.
async fn assert_large_step_ends(engine: Engine, limit: fn(&Proxy)) -> String {
    let (engine, proxy) = engine.behind_proxy().await;
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&engine, &model).await;
    let conversation = app.create_conversation().await;
    limit(&proxy);
    let input = json!({"a": 1, "b": 2, "note": "x".repeat(1000 * 1024)}).to_string();
    let calls = (0..6).map(|_| tool_call("add", &input));
    model.reply(std::iter::once(text("I begin.")).chain(calls).collect::<Vec<_>>());
    let mut turn = app.send(&conversation, "Add much.").await;
    let mut last = None;
    while let Some(seen) = turn.next().await {
        last = Some(seen.event);
    }
    let code = match last {
        Some(ChatEvent::Error(error)) => error.code,
        Some(ChatEvent::MessageEnd(end)) => end.error_code.unwrap(),
        other => panic!("{other:?}"),
    };
    let stored = app.idle_conversation(&conversation).await;
    let answer = &stored["messages"][1];
    assert_eq!((&answer["status"], &answer["content"]), (&json!("interrupted"), &json!("I begin.")));
    let asked = rows!(app, (String, i64), "SELECT blocks, output_tokens FROM model_calls");
    assert!(
        matches!(&asked[..], [(blocks, tokens)] if blocks == "[]" && *tokens > 0),
        "the step's cost is stored: {asked:?}"
    );
    model.reply([text("Going on.")]);
    let next = app.send(&conversation, "And now?").await.all().await;
    assert_eq!(end_of(&next).content, "Going on.");
    model.assert_calls_paired();
    code
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_larger_than_one_statement_ends_its_turn() {
    for engine in Engine::every_mysql_with_tables().await {
        let code = assert_large_step_ends(engine, |proxy| proxy.report_statement_limit(LIMIT)).await;
        assert_eq!(code, "storage_rejected");
    }
}

/// The server cannot find out how large a statement may be, as with a proxy that has its own limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_breaks_each_connection_ends_its_turn() {
    for engine in Engine::every_mysql_with_tables().await {
        let code = assert_large_step_ends(engine, |proxy| proxy.refuse_packets_over(LIMIT)).await;
        assert_eq!(code, "storage_unavailable");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_larger_than_one_statement_is_stored_truncated() {
    const LIMITS: [fn(&Proxy); 2] =
        [|proxy| proxy.report_statement_limit(600_000), |proxy| proxy.refuse_packets_over(600_000)];
    for engine in Engine::every_mysql_with_tables().await {
        for limit in LIMITS {
            let (engine, proxy) = engine.clone().behind_proxy().await;
            let model = MockLlm::start().await.unwrap();
            let settings = Provider::Anthropic.settings(model.url());
            let tools = builtin().unwrap().with(Writes).unwrap();
            let app = TestApp::builder(&engine).with_model(settings).with_tools(tools).spawn().await;
            let conversation = app.create_conversation().await;
            limit(&proxy);
            model.reply([text("I begin."), tool_call("writes", json!({"bytes": 700_000}).to_string())]);
            model.reply([text("For nothing.")]);
            let mut turn = app.send(&conversation, "Much.").await;
            while turn.next().await.is_some() {}
            app.idle_conversation(&conversation).await;
            let call = "SELECT status, CAST(OCTET_LENGTH(output) AS SIGNED) FROM tool_calls ORDER BY id DESC LIMIT 1";
            assert_eq!(rows!(app, (String, i64), call), [("success".to_owned(), 64 * 1024)]);
            app.shut_down().await;
        }
    }
}
