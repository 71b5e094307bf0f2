//! Limits per user: concurrent turns, messages per minute and tokens per day. They apply across all replicas, and one
//! user's limits do not hold up other users.

use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use tallybook_conversations::UserLimits;
use tallybook_mock_llm::{MockLlm, text};

use super::kit::{ADMIN, Team, Who, with_admin};
use crate::support::{Engine, eventually, on_every_engine, rows};

/// Fails unless this limit refused the request, with a `Retry-After` in this range, in seconds.
async fn assert_refused(response: Response, kind: &str, waits: std::ops::RangeInclusive<u64>) {
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    let wait: u64 = response.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!(waits.contains(&wait), "{wait}");
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    assert_eq!(response.json::<Value>().await.unwrap()["type"], kind);
}

async fn limits_of(team: &Team, who: &Who) -> Value {
    team.json(who, Method::GET, "/api/me", Value::Null, 200).await["limits"].clone()
}

/// In a database cluster, a lock on one node does not block another node, but two changes of the same row conflict. A
/// trigger records whether the start of a turn changes the user's row.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starting_a_turn_updates_the_users_row() {
    for engine in Engine::every_mysql().await {
        let model = MockLlm::start().await.unwrap();
        with_admin(&engine).await;
        let team = Team::join_limited(&engine, &model, UserLimits { turns: 2, ..UserLimits::default() }).await;
        let admin = team.sign_in(ADMIN).await;
        let conversation = team.conversation(&admin).await;
        engine.run("CREATE TABLE changes (person BIGINT, generation INT)".to_owned()).await;
        let trigger = "CREATE TRIGGER changes AFTER UPDATE ON users FOR EACH ROW \
             INSERT INTO changes SELECT NEW.id, NEW.generation FROM DUAL WHERE NEW.generation <> OLD.generation";
        engine.run(trigger.to_owned()).await;
        let before: Vec<(i32,)> = rows!(team.app, (i32,), "SELECT generation FROM users WHERE id = 1");
        model.reply([text("Yes.")]);
        team.ask(&admin, &conversation, "Go?").await;
        let changes: Vec<(i64, i32)> = rows!(team.app, (i64, i32), "SELECT person, generation FROM changes");
        let [(generation,)] = before[..] else { panic!("there is one admin: {before:?}") };
        assert_eq!(changes, [(1, generation + 1), (1, generation)], "the value changes and changes back");
    }
}

on_every_engine! {
    /// Of many concurrent requests, only as many run as the limit allows. A refused message is not stored, and other
    /// users are still answered.
    async fn concurrent_turns_are_limited_per_user(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        with_admin(&engine).await;
        let team = Team::join_limited(&engine, &model, UserLimits { turns: 2, ..UserLimits::default() }).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, _) = team.user(&admin, "ann").await;
        let mut conversations = Vec::new();
        for _ in 0..5 {
            conversations.push(team.conversation(&ann).await);
        }
        assert_eq!(limits_of(&team, &ann).await, json!({"turns": {"limit": 2, "left": 2}}));
        let gates: Vec<_> = (0..2).map(|_| model.reply_late([text("Yes.")])).collect();
        let answers = futures_util::future::join_all(conversations.iter().map(|uuid| team.post_message(&ann, uuid))).await;
        let (begun, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status() == StatusCode::OK);
        assert_eq!((begun.len(), refused.len()), (2, 3));
        for answer in refused {
            assert_refused(answer, "/problems/too-many-turns", 1..=60).await;
        }
        assert_eq!(limits_of(&team, &ann).await["turns"]["left"], 0);
        let stored: Vec<(i64,)> = rows!(team.app, (i64,), "SELECT COUNT(*) FROM messages WHERE role = 'user'");
        assert_eq!(stored, [(2,)]);

        // Both turns have their scripted replies before the next reply is scripted, so the admin's turn gets that one.
        for gate in &gates {
            gate.reached().await;
        }
        let others = team.conversation(&admin).await;
        model.reply([text("At once.")]);
        team.ask(&admin, &others, "Go?").await;
        for gate in &gates {
            gate.open();
        }
        for answer in begun {
            assert!(answer.text().await.unwrap().contains("event: message_end"));
        }
        model.reply([text("Now there is room.")]);
        team.ask(&ann, &conversations[0], "Go?").await;
    }

    /// Regenerating an answer counts as a message. Sending the same message twice counts once.
    async fn messages_and_tokens_are_limited_per_user(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        with_admin(&engine).await;
        let team = Team::join_limited(&engine, &model, UserLimits { messages_per_minute: 3, ..UserLimits::default() }).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, _) = team.user(&admin, "ann").await;
        let conversation = team.conversation(&ann).await;
        let path = format!("/api/conversations/{conversation}");
        let body = json!({"content": "Go?", "client_message_id": "once"});
        for _ in 0..2 {
            model.reply([text("Yes.")]);
            team.send(&ann, Method::POST, &format!("{path}/messages"), body.clone()).await.text().await.unwrap();
        }
        team.ask(&ann, &conversation, "Again?").await;
        let whole = team.json(&ann, Method::GET, &path, Value::Null, 200).await;
        let again = format!("{path}/messages/{}/regenerate", whole["messages"][1]["id"]);
        assert_eq!(limits_of(&team, &ann).await["messages_per_minute"], json!({"limit": 3, "left": 1}));
        model.reply([text("Anew.")]);
        team.send(&ann, Method::POST, &again, json!({})).await.text().await.unwrap();
        assert_refused(team.send(&ann, Method::POST, &again, json!({})).await, "/problems/too-many-messages", 1..=60).await;
        let new = team.conversation(&ann).await;
        assert_refused(team.post_message(&ann, &new).await, "/problems/too-many-messages", 1..=60).await;
        let joined = team.send(&ann, Method::POST, &format!("{path}/messages"), body).await;
        assert_eq!(joined.status(), StatusCode::OK, "a message that was already sent does not count again");
        let others = team.conversation(&admin).await;
        model.reply([text("At once.")]);
        team.ask(&admin, &others, "Go?").await;
        team.app.shut_down().await;

        // All this usage also counts for a server that starts later.
        let team = Team::join_limited(&engine, &model, UserLimits { tokens_per_day: 1, ..UserLimits::default() }).await;
        let ann = team.sign_in("ann").await;
        assert_refused(team.post_message(&ann, &new).await, "/problems/too-many-tokens", 3600..=86_400).await;
        assert_eq!(limits_of(&team, &ann).await, json!({"tokens_per_day": {"limit": 1, "left": 0}}));
    }
}

/// Turns of an API client count against its user's limits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn api_clients_share_their_users_limits() {
    let engine = Engine::sqlite();
    let model = MockLlm::start().await.unwrap();
    with_admin(&engine).await;
    let team =
        Team::join_limited(&engine, &model, UserLimits { messages_per_minute: 1, ..UserLimits::default() }).await;
    let admin = team.sign_in(ADMIN).await;
    let program = team.program(&admin).await;
    let body = json!({"messages": [{"role": "user", "content": "Go?"}]});
    let ask = async || team.send(&program, Method::POST, "/v1/chat/completions", body.clone()).await;
    model.reply([text("Yes.")]);
    assert_eq!(ask().await.status(), StatusCode::OK);
    let refused = ask().await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(refused.headers().contains_key("retry-after"));
    let error: Value = refused.json().await.unwrap();
    assert_eq!(
        (&error["error"]["code"], &error["error"]["type"]),
        (&json!("too_many_messages"), &json!("rate_limit_error"))
    );
    let stored: Vec<(i64,)> = rows!(team.app, (i64,), "SELECT COUNT(*) FROM messages WHERE role = 'user'");
    assert_eq!(stored, [(1,)]);
}

on_every_engine! {
    /// Direct model calls count against the user's token limit, and the user sees how many tokens they used.
    async fn direct_model_calls_count_against_the_token_limit(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        with_admin(&engine).await;
        let team = Team::join_limited(&engine, &model, UserLimits { tokens_per_day: 1, ..UserLimits::default() }).await;
        let admin = team.sign_in(ADMIN).await;
        let program = team.program(&admin).await;
        let body = json!({"model": "test-model:plain", "messages": [{"role": "user", "content": "A title?"}]});
        let ask = async || team.send(&program, Method::POST, "/v1/chat/completions", body.clone()).await;
        model.reply([text("Tea")]);
        assert_eq!(ask().await.status(), StatusCode::OK);
        let me = async || team.json(&admin, Method::GET, "/api/me", Value::Null, 200).await;
        eventually("the tokens are counted", async || me().await["this_month"][0]["purpose"] == "plain").await;
        assert_eq!(me().await["limits"]["tokens_per_day"]["left"], 0);
        let refused = ask().await;
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(refused.json::<Value>().await.unwrap()["error"]["code"], "too_many_tokens");
        let rows: Vec<(String, Option<String>, i64)> =
            rows!(team.app, (String, Option<String>, i64), "SELECT model, stop_reason, output_tokens FROM plain_calls");
        assert_eq!((rows.len(), rows[0].1.as_deref(), rows[0].2 > 0), (1, Some("end_turn"), true), "{rows:?}");
    }
}

/// Turns that start on one replica count on the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_share_the_limits() {
    for engine in Engine::every_mysql().await {
        let model = MockLlm::start().await.unwrap();
        with_admin(&engine).await;
        let limits = UserLimits { turns: 2, messages_per_minute: 3, ..UserLimits::default() };
        let (one, two) =
            (Team::join_limited(&engine, &model, limits).await, Team::join_limited(&engine, &model, limits).await);
        let who = one.sign_in(ADMIN).await;
        let mut conversations = Vec::new();
        for _ in 0..8 {
            conversations.push(one.conversation(&who).await);
        }
        let gates: Vec<_> = (0..2).map(|_| model.reply_late([text("Yes.")])).collect();
        let sent = conversations
            .iter()
            .enumerate()
            .map(|(number, uuid)| if number % 2 == 0 { &one } else { &two }.post_message(&who, uuid));
        let (begun, refused): (Vec<_>, Vec<_>) = futures_util::future::join_all(sent)
            .await
            .into_iter()
            .partition(|answer| answer.status() == StatusCode::OK);
        assert_eq!((begun.len(), refused.len()), (2, 6));
        for gate in &gates {
            gate.open();
        }
        for answer in begun {
            answer.text().await.unwrap();
        }
        model.reply([text("The third.")]);
        two.ask(&who, &conversations[0], "Go?").await;
        assert_refused(one.post_message(&who, &conversations[1]).await, "/problems/too-many-messages", 1..=60).await;
    }
}
