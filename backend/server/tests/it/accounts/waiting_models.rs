//! Answers that wait for an approval while their model is removed, or no longer permitted to their user.

use reqwest::Method;
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text};

use super::{
    groups::{group, set_members},
    kit::{ADMIN, Team, Who, required, with_admin},
};
use crate::{
    approvals::{Orders, order, tools},
    support::{Counts, Engine, TestApp, on_every_engine, rows},
};

/// A server whose default model is `default`, and on which an admin has added the models `Opal` and `Pearl`. The tool
/// `order` needs approval.
struct Fixture {
    team: Team,
    admin: Who,
    ann: Who,
    /// The ID of ann.
    id: i64,
    default: MockLlm,
    opal: MockLlm,
    pearl: MockLlm,
    orders: Orders,
}

impl Fixture {
    async fn start(engine: &Engine) -> Self {
        let [default, opal, pearl] = [MockLlm::start().await, MockLlm::start().await, MockLlm::start().await];
        let (default, opal, pearl) = (default.unwrap(), opal.unwrap(), pearl.unwrap());
        let orders = Orders::default();
        with_admin(engine).await;
        let app = TestApp::builder(engine)
            .with_mock(&default)
            .with_tools(tools(&orders, &Counts::default()))
            .with_approval_timeout(None)
            .with_accounts(required());
        let team = Team::of(app.spawn().await);
        let admin = team.sign_in(ADMIN).await;
        let (ann, id) = team.user(&admin, "ann").await;
        let fixture = Self { team, admin, ann, id, default, opal, pearl, orders };
        fixture.add("Opal", &fixture.opal).await;
        fixture.add("Pearl", &fixture.pearl).await;
        fixture
    }

    async fn add(&self, name: &str, model: &MockLlm) {
        let new = json!({"name": name, "provider": "anthropic", "base_url": model.url(), "api_key": "a key"});
        self.team.json(&self.admin, Method::POST, "/api/admin/models", new, 201).await;
    }

    /// Asks Opal in a new conversation with this model, until the answer waits for an approval. Returns the
    /// conversation and the call that waits.
    async fn ask_opal(&self, of_conversation: Value) -> (String, i64) {
        let new = json!({"model": of_conversation});
        let made = self.team.json(&self.ann, Method::POST, "/api/conversations", new, 201).await;
        let conversation = made["uuid"].as_str().unwrap().to_owned();
        self.opal.reply([order("soup")]);
        let path = format!("/api/conversations/{conversation}/messages");
        let asked = self.team.send(&self.ann, Method::POST, &path, json!({"content": "Soup", "model": "Opal"})).await;
        assert!(asked.text().await.unwrap().contains("awaiting_approval"));
        let waiting = rows!(self.team.app, (i64,), "SELECT id FROM tool_calls WHERE status = 'awaiting_approval'");
        let [(call,)] = waiting[..] else { panic!("{waiting:?}") };
        (conversation, call)
    }

    /// Approves the call. Asserts that this model writes the rest of the answer.
    async fn approve(&self, (conversation, call): (String, i64), model: &MockLlm, name: &str) {
        let orders = self.orders.orders().len();
        model.reply([text(format!("By {name}."))]);
        let path = format!("/api/tool-calls/{call}/decision");
        let resumed = self.team.send(&self.ann, Method::POST, &path, json!({"decision": "approve"})).await;
        let events = resumed.text().await.unwrap();
        assert!(events.contains(&format!("By {name}.")) && events.contains("event: message_end"), "{events}");
        assert_eq!(self.orders.orders().len(), orders + 1);
        let path = format!("/api/conversations/{conversation}");
        let stored = self.team.json(&self.ann, Method::GET, &path, Value::Null, 200).await;
        assert_eq!(
            (&stored["messages"][1]["model"], &stored["messages"][1]["status"]),
            (&json!(name), &json!("complete"))
        );
    }
}

on_every_engine! {
    async fn an_answer_that_waited_keeps_a_model_that_was_revoked(engine: Engine) {
        let fixture = Fixture::start(&engine).await;
        let Fixture { team, admin, id, opal, .. } = &fixture;
        let staff = group(team, admin, "Staff", &["model:Opal"], &[*id]).await;
        let waiting = fixture.ask_opal(json!("Opal")).await;
        set_members(team, admin, staff, &[]).await;
        fixture.approve(waiting, opal, "Opal").await;
        assert_eq!((fixture.default.requests().len(), fixture.pearl.requests().len()), (0, 0));
    }

    /// If the model was removed, the conversation's model continues the answer; without one, the default model.
    async fn an_answer_that_waited_continues_with_another_model_if_its_own_was_removed(engine: Engine) {
        let fixture = Fixture::start(&engine).await;
        let Fixture { team, admin, default, pearl, opal, .. } = &fixture;
        let name_of_default = team.json(admin, Method::GET, "/api/models", Value::Null, 200).await["items"][0]["name"].clone();
        let name_of_default = name_of_default.as_str().unwrap();
        for (of_conversation, model, name) in [
            (json!("Pearl"), pearl, "Pearl"),
            (json!("Opal"), default, name_of_default),
            (Value::Null, default, name_of_default),
        ] {
            let waiting = fixture.ask_opal(of_conversation).await;
            team.json(admin, Method::DELETE, "/api/admin/models/Opal", Value::Null, 204).await;
            fixture.approve(waiting, model, name).await;
            fixture.add("Opal", opal).await;
        }
        assert_eq!((opal.requests().len(), pearl.requests().len(), default.requests().len()), (3, 1, 2));
    }

    /// The other model must be one that the user may use.
    async fn an_answer_that_waited_uses_no_revoked_model_in_place_of_a_removed_one(engine: Engine) {
        let fixture = Fixture::start(&engine).await;
        let Fixture { team, admin, default, pearl, .. } = &fixture;
        let name = team.json(admin, Method::GET, "/api/models", Value::Null, 200).await["items"][0]["name"].clone();
        let waiting = fixture.ask_opal(json!("Pearl")).await;
        group(team, admin, "Staff", &["model:Pearl"], &[]).await;
        team.json(admin, Method::DELETE, "/api/admin/models/Opal", Value::Null, 204).await;
        fixture.approve(waiting, default, name.as_str().unwrap()).await;
        assert_eq!(pearl.requests().len(), 0);
    }
}
