//! Approval of tool calls: a high-risk call waits, and any running process accepts the decision. Tests of other topics:
//! - `approvals/saved_approvals`: saved approvals
//! - `approvals/restarts`: restarts and timeouts while a turn waits
//! - `approvals/planned`: approvals within a plan
//! - `approvals/reviews`: reviews of calls by models

mod planned;
mod restarts;
mod reviews;
mod saved_approvals;

use std::sync::Arc;

use parking_lot::Mutex;
use reqwest::{Response, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, Part, text, tool_call};
use tallybook_protocol::{ChatEvent, DeciderKind, FeedKind, MessageStatus};
use tallybook_tools::{Risk, Tool, ToolError, ToolOutput, ToolRegistry};

use crate::support::{Counts, Engine, EventReader, FeedReader, TestApp, end_of, execute, names, on_every_engine, rows};

/// Arguments of [`Orders`].
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dish {
    dish: String,
}

/// A tool that changes something, and records how.
#[derive(Clone, Default)]
pub(crate) struct Orders(Arc<Mutex<Vec<String>>>);

impl Orders {
    /// Returns the dishes that were ordered.
    pub(crate) fn orders(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}

impl Tool for Orders {
    type Args = Dish;
    const NAME: &'static str = "order";
    const DESCRIPTION: &'static str = "Orders a dish.";
    const RISK: Risk = Risk::High;

    async fn call(&self, Dish { dish }: Dish) -> Result<ToolOutput, ToolError> {
        self.0.lock().push(dish.clone());
        Ok(ToolOutput::text(format!("ordered {dish}")))
    }
}

/// A server with the tools `order` and `counts`, its model, and a conversation.
struct Fixture {
    app: TestApp,
    model: MockLlm,
    orders: Orders,
    counts: Counts,
    conversation: String,
}

pub(crate) fn tools(orders: &Orders, counts: &Counts) -> ToolRegistry {
    ToolRegistry::default().with(orders.clone()).unwrap().with(counts.clone()).unwrap()
}

impl Fixture {
    async fn set_up(engine: &Engine) -> Self {
        let model = MockLlm::start().await.unwrap();
        let (orders, counts) = (Orders::default(), Counts::default());
        let app = TestApp::builder(engine)
            .with_mock(&model)
            .with_tools(tools(&orders, &counts))
            .with_approval_timeout(None)
            .spawn()
            .await;
        let conversation = app.create_conversation().await;
        Self { app, model, orders, counts, conversation }
    }

    /// Makes the model order these dishes, and reads until the turn waits for approval. Returns the ids of the calls.
    async fn ask(&self, dishes: &[&str]) -> Vec<i64> {
        self.model.reply(dishes.iter().map(|dish| order(dish)).collect::<Vec<_>>());
        let events = self.app.send(&self.conversation, "I am hungry").await.all().await;
        assert_eq!(end_of(&events).status, MessageStatus::AwaitingApproval);
        asked(&events)
    }

    async fn decide(&self, id: i64, decision: Value) -> Response {
        self.app.post(&format!("/api/tool-calls/{id}/decision"), decision).await
    }

    /// Decides on the last call that waits, and reads the rest of the turn.
    async fn decide_last(&self, id: i64, decision: Value) -> Vec<ChatEvent> {
        EventReader::new(self.decide(id, decision).await).all().await
    }

    /// Returns the last message of the latest request to the model, which contains the results of its calls.
    fn last_prompt(&self) -> String {
        let request = self.model.requests().last().unwrap().body.clone();
        request["messages"].as_array().unwrap().last().unwrap()["content"].to_string()
    }
}

pub(crate) fn order(dish: &str) -> Part {
    tool_call("order", json!({ "dish": dish }).to_string())
}

/// Returns the ids of the calls that need approval.
fn asked(events: &[ChatEvent]) -> Vec<i64> {
    let asked = events.iter().filter_map(|event| match event {
        ChatEvent::ApprovalRequested(asked) => Some(asked.tool_call_id.0),
        _ => None,
    });
    asked.collect()
}

async fn problem(response: Response, status: StatusCode) -> Value {
    assert_eq!(response.status(), status);
    response.json().await.unwrap()
}

on_every_engine! {
    async fn a_high_risk_call_waits_and_runs_unchanged_after_approval(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let Fixture { app, model, orders, counts, conversation } = &fixture;
        let mut feed = FeedReader::open(app).await;
        model.reply([text("Let me see. "), order("pizza"), tool_call("counts", "{}")]);
        let events = app.send(conversation, "I am hungry").await.all().await;
        let expected = ["message_start", "content_delta", "tool_call_start", "tool_call_end", "approval_requested", "message_end"];
        assert_eq!(names(&events), expected);
        let ChatEvent::ApprovalRequested(call) = &events[events.len() - 2] else { panic!("{events:?}") };
        assert_eq!((call.tool_name.as_str(), call.risk.as_str(), call.offset), ("order", "high", 12));
        assert_eq!((end_of(&events).status, end_of(&events).tool_calls.len()), (MessageStatus::AwaitingApproval, 2));
        assert_eq!((counts.runs(), orders.orders().len()), (1, 0));
        let mut kinds = vec![feed.next().await.kind];
        while kinds.last() != Some(&FeedKind::TurnEnded) {
            kinds.push(feed.next().await.kind);
        }
        assert!(kinds.contains(&FeedKind::ConversationUpdated), "{kinds:?}");

        let seen = app.conversation(conversation).await;
        let flags = (&seen["running"], &seen["awaiting_approval"], &seen["active_message_id"]);
        assert_eq!(flags, (&json!(false), &json!(true), &Value::Null));
        assert_eq!(seen["messages"][1]["status"], "awaiting_approval");
        assert_eq!(app.get_json("/api/conversations").await["items"][0]["awaiting_approval"], true);
        let nothing = app.get(&format!("/api/conversations/{conversation}/events")).await;
        assert_eq!(nothing.status(), StatusCode::NO_CONTENT);

        model.reply([text("Enjoy.")]);
        let events = fixture.decide_last(call.tool_call_id.0, json!({ "decision": "approve" })).await;
        let expected = ["snapshot", "approval_decided", "tool_call_start", "tool_call_end", "content_delta", "message_end"];
        assert_eq!(names(&events), expected);
        let ChatEvent::ToolCallStart(start) = &events[2] else { panic!("{events:?}") };
        assert_eq!((start.tool_call_id, start.offset), (call.tool_call_id, 12));
        assert_eq!((end_of(&events).status, end_of(&events).content.as_str()), (MessageStatus::Complete, "Let me see. \n\nEnjoy."));
        assert_eq!(orders.orders(), ["pizza"]);
        let calls = rows!(app, (String, String), "SELECT tool_name, status FROM tool_calls ORDER BY position");
        let calls: Vec<_> = calls.iter().map(|(tool, status)| (tool.as_str(), status.as_str())).collect();
        assert_eq!(calls, [("order", "success"), ("counts", "success")]);
        let seen = app.idle_conversation(conversation).await;
        assert!(seen["awaiting_approval"].is_null() && seen["messages"][1]["tool_calls"][0]["proposed_input"].is_null());
        model.assert_calls_paired();
    }

    async fn an_edited_input_runs_and_both_inputs_are_stored(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let ids = fixture.ask(&["pizza"]).await;
        fixture.model.reply([text("Salad, then.")]);
        let events = fixture.decide_last(ids[0], json!({ "decision": "approve", "input": { "dish": "salad" } })).await;
        let ChatEvent::ApprovalDecided(decided) = &events[1] else { panic!("{events:?}") };
        assert_eq!(decided.input.as_ref().unwrap().as_str(), r#"{"dish":"salad"}"#);
        assert_eq!(fixture.orders.orders(), ["salad"]);
        let prompt = fixture.last_prompt();
        assert!(prompt.contains("A person changed the arguments") && prompt.contains("salad"), "{prompt}");
        let texts = rows!(fixture.app, (String, Option<String>), "SELECT input_text, proposed_input_text FROM tool_calls");
        assert_eq!(texts, [(r#"{"dish":"salad"}"#.to_owned(), Some(r#"{"dish":"pizza"}"#.to_owned()))]);
        let approvals = rows!(fixture.app, (String, String, String, Option<String>),
            "SELECT decision, decided_by, proposed_input, final_input FROM approvals");
        let [(decision, decided_by, proposed, run)] = approvals.as_slice() else { panic!("{approvals:?}") };
        assert_eq!((decision.as_str(), decided_by.as_str()), ("approve", "local"));
        assert_eq!((decided.decided_by_kind, decided.decided_by_user_id), (DeciderKind::User, Some(1)));
        assert_eq!((proposed.as_str(), run.as_deref()), (r#"{"dish":"pizza"}"#, Some(r#"{"dish":"salad"}"#)));
        let call = fixture.app.get_json(&format!("/api/tool-calls/{}", ids[0])).await;
        assert_eq!((&call["input"], &call["proposed_input"]), (&json!({"dish": "salad"}), &json!({"dish": "pizza"})));
        let file = fixture.app.get(&format!("/api/conversations/{}/export?format=markdown", fixture.conversation)).await;
        let file = file.text().await.unwrap();
        assert!(file.contains("salad") && file.contains("pizza"), "{file}");
        // The prompts of later turns contain the change, too.
        fixture.model.reply([text("Salad.")]);
        fixture.app.send(&fixture.conversation, "What was it?").await.all().await;
        assert!(fixture.model.requests().last().unwrap().body_text.contains("A person changed the arguments"));
        fixture.model.assert_calls_paired();
    }

    async fn the_model_receives_a_denial_with_its_reason(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let ids = fixture.ask(&["pizza"]).await;
        fixture.model.reply([text("No pizza.")]);
        let events = fixture.decide_last(ids[0], json!({ "decision": "deny", "reason": "too late at night" })).await;
        assert_eq!(names(&events), ["snapshot", "approval_decided", "content_delta", "message_end"]);
        assert!(fixture.orders.orders().is_empty());
        assert!(fixture.last_prompt().contains("A person refused this call, so it did not run: too late at night"));
        let call = &fixture.app.idle_conversation(&fixture.conversation).await["messages"][1]["tool_calls"][0];
        assert_eq!(call["status"], "denied");
        assert!(call["error"].as_str().unwrap().ends_with("too late at night"), "{call}");
        let file = fixture.app.get(&format!("/api/conversations/{}/export?format=markdown", fixture.conversation)).await;
        assert!(file.text().await.unwrap().contains("too late at night"));
        fixture.model.assert_calls_paired();
    }

    async fn calls_of_a_step_are_decided_one_by_one_and_run_in_order(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let ids = fixture.ask(&["pizza", "soup", "cake"]).await;
        let first = fixture.decide(ids[2], json!({ "decision": "approve" })).await;
        assert_eq!(first.status(), StatusCode::OK);
        let call: Value = first.json().await.unwrap();
        assert_eq!((&call["tool_call_id"], &call["status"]), (&json!(ids[2]), &json!("pending")));
        fixture.decide(ids[1], json!({ "decision": "deny" })).await;
        assert!(fixture.orders.orders().is_empty(), "nothing runs before all are decided");
        let statuses = fixture.app.conversation(&fixture.conversation).await["messages"][1]["tool_calls"]
            .as_array().unwrap().iter().map(|call| call["status"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        assert_eq!(statuses, ["awaiting_approval", "denied", "pending"]);
        fixture.model.reply([text("Two dishes.")]);
        fixture.decide_last(ids[0], json!({ "decision": "approve" })).await;
        assert_eq!(fixture.orders.orders(), ["pizza", "cake"]);
        fixture.model.assert_calls_paired();
    }

    async fn several_decisions_are_accepted_together_or_not_at_all(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let ids = fixture.ask(&["pizza", "soup"]).await;
        let path = format!("/api/conversations/{}/decisions", fixture.conversation);
        let decisions = |second: i64| json!({ "decisions": [
            { "tool_call_id": ids[0], "decision": "approve" }, { "tool_call_id": second, "decision": "deny" },
        ] });
        let unknown = problem(fixture.app.post(&path, decisions(999_999)).await, StatusCode::NOT_FOUND).await;
        assert_eq!(unknown["type"], "/problems/no-such-tool-call");
        let twice = problem(fixture.app.post(&path, decisions(ids[0])).await, StatusCode::UNPROCESSABLE_ENTITY).await;
        assert_eq!(twice["type"], "/problems/invalid-input");
        let elsewhere = fixture.app.create_conversation().await;
        let elsewhere = format!("/api/conversations/{elsewhere}/decisions");
        assert_eq!(fixture.app.post(&elsewhere, decisions(ids[1])).await.status(), StatusCode::NOT_FOUND);
        assert_eq!(rows!(fixture.app, (i64,), "SELECT COUNT(*) FROM approvals"), [(0,)]);
        fixture.model.reply([text("Pizza.")]);
        EventReader::new(fixture.app.post(&path, decisions(ids[1])).await).all().await;
        assert_eq!(fixture.orders.orders(), ["pizza"]);
        fixture.model.assert_calls_paired();
    }

    async fn the_second_decision_on_a_call_is_refused(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let ids = fixture.ask(&["pizza", "soup"]).await;
        let (approve, deny) = (json!({ "decision": "approve" }), json!({ "decision": "deny", "reason": "no" }));
        let (one, other) = tokio::join!(fixture.decide(ids[0], approve.clone()), fixture.decide(ids[0], deny));
        let (taken, refused) = if one.status() == StatusCode::OK { (one, other) } else { (other, one) };
        assert_eq!(taken.status(), StatusCode::OK);
        let refused = problem(refused, StatusCode::CONFLICT).await;
        assert_eq!(refused["type"], "/problems/already_decided");
        assert!(refused["detail"].as_str().unwrap().contains("by local"), "{refused}");
        assert_eq!(rows!(fixture.app, (i64,), "SELECT COUNT(*) FROM approvals"), [(1,)]);
        let unknown = fixture.decide(999_999, approve).await;
        assert_eq!(unknown.status(), StatusCode::NOT_FOUND);
    }

    async fn invalid_decisions_are_refused(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let ids = fixture.ask(&["pizza"]).await;
        for bad in [
            json!({ "decision": "approve", "input": "salad" }),
            json!({ "decision": "approve", "input": [1] }),
            json!({ "decision": "approve", "input": { "dish": "x".repeat(1024 * 1024) } }),
            json!({ "decision": "deny", "reason": "x".repeat(4097) }),
            json!({ "decision": "deny", "reason": "no\0way" }),
            json!({ "decision": "deny", "input": {} }),
            json!({ "decision": "deny", "remember": "always" }),
        ] {
            let refused = problem(fixture.decide(ids[0], bad).await, StatusCode::UNPROCESSABLE_ENTITY).await;
            assert_eq!(refused["type"], "/problems/invalid-input");
        }
        assert_eq!(fixture.decide(ids[0], json!({ "decision": "perhaps" })).await.status(), StatusCode::BAD_REQUEST);
        assert_eq!(rows!(fixture.app, (i64,), "SELECT COUNT(*) FROM approvals"), [(0,)]);
    }

    /// If the agent would reject an edited input, the decision is refused, so the call can still be decided.
    async fn an_invalid_edited_input_leaves_the_call_undecided(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let ids = fixture.ask(&["pizza", "soup"]).await;
        let nested = format!(r#"{{"dish":{}{}}}"#, "[".repeat(5000), "]".repeat(5000));
        let several = format!("/api/conversations/{}/decisions", fixture.conversation);
        let send = async |path: &str, body: String| {
            let request = fixture.app.client.post(fixture.app.url(path)).header("content-type", "application/json");
            request.body(body).send().await.unwrap()
        };
        for input in [
            r#"{"dish":"a\ud800"}"#, r#"{"dish":"a","\udc00":1}"#, r#"{"dish":1e999999}"#, r#"{"dish":7}"#, "{}", &nested,
            r#"{"dish":"a","plate":1}"#, r#"{"dish":"a","dish":"b"}"#, r#"{"dish":"[hidden]"}"#, "[]", r#""salad""#,
        ] {
            let decision = format!(r#""decision":"approve","remember":"always","input":{input}"#);
            let one = send(&format!("/api/tool-calls/{}/decision", ids[0]), format!("{{{decision}}}")).await;
            let both = format!(
                r#"{{"decisions":[{{"tool_call_id":{},"decision":"approve"}},{{"tool_call_id":{},{decision}}}]}}"#,
                ids[1], ids[0]
            );
            for refused in [one, send(&several, both).await] {
                let refused = problem(refused, StatusCode::UNPROCESSABLE_ENTITY).await;
                assert_eq!(refused["type"], "/problems/invalid-input", "{input:.40}");
                assert!(refused["detail"].as_str().unwrap().contains("edited input"), "{refused}");
            }
        }
        assert_eq!(rows!(fixture.app, (i64,), "SELECT COUNT(*) FROM approvals"), [(0,)]);
        assert_eq!(rows!(fixture.app, (String,), "SELECT DISTINCT status FROM tool_calls"), [("awaiting_approval".to_owned(),)]);
        fixture.decide(ids[1], json!({ "decision": "deny" })).await;
        fixture.model.reply([text("Salad, then.")]);
        fixture.decide_last(ids[0], json!({ "decision": "approve", "input": { "dish": "salad" } })).await;
        assert_eq!(fixture.orders.orders(), ["salad"]);
        fixture.model.assert_calls_paired();
    }

    async fn another_users_call_is_not_found(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let ids = fixture.ask(&["pizza"]).await;
        let other = "INSERT INTO users (id, name, role, created_at) VALUES (2, 'other', 'user', '2026-01-01 00:00:00')";
        execute!(fixture.app, other);
        execute!(fixture.app, "UPDATE conversations SET user_id = 2");
        let refused = fixture.decide(ids[0], json!({ "decision": "approve" })).await;
        assert_eq!(problem(refused, StatusCode::NOT_FOUND).await["type"], "/problems/no-such-tool-call");
        assert!(fixture.orders.orders().is_empty());
    }

    async fn no_other_turn_starts_while_a_turn_waits(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        fixture.ask(&["pizza"]).await;
        let path = |rest: &str| format!("/api/conversations/{}/{rest}", fixture.conversation);
        let answer = fixture.app.conversation(&fixture.conversation).await["messages"][1]["id"].clone();
        for (rest, body) in [
            ("messages".to_owned(), json!({ "content": "And now?" })),
            (format!("messages/{answer}/regenerate"), json!({})),
            (format!("messages/{answer}/select"), json!({})),
            ("continue".to_owned(), json!({})),
        ] {
            let refused = problem(fixture.app.post(&path(&rest), body).await, StatusCode::CONFLICT).await;
            assert_eq!(refused["type"], "/problems/awaiting_approval", "{rest}");
        }
        fixture.app.delete(&fixture.conversation).await;
        let ended = rows!(
            fixture.app,
            (String, String),
            "SELECT t.status, m.status FROM tool_calls t JOIN messages m ON m.id = t.message_id"
        );
        assert_eq!(ended, [("denied".to_owned(), "stopped".to_owned())]);
    }

    async fn stopping_denies_waiting_calls_and_ends_the_turn(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let Fixture { app, model, conversation, .. } = &fixture;
        model.reply([order("pizza"), order("soup")]);
        let mut turn = app.send(conversation, "I am hungry").await;
        let end = turn.until("message_end").await;
        let ids = app.conversation(conversation).await["messages"][1]["tool_calls"].clone();
        fixture.decide(ids[0]["tool_call_id"].as_i64().unwrap(), json!({ "decision": "approve" })).await;
        let mut feed = FeedReader::open(app).await;
        let stopped = app.post(&format!("/api/conversations/{conversation}/stop"), json!({})).await;
        assert_eq!(stopped.status(), StatusCode::NO_CONTENT);
        while feed.next().await.kind != FeedKind::TurnEnded {}
        let seen = app.conversation(conversation).await;
        assert_eq!((&seen["running"], &seen["messages"][1]["status"]), (&json!(false), &json!("stopped")));
        let calls = rows!(app, (String, Option<String>), "SELECT status, error_type FROM tool_calls ORDER BY position");
        let cancelled = ("cancelled".to_owned(), Some("not_started".to_owned()));
        assert_eq!(calls, [cancelled, ("denied".to_owned(), Some("denied".to_owned()))]);
        let reasons = rows!(app, (Option<String>,), "SELECT reason FROM approvals WHERE decision = 'deny'");
        assert_eq!(reasons, [(Some("stopped".to_owned()),)]);
        // A client that has received the event that the turn waits still receives the end of the turn.
        let owed = app.follow(conversation, end.id.as_deref()).await.all().await;
        assert_eq!((end_of(&owed).status, owed.len()), (MessageStatus::Stopped, 1));
        model.reply([text("As you like.")]);
        app.send(conversation, "Never mind").await.all().await;
        assert!(fixture.orders.orders().is_empty());
        model.assert_calls_paired();
    }

    /// The call was approved but never started, so approval is requested again.
    async fn a_turn_resumed_after_a_stop_requests_approval_again(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let ids = fixture.ask(&["pizza", "soup"]).await;
        fixture.decide(ids[0], json!({ "decision": "approve" })).await;
        fixture.app.post(&format!("/api/conversations/{}/stop", fixture.conversation), json!({})).await;
        let events = fixture.app.continue_turn(&fixture.conversation).await.all().await;
        assert_eq!(end_of(&events).status, MessageStatus::AwaitingApproval);
        let again = asked(&events);
        assert!(again.len() == 1 && again[0] > ids[1], "{again:?}");
        fixture.model.reply([text("Pizza.")]);
        fixture.decide_last(again[0], json!({ "decision": "approve" })).await;
        assert_eq!(fixture.orders.orders(), ["pizza"]);
        fixture.model.assert_calls_paired();
    }
}
