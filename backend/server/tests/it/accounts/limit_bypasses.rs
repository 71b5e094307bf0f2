//! A user's limits apply to every request that calls a model, and also to many concurrent requests.

use futures_util::future::join_all;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use tallybook_conversations::UserLimits;
use tallybook_mock_llm::{MockLlm, text, tool_call};

use super::kit::{ADMIN, Team, Who, with_admin};
use crate::support::{Engine, execute, on_every_engine, rows};

/// Starts a server with an admin, and signs the admin in.
async fn start(engine: &Engine, model: &MockLlm, limits: UserLimits) -> (Team, Who) {
    with_admin(engine).await;
    let team = Team::join_limited(engine, model, limits).await;
    let admin = team.sign_in(ADMIN).await;
    (team, admin)
}

fn per_minute(messages_per_minute: u32) -> UserLimits {
    UserLimits { messages_per_minute, ..UserLimits::default() }
}

fn per_day(tokens_per_day: u64) -> UserLimits {
    UserLimits { tokens_per_day, ..UserLimits::default() }
}

/// Sends an API client's request to `/v1`.
async fn complete(team: &Team, program: &Who, route: &str, model: &str, content: &str, task: Option<&str>) -> Response {
    let body = match route {
        "/v1/responses" => json!({"model": model, "input": content}),
        _ => json!({"model": model, "messages": [{"role": "user", "content": content}]}),
    };
    let request = team.request(program, Method::POST, route).json(&body);
    let request = if let Some(task) = task { request.header("x-tallybook-task", task) } else { request };
    request.send().await.unwrap()
}

async fn assert_too_many(response: Response) {
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(response.headers().contains_key("retry-after"));
    let text = response.text().await.unwrap().replace('_', "-");
    assert!(text.contains("too-many-messages"), "{text}");
}

on_every_engine! {
    async fn a_direct_model_call_counts_as_a_message(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let (team, admin) = start(&engine, &model, per_minute(2)).await;
        let program = team.program(&admin).await;
        for route in ["/v1/chat/completions", "/v1/responses"] {
            model.reply([text("Tea")]);
            let answer = complete(&team, &program, route, "test-model:plain", "A title?", None).await;
            assert_eq!(answer.status(), StatusCode::OK, "{route}");
        }
        let left = team.json(&admin, Method::GET, "/api/me", Value::Null, 200).await;
        assert_eq!(left["limits"]["messages_per_minute"], json!({"limit": 2, "left": 0}));
        for route in ["/v1/chat/completions", "/v1/responses"] {
            assert_too_many(complete(&team, &program, route, "test-model:plain", "A title?", None).await).await;
        }
        let conversation = team.conversation(&admin).await;
        assert_too_many(team.post_message(&admin, &conversation).await).await;
    }

    /// A background task counts as a quarter of a message. So tasks are not free, but leave room for messages.
    async fn a_background_task_counts_as_a_quarter_of_a_message(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let (team, admin) = start(&engine, &model, per_minute(2)).await;
        let program = team.program(&admin).await;
        let task = async |number: usize| {
            let (content, header) = if number.is_multiple_of(2) { ("### Task:\nA title", None) } else { ("A title", Some("title")) };
            complete(&team, &program, "/v1/chat/completions", "test-model", content, header).await
        };
        for number in 0..4 {
            model.reply([text("Tea")]);
            assert_eq!(task(number).await.status(), StatusCode::OK, "{number}");
        }
        model.reply([text("Yes.")]);
        let conversation = team.conversation(&admin).await;
        team.ask(&admin, &conversation, "Go?").await;
        for number in 4..6 {
            assert_too_many(task(number).await).await;
        }
    }

    async fn a_reasoning_summary_counts_as_a_message(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let (team, admin) = start(&engine, &model, per_minute(2)).await;
        let conversation = team.conversation(&admin).await;
        model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
        model.reply([text("3.")]);
        team.ask(&admin, &conversation, "1 + 2?").await;
        let path = format!("/api/conversations/{conversation}");
        let whole = team.json(&admin, Method::GET, &path, Value::Null, 200).await;
        let summary = format!("{path}/messages/{}/reasoning-summary", whole["messages"][1]["id"]);
        model.reply([text("It added.")]);
        team.json(&admin, Method::POST, &summary, json!({}), 200).await;
        assert_too_many(team.send(&admin, Method::POST, &summary, json!({})).await).await;
    }

    /// A turn starts only while the tokens that are used and reserved are below the limit. So one of forty concurrent
    /// turns starts.
    async fn concurrent_turns_exceed_the_token_limit_by_one_at_most(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let (team, admin) = start(&engine, &model, per_day(1)).await;
        let mut conversations = Vec::new();
        for _ in 0..40 {
            conversations.push(team.conversation(&admin).await);
        }
        let gate = model.reply_late([text("Yes.")]);
        let answers = join_all(conversations.iter().map(|uuid| team.post_message(&admin, uuid))).await;
        let (begun, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status() == StatusCode::OK);
        assert_eq!((begun.len(), refused.len()), (1, 39));
        for answer in refused {
            assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
            assert_eq!(answer.json::<Value>().await.unwrap()["type"], "/problems/too-many-turns");
        }
        gate.open();
        for answer in begun {
            assert!(answer.text().await.unwrap().contains("event: message_end"));
        }
        let stored: Vec<(i64,)> = rows!(team.app, (i64,), "SELECT COUNT(*) FROM model_calls WHERE purpose = 'answer'");
        assert_eq!(stored, [(1,)]);
    }

    async fn concurrent_direct_calls_exceed_the_token_limit_by_one_at_most(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let (team, admin) = start(&engine, &model, per_day(1)).await;
        let program = team.program(&admin).await;
        model.reply([text("Tea")]);
        let ask = || complete(&team, &program, "/v1/chat/completions", "test-model:plain", "A title?", None);
        let answers = join_all((0..10).map(|_| ask())).await;
        let begun = answers.iter().filter(|answer| answer.status() == StatusCode::OK).count();
        assert_eq!(begun, 1);
        assert_eq!(ask().await.status(), StatusCode::TOO_MANY_REQUESTS, "the used tokens replace the reserved ones");
    }

    /// When tokens run out, the oldest turn finishes, and the others end before their next step.
    async fn running_answers_end_when_tokens_run_out(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let (team, admin) = start(&engine, &model, per_day(100_000)).await;
        let (first, second) = (team.conversation(&admin).await, team.conversation(&admin).await);
        let mut answers = Vec::new();
        for conversation in [&first, &second] {
            let gate = model.reply_late([tool_call("add", r#"{"a":1,"b":2}"#)]);
            let answer = team.post_message(&admin, conversation).await;
            gate.reached().await;
            answers.push((answer, gate));
        }
        execute!(
            team.app,
            "INSERT INTO plain_calls (user_id, provider, model, input_tokens, output_tokens, cached_tokens, duration_ms, \
             created_at) SELECT id, 'x', 'x', 100000, 0, 0, 1, (SELECT MAX(created_at) FROM messages) FROM users"
        );
        model.reply([text("It is 3.")]);
        for ((answer, gate), end) in answers.into_iter().zip(["event: message_end", "out_of_tokens"]).rev() {
            gate.open();
            let text = answer.text().await.unwrap();
            assert!(text.contains(end), "{text}");
        }
    }
}

/// Tokens that one replica reserves count on the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_share_reservations() {
    for engine in Engine::every_mysql().await {
        let model = MockLlm::start().await.unwrap();
        let (one, admin) = start(&engine, &model, per_day(1)).await;
        let two = Team::join_limited(&engine, &model, per_day(1)).await;
        let mut conversations = Vec::new();
        for _ in 0..10 {
            conversations.push(one.conversation(&admin).await);
        }
        let gate = model.reply_late([text("Yes.")]);
        let sent = conversations.iter().enumerate();
        let sent =
            sent.map(|(number, uuid)| if number.is_multiple_of(2) { &one } else { &two }.post_message(&admin, uuid));
        let (begun, refused): (Vec<_>, Vec<_>) =
            join_all(sent).await.into_iter().partition(|answer| answer.status() == StatusCode::OK);
        assert_eq!((begun.len(), refused.len()), (1, 9));
        gate.open();
        for answer in begun {
            answer.text().await.unwrap();
        }
    }
}
