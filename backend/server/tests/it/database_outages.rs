//! Outages of the database in the middle of a turn, of each kind that each engine has. No tool runs without its row,
//! and the client gets an error. When the database is back, the turn is closed, and the chat works again without a
//! restart.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use reqwest::StatusCode;
use serde_json::json;
use tallybook::config::Settings;
use tallybook_agent::Limits;
use tallybook_conversations::count_deleted;
use tallybook_mock_llm::{Gate, MockLlm, hang, text, tool_call};
use tallybook_protocol::{ChatEvent, ContentDelta, MessageStatus, ToolCallStatus};
use tallybook_tools::{Tool, ToolError, ToolOutput, ToolRegistry, builtin};
use tokio::sync::Notify;

use crate::support::{Counts, Engine, EventReader, NoArgs, Proxy, TestApp, eventually, rows};

/// A tool that runs until the test releases it.
#[derive(Clone, Default)]
struct Waits(Arc<Notify>);

impl Tool for Waits {
    type Args = NoArgs;
    const NAME: &'static str = "waits";
    const DESCRIPTION: &'static str = "Waits.";

    async fn call(&self, _: NoArgs) -> Result<ToolOutput, ToolError> {
        self.0.notified().await;
        Ok(ToolOutput::text("waited"))
    }
}

/// A server, and a turn in which the model is about to call a tool.
struct Fixture {
    app: TestApp,
    model: MockLlm,
    runs: Counts,
    conversation: String,
    turn: EventReader,
    gate: Gate,
    /// Id of the last event that was read.
    last_id: Option<String>,
}

impl Fixture {
    async fn set_up(engine: &Engine) -> Self {
        let model = MockLlm::start().await.unwrap();
        let runs = Counts::default();
        let tools = ToolRegistry::default().with(runs.clone()).unwrap();
        let app = TestApp::builder(engine).with_mock(&model).with_tools(tools).spawn().await;
        Self::begin(app, model, runs, "counts").await
    }

    async fn begin(app: TestApp, model: MockLlm, runs: Counts, tool: &str) -> Self {
        let conversation = app.create_conversation().await;
        let gate = model.reply_gated([text("I begin. ")], [tool_call(tool, r"{}")]);
        let mut turn = app.send(&conversation, "Count").await;
        let last_id = turn.until_text("I begin. ").await.id;
        gate.reached().await;
        Self { app, model, runs, conversation, turn, gate, last_id }
    }

    /// Lets the model call the tool during the outage. Checks that the tool does not run and that the client gets the
    /// reason.
    async fn assert_refused(&mut self, code: &str) {
        self.gate.open();
        let received = self.turn.next().await.unwrap();
        let ChatEvent::Error(error) = &received.event else { panic!("{received:?}") };
        assert_eq!((error.code.as_str(), error.assistant_message_id), (code, None));
        assert_eq!(received.id, self.last_id, "the event has no id of its own");
        assert!(self.turn.next().await.is_none(), "no event follows");
        assert_eq!(self.runs.runs(), 0, "no tool runs without its row");
    }

    /// Checks, after the outage, that the turn is closed, that a reconnecting client gets its end, and that the next
    /// message works.
    async fn assert_recovers(self) {
        let Self { app, model, conversation, .. } = self;
        let stored = app.idle_conversation(&conversation).await;
        let answer = &stored["messages"][1];
        assert_eq!((&answer["status"], &answer["content"]), (&"interrupted".into(), &"I begin. ".into()));
        let owed = app.follow(&conversation, self.last_id.as_deref()).await.all().await;
        let [ChatEvent::MessageEnd(end)] = &owed[..] else { panic!("{owed:?}") };
        assert_eq!((end.status, end.content.as_str()), (MessageStatus::Interrupted, "I begin. "));
        let open = rows!(app, (i64,), "SELECT COUNT(*) FROM tool_calls WHERE status = 'pending'");
        assert_eq!(open, [(0,)]);
        assert_eq!(app.get("/readyz").await.status(), StatusCode::OK);
        model.reply([text("Going on.")]);
        let next = app.send(&conversation, "And now?").await.all().await;
        assert!(matches!(next.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "Going on."), "{next:?}");
        model.assert_calls_paired();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disconnect_before_the_start_row_prevents_the_call() {
    for engine in Engine::every_mysql_with_tables().await {
        let (engine, proxy) = engine.behind_proxy().await;
        let mut fixture = Fixture::set_up(&engine).await;
        proxy.cut();
        fixture.assert_refused("storage_unavailable").await;
        let away = fixture.app.get("/api/conversations").await;
        assert_eq!(away.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(away.text().await.unwrap().contains("/problems/storage-unavailable"));
        assert_eq!(fixture.app.get("/readyz").await.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(fixture.app.get("/healthz").await.status(), StatusCode::OK);
        proxy.restore();
        fixture.assert_recovers().await;
    }
}

/// The database neither answers nor closes its connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unresponsive_database_before_the_start_row_prevents_the_call() {
    // In parallel, because the server waits for a timeout with each database.
    join_all(Engine::every_mysql_with_tables().await.into_iter().map(fall_silent)).await;
}

async fn fall_silent(engine: Engine) {
    let (engine, proxy) = engine.behind_proxy().await;
    let mut fixture = Fixture::set_up(&engine).await;
    proxy.stall();
    fixture.assert_refused("storage_unavailable").await;
    proxy.restore();
    fixture.assert_recovers().await;
}

/// The database fails in some way while a tool runs. The result is kept, and stored with the turn's end when the
/// database is back. The model receives the result meanwhile, but its answer is not stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_is_stored_after_a_disconnect() {
    for engine in Engine::every_mysql_with_tables().await {
        assert_result_is_stored(engine, Proxy::cut).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_is_stored_after_an_unresponsive_database() {
    let silent = |engine| assert_result_is_stored(engine, Proxy::stall);
    join_all(Engine::every_mysql_with_tables().await.into_iter().map(silent)).await;
}

/// The unacknowledged commit may have stored the result. Then storing the result again changes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_is_stored_after_an_unacknowledged_commit() {
    for engine in Engine::every_mysql_with_tables().await {
        assert_result_is_stored(engine, Proxy::lose_next_commit).await;
    }
}

async fn assert_result_is_stored(engine: Engine, fail: fn(&Proxy)) {
    let (engine, proxy) = engine.behind_proxy().await;
    let model = MockLlm::start().await.unwrap();
    let waits = Waits::default();
    let tools = ToolRegistry::default().with(waits.clone()).unwrap();
    let app = TestApp::builder(&engine).with_mock(&model).with_tools(tools).spawn().await;
    let conversation = app.create_conversation().await;
    model.reply([text("I begin. "), tool_call("waits", "{}")]);
    model.reply([text("For nothing.")]);
    let mut turn = app.send(&conversation, "Wait").await;
    let started = turn.until("tool_call_start").await;
    fail(&proxy);
    waits.0.notify_one();
    let ChatEvent::Error(error) = turn.until("error").await.event else { unreachable!() };
    assert_eq!((error.code.as_str(), error.assistant_message_id), ("storage_unavailable", None));
    proxy.restore();
    let stored = app.idle_conversation(&conversation).await;
    assert_eq!(stored["messages"][1]["status"], "interrupted");
    let owed = app.follow(&conversation, started.id.as_deref()).await.all().await;
    let Some(ChatEvent::MessageEnd(end)) = owed.last() else { panic!("{owed:?}") };
    assert_eq!((end.content.as_str(), end.tool_calls[0].status), ("I begin. ", ToolCallStatus::Success));
    let call = &stored["messages"][1]["tool_calls"][0];
    assert_eq!((&call["status"], &call["output"]), (&json!("success"), &json!("waited")));
    assert_eq!(model.unused_replies(), 0, "the model was called meanwhile");
    model.reply([text("Going on.")]);
    let next = app.send(&conversation, "And now?").await.all().await;
    assert!(matches!(next.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "Going on."), "{next:?}");
    model.assert_calls_paired();
}

/// At most two of the three calls run at once. Both have ended when the server finds that it cannot store anything. The
/// third call never starts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_of_parallel_calls_are_all_stored() {
    for engine in Engine::every_mysql_with_tables().await {
        let (engine, proxy) = engine.behind_proxy().await;
        let model = MockLlm::start().await.unwrap();
        let waits = Waits::default();
        let tools = ToolRegistry::default().with(waits.clone()).unwrap();
        let limits = Limits { concurrent_calls_per_turn: 2, ..Limits::default() };
        let app = TestApp::builder(&engine).with_mock(&model).with_tools(tools).with_limits(limits).spawn().await;
        let conversation = app.create_conversation().await;
        model.reply((0..3).map(|_| tool_call("waits", "{}")).collect::<Vec<_>>());
        let mut turn = app.send(&conversation, "Wait").await;
        turn.until("tool_call_start").await;
        turn.until("tool_call_start").await;
        proxy.cut();
        // Either call may start to wait only after the row of its start is stored, so this is repeated.
        let let_go = async {
            loop {
                waits.0.notify_waiters();
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            _ = turn.until("error") => {}
            () = let_go => {}
        }
        proxy.restore();
        app.idle_conversation(&conversation).await;
        let calls = rows!(app, (String, Option<String>), "SELECT status, output FROM tool_calls");
        assert_eq!(calls, vec![("success".to_owned(), Some("waited".to_owned())); 2]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_database_does_not_fail_the_turn() {
    for engine in Engine::every_mysql_with_tables().await {
        let (engine, proxy) = engine.behind_proxy().await;
        let fixture = Fixture::set_up(&engine).await;
        proxy.slow_down(Duration::from_millis(20));
        fixture.model.reply([text("Counted.")]);
        fixture.gate.open();
        let rest = fixture.turn.all().await;
        assert!(matches!(rest.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "I begin. \n\nCounted."));
        assert_eq!(fixture.runs.runs(), 1);
    }
}

/// The answer is complete, and only its end cannot be stored. When the database is back, the complete answer is stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_stored_after_an_outage_at_its_end() {
    for engine in Engine::every_mysql_with_tables().await {
        let (engine, proxy) = engine.behind_proxy().await;
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let gate = model.reply_gated([text("Nearly ")], [text("whole.")]);
        let mut turn = app.send(&conversation, "Go").await;
        let id = turn.until("content_delta").await.id;
        gate.reached().await;
        proxy.cut();
        gate.open();
        let error = turn.until("error").await.event;
        assert!(matches!(error, ChatEvent::Error(error) if error.code == "storage_unavailable"));
        assert!(turn.next().await.is_none());
        proxy.restore();
        let stored = app.idle_conversation(&conversation).await;
        assert_eq!(stored["messages"][1]["content"], "Nearly whole.");
        let owed = app.follow(&conversation, id.as_deref()).await.all().await;
        assert!(matches!(owed.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "Nearly whole."), "{owed:?}");
    }
}

/// The outage lasts longer than the lease, and another replica looks for abandoned turns. It does not treat this turn
/// as one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_stored_after_an_outage_longer_than_the_lease() {
    for engine in Engine::every_mysql_with_tables().await {
        let (behind, proxy) = engine.clone().behind_proxy().await;
        let model = MockLlm::start().await.unwrap();
        // After the outage, the owner must store the end before the other replica's check. The interval between checks
        // is half the lease.
        let lasting = |settings: &mut Settings| settings.turn_lease = Duration::from_secs(6);
        let spawn = async || {
            TestApp::builder(&behind)
                .with_mock(&model)
                .with_tools(builtin().unwrap())
                .with_settings(lasting)
                .spawn()
                .await
        };
        let (owner, _other) = (spawn().await, spawn().await);
        let conversation = owner.create_conversation().await;
        let gate = model.reply_gated([text("Nearly ")], [text("whole.")]);
        let mut turn = owner.send(&conversation, "Go").await;
        turn.until("content_delta").await;
        gate.reached().await;
        proxy.cut();
        gate.open();
        turn.until("error").await;
        eventually("the lease runs out", async || {
            let left = "SELECT COUNT(*) FROM messages WHERE status = 'streaming' AND lease_until > UTC_TIMESTAMP(6)";
            rows!(engine, (i64,), left) == [(0,)]
        })
        .await;
        proxy.restore();
        let stored = owner.idle_conversation(&conversation).await;
        assert_eq!(stored["messages"][1]["content"], "Nearly whole.", "only the owner knew the complete text");
    }
}

/// The connection breaks between a commit and its acknowledgment, so the outcome is unknown. No text is stored twice,
/// and none is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unacknowledged_commit_neither_repeats_nor_loses_text() {
    for engine in Engine::every_mysql_with_tables().await {
        let (engine, proxy) = engine.behind_proxy().await;
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let gate = model.reply_late([text("Not twice. "), hang()]);
        let mut turn = app.send(&conversation, "Go").await;
        turn.until("message_start").await;
        proxy.lose_next_commit();
        gate.open();
        // The first commit is the one that stores the text.
        eventually("the answer to a commit is lost", async || !proxy.is_waiting_for_commit()).await;
        app.post(&format!("/api/conversations/{conversation}/stop"), json!({})).await;
        let ChatEvent::MessageEnd(end) = turn.until("message_end").await.event else { unreachable!() };
        assert_eq!((end.status, end.content.as_str()), (MessageStatus::Stopped, "Not twice. "));
        let texts =
            rows!(engine, (String,), "SELECT data FROM journal_events WHERE event = 'content_delta' ORDER BY seq");
        let texts = texts.iter().map(|row| serde_json::from_str::<ContentDelta>(&row.0).unwrap().delta);
        assert_eq!(texts.collect::<String>(), "Not twice. ");
    }
}

/// The commit is the one that starts a call. The call never runs, and neither its step nor its start is stored twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unacknowledged_start_prevents_the_call() {
    for engine in Engine::every_mysql_with_tables().await {
        let (behind, proxy) = engine.clone().behind_proxy().await;
        let fixture = Fixture::set_up(&behind).await;
        let texts = "SELECT COUNT(*) FROM journal_events WHERE event = 'content_delta'";
        eventually("the text is stored", async || rows!(engine, (i64,), texts) == [(1,)]).await;
        proxy.lose_next_commit();
        let Fixture { app, model, runs, conversation, gate, mut turn, .. } = fixture;
        gate.open();
        turn.until("error").await;
        app.idle_conversation(&conversation).await;
        assert_eq!(runs.runs(), 0);
        let stored = "SELECT (SELECT COUNT(*) FROM model_calls), (SELECT COUNT(*) FROM journal_events \
             WHERE event = 'tool_call_start'), (SELECT COUNT(*) FROM tool_calls WHERE status = 'interrupted')";
        assert_eq!(rows!(engine, (i64, i64, i64), stored), [(1, 1, 1)]);
        model.reply([text("Going on.")]);
        let events = app.continue_turn(&conversation).await.all().await;
        assert!(matches!(events.last(), Some(ChatEvent::MessageEnd(end)) if end.content.ends_with("Going on.")));
        model.assert_calls_paired();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_database_before_the_start_row_prevents_the_call() {
    let engine = Engine::sqlite();
    let mut fixture = Fixture::set_up(&engine).await;
    let pool = engine.pool().await.sqlite();
    let held = pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    fixture.assert_refused("storage_unavailable").await;
    // Reading works during the outage.
    assert_eq!(fixture.app.conversation(&fixture.conversation).await["running"], true);
    held.rollback().await.unwrap();
    fixture.assert_recovers().await;
}

/// Runs the real program with a limit on the size of files, which has the effect of a full disk.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_before_the_start_row_prevents_the_call() {
    use crate::support::Program;

    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    // Without this trap, the kernel would kill the program for the attempt to write.
    let app = TestApp::launch_command(&engine, &mut Program::command_after("trap '' XFSZ", &engine, &model));
    let mut fixture = Fixture::begin(app, model, Counts::default(), "add").await;
    fixture.app.process().limit_files("0");
    fixture.assert_refused("storage_full").await;
    assert_eq!(fixture.app.conversation(&fixture.conversation).await["running"], true);
    fixture.app.process().limit_files("unlimited");
    fixture.assert_recovers().await;
}

/// Triggers fail as full tables do, because a test cannot fill the disk of the database server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_server_disk_before_the_start_row_prevents_the_call() {
    const WRITES: [(&str, &str); 3] = [
        ("full_rows", "UPDATE ON messages"),
        ("full_calls", "INSERT ON tool_calls"),
        ("full_log", "INSERT ON journal_events"),
    ];
    for engine in Engine::every_mysql_with_tables().await {
        let mut fixture = Fixture::set_up(&engine).await;
        for (name, write) in WRITES {
            let full = "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'The table is full'";
            engine.run(format!("CREATE TRIGGER {name} BEFORE {write} FOR EACH ROW {full}")).await;
        }
        fixture.assert_refused("storage_full").await;
        assert_eq!(fixture.app.conversation(&fixture.conversation).await["running"], true);
        for (name, _) in WRITES {
            engine.run(format!("DROP TRIGGER {name}")).await;
        }
        fixture.assert_recovers().await;
    }
}

/// Many concurrent writers make a long queue, which is different from a database that is unreachable.
#[tokio::test]
async fn a_long_queue_of_writers_is_not_an_outage() {
    let mut engines = vec![(Engine::sqlite(), 1)];
    engines.extend(Engine::every_mysql_with_tables().await.into_iter().map(|engine| (engine, 12)));
    for (engine, places) in engines {
        let db = engine.database().await;
        let mut first = Vec::new();
        for _ in 0..places {
            first.push(db.begin().await.unwrap());
        }
        let next = tokio::spawn({
            let db = db.clone();
            async move { db.begin().await.map(drop) }
        });
        tokio::task::yield_now().await;
        // Three times the timeout for a connection.
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(15)).await;
        tokio::time::resume();
        assert!(!next.is_finished(), "writers still wait");
        count_deleted(&db, Duration::ZERO).await.expect("readers do not wait");
        drop(first);
        next.await.unwrap().expect("the waiting write is executed");
    }
}
