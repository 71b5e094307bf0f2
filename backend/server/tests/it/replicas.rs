//! Two processes of the program on one MySQL database. Each process can subscribe to a turn of the other, also late,
//! and stop it. If one process is gone, the other closes its turns.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;
use tallybook_mock_llm::{MockLlm, hang, text, tool_call};
use tallybook_protocol::{ChatEvent, FeedKind, MessageEnd, MessageStatus};

use crate::support::{Engine, EventReader, FeedReader, Program, TestApp, eventually, rows};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_replica_can_follow_join_and_stop_a_turn() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let (owner, other) = (TestApp::launch(&engine, &model), TestApp::launch(&engine, &model));
        let conversation = owner.create_conversation().await;
        model.reply([text("Adding. "), tool_call("add", r#"{"a":1,"b":2}"#)]);
        let gate = model.reply_gated([text("So ")], [text("far. "), hang()]);
        let mut here = owner.send(&conversation, "1 + 2?").await;
        let tool_end = here.until("tool_call_end").await;
        gate.reached().await;

        // One client joins late, with a snapshot. Another continues after the last event that it received from the
        // other replica.
        let mut late = other.follow(&conversation, None).await;
        let ChatEvent::Snapshot(snapshot) = late.next().await.unwrap().event else { panic!("a snapshot comes first") };
        assert!(snapshot.content.starts_with("Adding. "), "{}", snapshot.content);
        assert_eq!(snapshot.tool_calls.len(), 1);
        let mut moved = other.follow(&conversation, tool_end.id.as_deref()).await;
        let busy = other.post(&format!("/api/conversations/{conversation}/messages"), json!({"content": "?"})).await;
        assert_eq!(busy.status(), StatusCode::CONFLICT);
        gate.open();
        let mut text = String::from("Adding. ");
        while text != "Adding. \n\nSo far. " {
            let ChatEvent::ContentDelta(delta) = moved.until("content_delta").await.event else { unreachable!() };
            assert_eq!(usize::try_from(delta.offset).unwrap(), text.len());
            text.push_str(&delta.delta);
        }

        let stopped = other.post(&format!("/api/conversations/{conversation}/stop"), json!({})).await;
        assert_eq!(stopped.status(), StatusCode::NO_CONTENT);
        let end = here.until("message_end").await;
        let ChatEvent::MessageEnd(message) = &end.event else { unreachable!() };
        assert_eq!((message.status, message.content.as_str()), (MessageStatus::Stopped, "Adding. \n\nSo far. "));
        assert_eq!(late.until("message_end").await, end);
        assert_eq!(moved.until("message_end").await, end);
        model.assert_calls_paired();
    }
}

/// Starts a turn that has written `Begun `. Returns the conversation, and readers of the turn at its owner and at the
/// other process.
async fn begin(owner: &TestApp, other: &TestApp, model: &MockLlm) -> (String, EventReader, EventReader) {
    let conversation = owner.create_conversation().await;
    model.reply([text("Begun "), hang()]);
    let mut here = owner.send(&conversation, "Go").await;
    here.until_text("Begun ").await;
    let mut there = other.follow(&conversation, None).await;
    // A killed process leaves only what it had stored.
    there.until_text("Begun ").await;
    (conversation, here, there)
}

async fn assert_closed(other: &TestApp, there: &mut EventReader, conversation: &str) {
    let ChatEvent::MessageEnd(MessageEnd { status, content, .. }) = there.until("message_end").await.event else {
        unreachable!()
    };
    assert_eq!((status, content.as_str()), (MessageStatus::Interrupted, "Begun "));
    assert!(there.next().await.is_none(), "the end comes last");
    let seen = other.conversation(conversation).await;
    assert_eq!((&seen["running"], &seen["messages"][1]["status"]), (&json!(false), &json!("interrupted")));
}

async fn assert_resumes(other: &TestApp, model: &MockLlm, conversation: &str) {
    model.reply([text("Going on.")]);
    let next = other.send(conversation, "And now?").await.all().await;
    assert!(matches!(next.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "Going on."));
    model.assert_calls_paired();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_replica_closes_and_resumes_a_turn_of_a_killed_one() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let (owner, other) = (TestApp::launch(&engine, &model), TestApp::launch(&engine, &model));
        let (conversation, _here, mut there) = begin(&owner, &other, &model).await;
        let seen = other.conversation(&conversation).await;
        assert_eq!((&seen["messages"][1]["content"], &seen["running"]), (&json!("Begun "), &json!(true)));
        owner.kill();
        assert_closed(&other, &mut there, &conversation).await;
        model.reply([text("Begun again, and done.")]);
        let continued = other.continue_turn(&conversation).await.all().await;
        assert!(
            matches!(continued.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "Begun again, and done.")
        );
        assert_resumes(&other, &model, &conversation).await;
    }
}

/// The replica was paused for longer than its lease. When it wakes up, it still assumes that it owns the turn.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_paused_beyond_its_lease_writes_nothing() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let (owner, other) = (TestApp::launch(&engine, &model), TestApp::launch(&engine, &model));
        let (conversation, mut here, mut there) = begin(&owner, &other, &model).await;
        owner.process().signal("STOP");
        assert_closed(&other, &mut there, &conversation).await;
        owner.process().signal("CONT");
        while here.next().await.is_some() {}
        let ends = rows!(engine, (i64,), "SELECT COUNT(*) FROM journal_events WHERE event = 'message_end'");
        assert_eq!(ends, [(1,)]);
        assert_resumes(&owner, &model, &conversation).await;
    }
}

/// The sidebar at one replica learns what happens at another, including the end of a turn whose owner was killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_feed_reports_events_of_another_replica() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let (owner, other) = (TestApp::launch(&engine, &model), TestApp::launch(&engine, &model));
        let mut feed = FeedReader::open(&other).await;
        let conversation = owner.create_conversation().await;
        let created = feed.next().await;
        assert_eq!((created.kind, created.conversation_id.to_string()), (FeedKind::ConversationCreated, conversation));
        let (conversation, ..) = begin(&owner, &other, &model).await;
        let mut kinds = Vec::new();
        while kinds.last() != Some(&FeedKind::TurnStarted) {
            kinds.push(feed.next().await.kind);
        }
        owner.kill();
        let ended = feed.next().await;
        assert_eq!((ended.kind, ended.conversation_id.to_string()), (FeedKind::TurnEnded, conversation.clone()));
        let third = TestApp::launch(&engine, &model);
        third.delete(&conversation).await;
        assert_eq!(feed.next().await.kind, FeedKind::ConversationDeleted);
    }
}

/// The deletion hides the conversation at once, even if the turn is locked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_waits_for_the_end_of_a_turn_at_another_replica() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let (owner, other) = (TestApp::launch(&engine, &model), TestApp::launch(&engine, &model));
        let (conversation, mut here, _there) = begin(&owner, &other, &model).await;
        let pool = engine.pool().await.mysql();
        let mut held = pool.begin().await.unwrap();
        sqlx::query("UPDATE messages SET owner = owner WHERE role = 'assistant'").execute(&mut *held).await.unwrap();
        // The end of the turn waits for the message's lock first. The deletion's request to stop the turn waits second.
        owner.post(&format!("/api/conversations/{conversation}/stop"), json!({})).await;
        eventually("the end of the turn waits", async || is_waiting(&pool, "UPDATE messages SET owner%").await).await;
        let deleted = async { other.delete(&conversation).await };
        let let_go = async {
            eventually("the deletion waits", async || {
                is_waiting(&pool, "UPDATE messages SET stop_requested_at%").await
            })
            .await;
            let hidden = owner.get(&format!("/api/conversations/{conversation}")).await;
            assert_eq!(hidden.status(), StatusCode::NOT_FOUND);
            held.rollback().await.unwrap();
        };
        tokio::join!(deleted, let_go);
        while here.next().await.is_some() {}
        let ended = rows!(engine, (String,), "SELECT status FROM messages WHERE role = 'assistant'");
        assert_eq!(ended, [("stopped".to_owned(),)]);
    }
}

/// A host that loses its network during a transaction leaves a lock, which the database keeps for hours. The lock must
/// not keep other turns from being closed, or a server from starting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_abandoned_turn_does_not_block_recovery() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let owner = TestApp::launch(&engine, &model);
        let mut conversations = Vec::new();
        for _ in 0..2 {
            let conversation = owner.create_conversation().await;
            model.reply([text("Begun "), hang()]);
            owner.send(&conversation, "Go").await.until_text("Begun ").await;
            conversations.push(conversation);
        }
        owner.kill();
        let pool = engine.pool().await.mysql();
        let mut held = pool.begin().await.unwrap();
        sqlx::query("SELECT id FROM messages WHERE role = 'assistant' ORDER BY id LIMIT 1 FOR UPDATE")
            .execute(&mut *held)
            .await
            .unwrap();
        eventually("the leases run out", async || {
            let left = "SELECT COUNT(*) FROM messages WHERE status = 'streaming' AND lease_until > UTC_TIMESTAMP(6)";
            rows!(engine, (i64,), left) == [(0,)]
        })
        .await;
        let other = TestApp::launch(&engine, &model);
        let closed = other.idle_conversation(&conversations[1]).await;
        assert_eq!(closed["messages"][1]["status"], "interrupted");
        assert_eq!(other.conversation(&conversations[0]).await["running"], json!(true));
        held.rollback().await.unwrap();
        let closed = other.idle_conversation(&conversations[0]).await;
        assert_eq!(closed["messages"][1]["status"], "interrupted");
    }
}

/// Returns `true` if a statement of this kind waits for a lock in this database.
async fn is_waiting(pool: &sqlx::MySqlPool, statement: &str) -> bool {
    const WAITING: &str = "SELECT COUNT(*) FROM information_schema.INNODB_TRX t \
        JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id \
        WHERE p.DB = DATABASE() AND t.trx_state = 'LOCK WAIT' AND t.trx_query LIKE ?";
    // The database server refreshes this table only if it was not read for 0.1 seconds.
    tokio::time::sleep(Duration::from_millis(150)).await;
    let waiting: sqlx::Result<i64> = sqlx::query_scalar(WAITING).bind(statement).fetch_one(pool).await;
    // The database server cannot list its connections while the statement of any of them is not valid text.
    waiting.is_ok_and(|waiting| waiting > 0)
}

/// A process that starts after an outage of the database finds expired leases whose owners are alive.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_started_after_an_outage_leaves_running_turns_alone() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let owner = TestApp::spawn(&engine, &model).await;
        let conversation = owner.create_conversation().await;
        let gate = model.reply_gated([text("To the ")], [text("end.")]);
        let mut turn = owner.send(&conversation, "Go").await;
        turn.until("content_delta").await;
        gate.reached().await;
        // Until the trigger is dropped, renewing the lease has no effect.
        let past = "CREATE TRIGGER outage BEFORE UPDATE ON messages FOR EACH ROW \
                    SET NEW.lease_until = IF(NEW.status = 'streaming', '2020-01-01', NULL)";
        engine.run(past.to_owned()).await;
        eventually("the lease runs out", async || {
            let left = "SELECT COUNT(*) FROM messages WHERE status = 'streaming' AND lease_until > UTC_TIMESTAMP(6)";
            rows!(engine, (i64,), left) == [(0,)]
        })
        .await;
        let mut command = Program::command(&engine, &model);
        let other = TestApp::launch_command(&engine, command.env("TURN_LEASE_SECS", "20"));
        engine.run("DROP TRIGGER outage".to_owned()).await;
        assert_eq!(other.conversation(&conversation).await["running"], true);
        gate.open();
        let end = turn.until("message_end").await.event;
        assert!(matches!(end, ChatEvent::MessageEnd(end) if end.content == "To the end."));
    }
}
