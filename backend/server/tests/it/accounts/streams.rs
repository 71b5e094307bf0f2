//! Open streams end on every replica when their reader's access is revoked.

use std::time::{Duration, Instant};

use reqwest::{Method, Response};
use serde_json::{Value, json};
use tallybook_accounts::{Accounts, Password};
use tallybook_mock_llm::{MockLlm, hang, text, tool_call};
use tokio::time::timeout;

use super::{
    kit::{ADMIN, PASSWORD, Team, Who, kind_of, required},
    tool_history::say_why,
};
use crate::support::{Engine, Program, RawConnection, TIMEOUT, TestApp, execute, on_every_engine};

/// Opens a stream for a user, and waits for its first chunk.
async fn open(team: &Team, who: &Who, path: &str) -> Response {
    let mut stream = team.get(who, path).await;
    assert_eq!(stream.status(), 200, "{path}");
    stream.chunk().await.unwrap().expect("the stream is open");
    stream
}

/// Returns the time until a stream ends.
async fn end_of(mut stream: Response) -> Duration {
    let begun = Instant::now();
    let end = async { while stream.chunk().await.unwrap().is_some() {} };
    timeout(TIMEOUT, end).await.expect("the stream ends");
    begun.elapsed()
}

/// Returns the time until both streams have ended.
async fn end_of_all(streams: [Response; 2]) -> Duration {
    let [one, other] = streams.map(end_of);
    let (one, other) = tokio::join!(one, other);
    one.max(other)
}

/// Fails unless the streams end within a second. Tries three times, because a busy machine may delay the end.
async fn assert_within_a_second(cause: &str, mut end: impl AsyncFnMut() -> Duration) {
    let mut best = Duration::MAX;
    for _ in 0..3 {
        best = best.min(end().await);
        if best < Duration::from_secs(1) {
            return;
        }
    }
    panic!("{cause}: {best:?}");
}

/// Starts a turn that does not end by itself, and returns the path of its events.
async fn running(team: &Team, model: &MockLlm, who: &Who) -> String {
    let uuid = team.conversation(who).await;
    model.reply([text("Begun "), hang()]);
    let path = format!("/api/conversations/{uuid}/messages");
    let mut turn = team.send(who, Method::POST, &path, json!({"content": "Go"})).await;
    turn.chunk().await.unwrap().expect("the turn runs");
    format!("/api/conversations/{uuid}/events")
}

on_every_engine! {
    async fn streams_end_within_a_second_of_revocation(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        // Several servers can share a database, unless it is a SQLite file.
        let replica = if engine.is_sqlite() { None } else { Some(Team::join(&engine, &model, required()).await) };
        let there = replica.as_ref().unwrap_or(&team);
        let admin = team.sign_in(ADMIN).await;
        let (ann, id) = team.user(&admin, "ann").await;
        let user = format!("/api/users/{id}");
        let events = running(&team, &model, &ann).await;
        let bystander = open(there, &admin, "/api/events").await;

        // The change is made on one server, and the streams are open on the other.
        assert_within_a_second("signing out", async || {
            let ann = team.sign_in("ann").await;
            let streams = [open(there, &ann, "/api/events").await, open(there, &ann, &events).await];
            team.json(&ann, Method::DELETE, "/api/session", Value::Null, 204).await;
            end_of_all(streams).await
        })
        .await;
        let mut roles = ["admin", "user"].into_iter().cycle();
        assert_within_a_second("another role", async || {
            let ann = team.sign_in("ann").await;
            let streams = [open(there, &ann, "/api/events").await, open(there, &ann, &events).await];
            team.json(&admin, Method::PATCH, &user, json!({"role": roles.next()}), 200).await;
            end_of_all(streams).await
        })
        .await;
        let ann = team.sign_in("ann").await;
        assert_within_a_second("a key that is revoked", async || {
            let made = team.json(&ann, Method::POST, "/api/keys", json!({"name": "a program", "password": PASSWORD}), 201).await;
            let program = Who { cookie: None, key: made["key"].as_str().map(str::to_owned) };
            let streams = [open(there, &program, "/api/events").await, open(there, &program, &events).await];
            team.json(&ann, Method::DELETE, &format!("/api/keys/{}", made["id"]), Value::Null, 204).await;
            end_of_all(streams).await
        })
        .await;
        let mut names = ["bob", "bill", "ben"].into_iter();
        assert_within_a_second("deactivation", async || {
            let (bob, id) = team.user(&admin, names.next().unwrap()).await;
            let program = team.program(&bob).await;
            let streams = [open(there, &bob, "/api/events").await, open(there, &program, "/api/events").await];
            team.json(&admin, Method::DELETE, &format!("/api/users/{id}"), Value::Null, 204).await;
            end_of_all(streams).await
        })
        .await;

        // The other user's stream is still open.
        let mut bystander = bystander;
        assert!(bystander.chunk().await.unwrap().is_some());
    }

    /// A download is aborted when its user loses access, and the part that was sent does not look like a complete
    /// file.
    async fn downloads_are_aborted_when_access_is_revoked(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let accounts = Accounts::new(engine.database().await, required());
        accounts.create_admin(ADMIN, Password::new(PASSWORD)).await.unwrap();
        // Runs the real program with its default timeout for stalled readers. The other tests' servers soon drop a
        // reader that accepts no data.
        let mut command = Program::command(&engine, &model);
        let team = Team::of(TestApp::launch_command(&engine, command.env("ACCOUNTS", "on")));
        let admin = team.sign_in(ADMIN).await;
        let (_, id) = team.user(&admin, "ann").await;
        let user = format!("/api/users/{id}");
        team.json(&admin, Method::PATCH, &user, json!({"role": "admin"}), 200).await;
        let ann = team.sign_in("ann").await;
        let uuid = team.conversation(&ann).await;
        model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
        model.reply([text("Three.")]);
        team.ask(&ann, &uuid, "1 + 2?").await;
        // More data than the buffers between the server and the client hold.
        let long = "words ".repeat(120_000);
        for position in 1..=20 {
            execute!(engine, sqlx::AssertSqlSafe(format!(
                "INSERT INTO tool_calls (message_id, tool_call_id, tool_name, input, input_text, output, status, step, \
                 position, text_offset, started_at) SELECT message_id, 'c', tool_name, input, input_text, '{long}', \
                 status, step, {position}, text_offset, started_at FROM tool_calls WHERE position = 0"
            )));
        }
        let of_all = "/admin/export?format=jsonl";
        say_why(&team, &ann, of_all, "to look after it").await;
        let mut files = Vec::new();
        for path in [of_all, "/api/me/export", &format!("/api/conversations/{uuid}/export?format=json")] {
            let mut file = RawConnection::open_narrow(&team.app).await;
            let (host, cookie) = (team.app.address.trim_start_matches("http://"), ann.cookie.as_deref().unwrap());
            file.send(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n")).await;
            assert!(file.until("\r\n\r\n").await.starts_with("HTTP/1.1 200"), "{path}");
            files.push((path.to_owned(), file));
        }
        let events = open(&team, &ann, "/api/events").await;
        team.json(&admin, Method::PATCH, &user, json!({"role": "user"}), 200).await;
        end_of(events).await;
        for (path, mut file) in files {
            let rest = file.rest().await;
            assert!(!rest.ends_with("0\r\n\r\n"), "{path} is complete: {} bytes", rest.len());
        }
    }
}

/// One user cannot use up the streams of other users, no matter how many windows and API clients the user has open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_are_limited_to_fifty_per_user() {
    let model = MockLlm::start().await.unwrap();
    let team = Team::start(&Engine::sqlite(), &model).await;
    let admin = team.sign_in(ADMIN).await;
    let (ann, _) = team.user(&admin, "ann").await;
    let conversation = team.conversation(&ann).await;
    let mut streams = Vec::new();
    for _ in 0..50 {
        let stream = team.get(&ann, "/api/events").await;
        assert_eq!(stream.status(), 200);
        streams.push(stream);
    }
    let refused = team.get(&ann, "/api/events").await;
    assert_eq!(refused.status(), 429);
    assert!(refused.headers().contains_key("retry-after"));
    assert_eq!(kind_of(refused).await, "/problems/too-many-streams");
    // A request that would be answered with a stream is refused before it has any effect.
    let path = format!("/api/conversations/{conversation}/messages");
    team.json(&ann, Method::POST, &path, json!({"content": "Hello"}), 429).await;
    let stored = team.json(&ann, Method::GET, &format!("/api/conversations/{conversation}"), Value::Null, 200).await;
    assert_eq!(stored["messages"], json!([]));
    open(&team, &admin, "/api/events").await;

    streams.pop();
    let again = async {
        while team.get(&ann, "/api/events").await.status() == 429 {
            tokio::task::yield_now().await;
        }
    };
    timeout(TIMEOUT, again).await.expect("a closed stream no longer counts");
}
