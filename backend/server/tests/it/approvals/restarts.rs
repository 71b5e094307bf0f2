//! Restarts, crashes and timeouts while a turn waits for approval, and decisions through another replica.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;
use tallybook_accounts::AccountsSettings;
use tallybook_conversations::UserLimits;
use tallybook_mock_llm::{MockLlm, text};
use tallybook_protocol::{ChatEvent, MessageStatus};

use super::{Fixture, Orders, asked, order, tools};
use crate::support::{
    Counts, Engine, EventReader, Provider, TestApp, end_of, eventually, execute, on_every_engine, rows,
};

on_every_engine! {
    async fn a_waiting_turn_survives_a_restart_of_the_server(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let ids = fixture.ask(&["pizza"]).await;
        let Fixture { app, model, orders, counts, conversation } = fixture;
        app.shut_down().await;
        let settings = Provider::Anthropic.settings(model.url());
        let app = TestApp::builder(&engine).with_model(settings).with_tools(tools(&orders, &counts)).spawn().await;
        assert_eq!(app.conversation(&conversation).await["awaiting_approval"], true);
        let fixture = Fixture { app, model, orders, counts, conversation };
        fixture.model.reply([text("Enjoy.")]);
        let events = fixture.decide_last(ids[0], json!({ "decision": "approve" })).await;
        assert_eq!(end_of(&events).status, MessageStatus::Complete);
        assert_eq!(fixture.orders.orders(), ["pizza"]);
        fixture.model.assert_calls_paired();
    }

    /// When the process dies, only the decision is stored.
    async fn a_turn_resumes_after_its_server_died_right_after_the_last_decision(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        fixture.ask(&["pizza", "soup"]).await;
        fixture.model.reply([text("Enjoy.")]);
        execute!(fixture.app, "UPDATE tool_calls SET decided_at = started_at");
        eventually("the turn resumes by itself", async || {
            fixture.app.conversation(&fixture.conversation).await["messages"][1]["status"] == "complete"
        })
        .await;
        assert_eq!(fixture.orders.orders(), ["pizza", "soup"]);
        fixture.model.assert_calls_paired();
    }

    /// A waiting turn does not count toward the limit of concurrent turns. After the decision it does, so it resumes
    /// when the limit allows it.
    async fn a_decided_turn_waits_for_the_limit_of_concurrent_turns(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let orders = Orders::default();
        let (tools, accounts) = (tools(&orders, &Counts::default()), AccountsSettings::default());
        let limits = UserLimits { turns: 1, ..UserLimits::default() };
        let app = TestApp::builder(&engine)
            .with_mock(&model)
            .with_tools(tools)
            .with_accounts(accounts)
            .with_user_limits(limits)
            .spawn()
            .await;
        let (first, second) = (app.create_conversation().await, app.create_conversation().await);
        model.reply([order("pizza")]);
        let id = asked(&app.send(&first, "I am hungry").await.all().await)[0];
        let gate = model.reply_late([text("Yes.")]);
        let running = app.send(&second, "Go?").await;
        gate.reached().await;
        model.reply([text("Enjoy.")]);
        let decided = app.post(&format!("/api/tool-calls/{id}/decision"), json!({ "decision": "approve" })).await;
        assert_eq!(decided.status(), StatusCode::OK);
        assert_eq!(decided.headers()["content-type"], "application/json", "there is no event stream yet");
        assert!(orders.orders().is_empty());
        let third = app.create_conversation().await;
        let refused = app.post(&format!("/api/conversations/{third}/messages"), json!({"content": "Go?"})).await;
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        gate.open();
        running.all().await;
        eventually("the turn resumes by itself", async || {
            app.conversation(&first).await["messages"][1]["status"] == "complete"
        })
        .await;
        assert_eq!(orders.orders(), ["pizza"]);
        model.assert_calls_paired();
    }

    async fn a_call_is_denied_at_the_approval_timeout(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let orders = Orders::default();
        let (tools, wait) = (tools(&orders, &Counts::default()), Some(Duration::from_millis(10)));
        let app = TestApp::builder(&engine)
            .with_mock(&model)
            .with_tools(tools)
            .with_approval_timeout(wait)
            .spawn()
            .await;
        let conversation = app.create_conversation().await;
        model.reply([order("pizza")]);
        model.reply([text("Then not.")]);
        app.send(&conversation, "I am hungry").await.all().await;
        eventually("the turn resumes", async || {
            app.conversation(&conversation).await["messages"][1]["status"] == "complete"
        })
        .await;
        assert!(orders.orders().is_empty());
        let columns = "SELECT decision, decided_by, decided_by_kind, decided_by_user_id, reason FROM approvals";
        let approvals = rows!(app, (String, String, String, Option<i64>, Option<String>), columns);
        let expected = ["deny", "nobody", "timeout"].map(str::to_owned);
        let [decision, decided_by, kind] = expected;
        // prose-ok: a stored value
        assert_eq!(approvals, [(decision, decided_by, kind, None, Some("nobody decided".to_owned()))]);
        let call = &app.conversation(&conversation).await["messages"][1]["tool_calls"][0];
        assert_eq!((&call["decision"]["decided_by_kind"], &call["error_type"]), (&json!("timeout"), &json!("denied")));
        let prompt = model.requests().last().unwrap().body_text.clone();
        // prose-ok: a text for models
        assert!(prompt.contains("Nobody decided on this call in time"), "{prompt}");
        model.assert_calls_paired();
    }

    async fn a_changed_approval_timeout_applies_to_calls_that_wait(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        fixture.ask(&["pizza"]).await;
        fixture.model.reply([text("Then not.")]);
        let url = fixture.app.url("/api/admin/settings");
        let changed = fixture.app.client.patch(url).json(&json!({"consent_wait_hours": 0.000_001})).send().await.unwrap();
        assert_eq!(changed.status(), 200);
        eventually("the turn resumes", async || {
            fixture.app.conversation(&fixture.conversation).await["messages"][1]["status"] == "complete"
        })
        .await;
        assert!(fixture.orders.orders().is_empty());
    }

    /// Only the time that the turn runs before and after waiting counts.
    async fn waiting_for_approval_does_not_count_toward_the_turn_timeout(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let ids = fixture.ask(&["pizza"]).await;
        let ran = rows!(fixture.app, (i64,), "SELECT active_ms FROM messages WHERE role = 'assistant'");
        assert!((0..60_000).contains(&ran[0].0), "{ran:?}");
        fixture.model.reply([order("soup")]);
        let events = fixture.decide_last(ids[0], json!({ "decision": "approve" })).await;
        assert_eq!(end_of(&events).status, MessageStatus::AwaitingApproval);
        let ids = asked(&events);
        // A turn has a timeout of five minutes.
        execute!(fixture.app, "UPDATE messages SET active_ms = 300000 WHERE role = 'assistant'");
        let events = fixture.decide_last(ids[0], json!({ "decision": "approve" })).await;
        let Some(ChatEvent::Error(error)) = events.last() else { panic!("{events:?}") };
        assert_eq!(error.code, "turn_timeout");
        assert_eq!(fixture.orders.orders(), ["pizza"]);
        let call = rows!(fixture.app, (String, Option<String>), "SELECT status, error_type FROM tool_calls ORDER BY id DESC");
        assert_eq!(call[0], ("cancelled".to_owned(), Some("not_started".to_owned())));
    }
}

/// The clocks of replicas differ, and these times are compared with the database's clock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn times_of_requests_and_decisions_come_from_the_databases_clock() {
    for engine in Engine::every_mysql_with_tables().await {
        let (behind, proxy) = engine.clone().behind_proxy().await;
        proxy.set_clock(chrono::Utc::now().timestamp() + 3600);
        let fixture = Fixture::set_up(&behind).await;
        let ids = fixture.ask(&["pizza"]).await;
        let later = "SELECT COUNT(*) FROM tool_calls WHERE started_at > UTC_TIMESTAMP(6)";
        assert_eq!(rows!(engine, (i64,), later), [(1,)]);
        fixture.model.reply([text("Enjoy.")]);
        fixture.decide_last(ids[0], json!({ "decision": "approve" })).await;
        let later = "SELECT COUNT(*) FROM tool_calls t JOIN approvals a ON a.tool_call_id = t.id \
             WHERE t.decided_at > UTC_TIMESTAMP(6) AND a.created_at > UTC_TIMESTAMP(6)";
        assert_eq!(rows!(engine, (i64,), later), [(1,)]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_replica_accepts_the_decision() {
    for engine in Engine::every_mysql_with_tables().await {
        let fixture = Fixture::set_up(&engine).await;
        let ids = fixture.ask(&["pizza", "soup"]).await;
        let settings = Provider::Anthropic.settings(fixture.model.url());
        let tools = tools(&fixture.orders, &fixture.counts);
        let other = TestApp::builder(&engine).with_model(settings).with_tools(tools).spawn().await;
        let path = |id: i64| format!("/api/tool-calls/{id}/decision");
        let approve = json!({ "decision": "approve" });
        let (first, last) = (path(ids[0]), path(ids[1]));
        let (here, there) = tokio::join!(fixture.decide(ids[0], approve.clone()), other.post(&first, approve.clone()));
        let mut statuses = [here.status(), there.status()];
        statuses.sort();
        assert_eq!(statuses, [StatusCode::OK, StatusCode::CONFLICT]);
        fixture.model.reply([text("Enjoy.")]);
        let events = EventReader::new(other.post(&last, approve).await).all().await;
        assert_eq!(end_of(&events).status, MessageStatus::Complete);
        assert_eq!(fixture.orders.orders(), ["pizza", "soup"]);
        assert_eq!(fixture.app.idle_conversation(&fixture.conversation).await["messages"][1]["status"], "complete");
        fixture.model.assert_calls_paired();
    }
}
