//! Open streams end with their reader's rights, on every replica.

use std::time::{Duration, Instant};

use reqwest::{Method, Response};
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, hang, text};
use tokio::time::timeout;

use super::kit::{ADMIN, Team, Who, required};
use crate::support::{Engine, PATIENCE, on_every_engine};

/// A stream of somebody's, which has begun.
async fn open(team: &Team, who: &Who, path: &str) -> Response {
    let mut stream = team.get(who, path).await;
    assert_eq!(stream.status(), 200, "{path}");
    stream.chunk().await.unwrap().expect("it goes on");
    stream
}

/// How long a stream goes on.
async fn end_of(mut stream: Response) -> Duration {
    let begun = Instant::now();
    let end = async { while stream.chunk().await.unwrap().is_some() {} };
    timeout(PATIENCE, end).await.expect("the stream ends");
    begun.elapsed()
}

/// A conversation in which a turn runs that does not end by itself.
async fn running(team: &Team, model: &MockLlm, who: &Who) -> String {
    let uuid = team.conversation(who).await;
    model.reply([text("Begun "), hang()]);
    let path = format!("/api/conversations/{uuid}/messages");
    let mut turn = team.send(who, Method::POST, &path, json!({"content": "Go"})).await;
    turn.chunk().await.unwrap().expect("it runs");
    format!("/api/conversations/{uuid}/events")
}

on_every_engine! {
    async fn streams_end_within_a_second(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        // Several servers can share what is no file.
        let replica = if engine.is_sqlite() { None } else { Some(Team::join(&engine, &model, required()).await) };
        let there = replica.as_ref().unwrap_or(&team);
        let admin = team.sign_in(ADMIN).await;
        let (ann, id) = team.person(&admin, "ann").await;
        let user = format!("/api/users/{id}");
        let events = running(&team, &model, &ann).await;
        let bystander = open(there, &admin, "/api/events").await;

        // By signing out, with whichever server that is done.
        let streams = [open(there, &ann, "/api/events").await, open(there, &ann, &events).await];
        team.json(&ann, Method::DELETE, "/api/session", Value::Null, 204).await;
        assert_ended(streams).await;
        // By another role.
        let ann = team.sign_in("ann").await;
        let streams = [open(there, &ann, "/api/events").await, open(there, &ann, &events).await];
        team.json(&admin, Method::PATCH, &user, json!({"role": "admin"}), 200).await;
        assert_ended(streams).await;
        // With a key that is revoked.
        let program = team.program(&ann).await;
        let streams = [open(there, &program, "/api/events").await, open(there, &program, &events).await];
        let keys = team.json(&ann, Method::GET, "/api/keys", Value::Null, 200).await;
        let key = format!("/api/keys/{}", keys["items"][0]["id"]);
        team.json(&ann, Method::DELETE, &key, Value::Null, 204).await;
        assert_ended(streams).await;
        // By deactivation.
        let program = team.program(&ann).await;
        let streams = [open(there, &ann, "/api/events").await, open(there, &program, &events).await];
        team.json(&admin, Method::DELETE, &user, Value::Null, 204).await;
        assert_ended(streams).await;

        // Nobody else's ended.
        let mut bystander = bystander;
        assert!(bystander.chunk().await.unwrap().is_some());
    }
}

/// All have ended within a second, and what a busy machine adds to it.
async fn assert_ended(streams: [Response; 2]) {
    for stream in streams {
        let took = end_of(stream).await;
        assert!(took < Duration::from_secs(4), "{took:?}");
    }
}
