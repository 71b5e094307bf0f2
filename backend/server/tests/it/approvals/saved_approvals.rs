//! Saved approvals: their scope (a conversation, or always), how they are revoked, and that a changed tool voids them.

use reqwest::StatusCode;
use serde_json::json;
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_protocol::MessageStatus;
use tallybook_tools::{Risk, Tool, ToolError, ToolOutput, ToolRegistry};

use super::{Dish, Fixture, Orders, asked, order, problem};
use crate::support::{Engine, EventReader, TestApp, end_of, execute, on_every_engine, rows};

/// Another tool that needs approval.
struct Tip;

impl Tool for Tip {
    type Args = Dish;
    const NAME: &'static str = "tip";
    const DESCRIPTION: &'static str = "Tips the cook.";
    const RISK: Risk = Risk::High;

    async fn call(&self, _: Dish) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("tipped"))
    }
}

/// Returns the statuses of all calls, in order.
async fn statuses(app: &TestApp) -> Vec<String> {
    rows!(app, (String,), "SELECT status FROM tool_calls ORDER BY id").into_iter().map(|(status,)| status).collect()
}

on_every_engine! {
    async fn an_approval_for_a_conversation_applies_only_there(engine: Engine) {
        let mut fixture = Fixture::set_up(&engine).await;
        let ids = fixture.ask(&["pizza"]).await;
        // A later call of the same turn, and one of a later turn.
        fixture.model.reply([order("soup")]);
        fixture.model.reply([text("Both.")]);
        fixture.decide_last(ids[0], json!({ "decision": "approve", "remember": "conversation" })).await;
        fixture.model.reply([order("cake")]);
        fixture.model.reply([text("Done.")]);
        let events = fixture.app.send(&fixture.conversation, "Dessert").await.all().await;
        assert_eq!(end_of(&events).status, MessageStatus::Complete);
        assert_eq!(fixture.orders.orders(), ["pizza", "soup", "cake"]);
        let listed = fixture.app.get_json("/api/approvals").await["items"].clone();
        assert_eq!((&listed[0]["tool_name"], &listed[0]["scope"]), (&json!("order"), &json!("conversation")));
        assert_eq!(listed[0]["conversation_id"], json!(fixture.conversation));
        fixture.conversation = fixture.app.create_conversation().await;
        assert_eq!(fixture.ask(&["tea"]).await.len(), 1);
    }

    async fn an_approval_for_always_applies_until_it_is_revoked(engine: Engine) {
        let mut fixture = Fixture::set_up(&engine).await;
        let ids = fixture.ask(&["pizza"]).await;
        fixture.model.reply([text("Done.")]);
        fixture.decide_last(ids[0], json!({ "decision": "approve", "remember": "always" })).await;
        fixture.conversation = fixture.app.create_conversation().await;
        fixture.model.reply([order("soup")]);
        fixture.model.reply([text("Done.")]);
        let events = fixture.app.send(&fixture.conversation, "Soup").await.all().await;
        assert_eq!(end_of(&events).status, MessageStatus::Complete);
        assert_eq!(statuses(&fixture.app).await, ["success", "success"]);

        let id = fixture.app.get_json("/api/approvals").await["items"][0]["id"].clone();
        let revoke = async || {
            let path = fixture.app.url(&format!("/api/approvals/{id}"));
            fixture.app.client.delete(path).send().await.unwrap().status()
        };
        assert_eq!(revoke().await, StatusCode::NO_CONTENT);
        assert_eq!(revoke().await, StatusCode::NOT_FOUND);
        assert_eq!(fixture.app.get_json("/api/approvals").await["items"], json!([]));
        assert_eq!(fixture.ask(&["tea"]).await.len(), 1);
        assert_eq!(fixture.orders.orders(), ["pizza", "soup"]);
    }

    async fn an_approval_for_always_applies_only_to_its_user(engine: Engine) {
        let mut fixture = Fixture::set_up(&engine).await;
        let ids = fixture.ask(&["pizza"]).await;
        fixture.model.reply([text("Done.")]);
        fixture.decide_last(ids[0], json!({ "decision": "approve", "remember": "always" })).await;
        let other = "INSERT INTO users (id, name, role, created_at) VALUES (2, 'other', 'user', '2026-01-01 00:00:00')";
        execute!(fixture.app, other);
        // From now on, the saved approval belongs to the other user.
        execute!(fixture.app, "UPDATE conversations SET user_id = 2");
        assert_eq!(fixture.app.get_json("/api/approvals").await["items"], json!([]));
        fixture.conversation = fixture.app.create_conversation().await;
        assert_eq!(fixture.ask(&["soup"]).await.len(), 1);
        assert_eq!(fixture.orders.orders(), ["pizza"]);
    }

    async fn a_saved_approval_ends_with_its_conversation(engine: Engine) {
        let mut fixture = Fixture::set_up(&engine).await;
        let ids = fixture.ask(&["pizza"]).await;
        fixture.model.reply([text("Done.")]);
        fixture.decide_last(ids[0], json!({ "decision": "approve", "remember": "always" })).await;
        let id = fixture.app.get_json("/api/approvals").await["items"][0]["id"].clone();
        fixture.app.delete(&fixture.conversation).await;
        assert_eq!(fixture.app.get_json("/api/approvals").await["items"], json!([]));
        let revoke = fixture.app.client.delete(fixture.app.url(&format!("/api/approvals/{id}"))).send().await.unwrap();
        assert_eq!(revoke.status(), StatusCode::NOT_FOUND);
        fixture.conversation = fixture.app.create_conversation().await;
        assert_eq!(fixture.ask(&["soup"]).await.len(), 1);
        assert_eq!(fixture.orders.orders(), ["pizza"]);
    }

    async fn a_saved_approval_is_void_if_the_tool_changed(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let ids = fixture.ask(&["pizza"]).await;
        fixture.model.reply([text("Done.")]);
        fixture.decide_last(ids[0], json!({ "decision": "approve", "remember": "always" })).await;
        execute!(fixture.app, "UPDATE approvals SET tool_hash = 'of another definition'");
        assert_eq!(fixture.ask(&["soup"]).await.len(), 1);
        assert_eq!(fixture.orders.orders(), ["pizza"]);
    }

    async fn a_call_of_a_changed_tool_needs_a_new_decision(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let ids = fixture.ask(&["pizza"]).await;
        execute!(fixture.app, "UPDATE tool_calls SET tool_hash = 'of another definition'");
        let refused = problem(fixture.decide(ids[0], json!({ "decision": "approve" })).await, StatusCode::CONFLICT).await;
        assert_eq!(refused["type"], "/problems/tool_changed");
        assert!(refused["detail"].as_str().unwrap().contains("Orders a dish."), "{refused}");
        assert!(fixture.orders.orders().is_empty());
        fixture.model.reply([text("Done.")]);
        fixture.decide_last(ids[0], json!({ "decision": "approve" })).await;
        assert_eq!(fixture.orders.orders(), ["pizza"]);
    }

    /// The error describes one tool, so a decision never accepts a definition that the user has not seen.
    async fn changed_tools_are_reported_one_at_a_time(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let orders = Orders::default();
        let tools = ToolRegistry::default().with(orders.clone()).unwrap().with(Tip).unwrap();
        let app = TestApp::builder(&engine)
            .with_mock(&model)
            .with_tools(tools)
            .with_approval_timeout(None)
            .spawn()
            .await;
        let conversation = app.create_conversation().await;
        model.reply([order("pizza"), tool_call("tip", json!({ "dish": "pizza" }).to_string()), order("soup")]);
        let ids = asked(&app.send(&conversation, "I am hungry").await.all().await);
        execute!(app, "UPDATE tool_calls SET tool_hash = 'of another definition'");
        let decisions: Vec<_> =
            ids.iter().map(|id| json!({ "tool_call_id": id, "decision": "approve" })).collect();
        let path = format!("/api/conversations/{conversation}/decisions");
        let decide = async || app.post(&path, json!({ "decisions": decisions })).await;
        for description in ["Orders a dish.", "Tips the cook."] {
            let refused = problem(decide().await, StatusCode::CONFLICT).await;
            assert_eq!(refused["type"], "/problems/tool_changed");
            assert!(refused["detail"].as_str().unwrap().contains(description), "{refused}");
        }
        assert!(orders.orders().is_empty());
        model.reply([text("Done.")]);
        let events = EventReader::new(decide().await).all().await;
        assert_eq!(end_of(&events).status, MessageStatus::Complete);
        assert_eq!(orders.orders(), ["pizza", "soup"]);
    }
}

/// A trigger that changes the call and ignores the decision has the same effect as another request that requests
/// approval again at that moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_changes_during_a_decision_is_reported_as_changed() {
    let fixture = Fixture::set_up(&Engine::sqlite()).await;
    let ids = fixture.ask(&["pizza"]).await;
    let trigger = "CREATE TRIGGER change BEFORE UPDATE OF decided_at ON tool_calls BEGIN SELECT RAISE(IGNORE); END";
    execute!(fixture.app, trigger);
    let refused = problem(fixture.decide(ids[0], json!({ "decision": "approve" })).await, StatusCode::CONFLICT).await;
    assert_eq!(refused["type"], "/problems/tool_changed", "{refused}");
    execute!(fixture.app, "DROP TRIGGER change");
    fixture.model.reply([text("Done.")]);
    fixture.decide_last(ids[0], json!({ "decision": "approve" })).await;
    assert_eq!(fixture.orders.orders(), ["pizza"]);
}
