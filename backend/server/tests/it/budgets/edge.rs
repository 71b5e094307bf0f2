//! Turns that begin at the same time while little of a budget is left. Each reserves what its next model call may use,
//! in tokens and, if the model has prices, in money.

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_protocol::Prices;

use super::{PRICES, budgets_of, counted::ask_with_a_call, join, set, used_up};
use crate::{
    accounts::{
        groups::group,
        kit::{ADMIN, Team, Who, with_admin},
    },
    support::{Engine, eventually, execute, on_every_engine},
};

/// A kind of budget.
struct Kind {
    /// The field with the limit.
    field: &'static str,
    /// Amount that a token uses at most.
    of_token: i64,
    /// Prices of the model.
    prices: Option<Prices>,
}

const TOKENS: Kind = Kind { field: "tokens", of_token: 1, prices: None };
const MONEY: Kind = Kind { field: "cost_nanos", of_token: 15_000, prices: Some(PRICES) };

/// The users whose usage counts toward a budget.
#[derive(Clone, Copy)]
enum Principal {
    All,
    Group,
    User,
}

/// A server with a budget, and a second server where the engine allows one.
struct Edge {
    model: MockLlm,
    team: Team,
    second: Option<Team>,
    admin: Who,
    /// The users of the budget.
    users: Vec<Who>,
    /// Users of other budgets, or of none.
    others: Vec<Who>,
    /// The limit of the budget.
    limit: i64,
}

impl Edge {
    /// Starts the servers with the admin and two other users, and a budget of as much as these tokens use at most.
    async fn start(engine: &Engine, kind: &Kind, principal: Principal, tokens: i64) -> Self {
        let model = MockLlm::start().await.unwrap();
        with_admin(engine).await;
        let team = join(engine, &model, kind.prices).await;
        let second = if engine.is_sqlite() { None } else { Some(join(engine, &model, kind.prices).await) };
        let admin = team.sign_in(ADMIN).await;
        let ((ann, ann_id), (bob, bob_id)) = (team.user(&admin, "ann").await, team.user(&admin, "bob").await);
        let (name, users, others) = match principal {
            Principal::All => ("all".to_owned(), vec![admin.clone(), ann, bob], vec![]),
            Principal::Group => {
                let staff = group(&team, &admin, "Staff", &[], &[ann_id, bob_id]).await;
                (format!("group:{staff}"), vec![ann, bob], vec![admin.clone()])
            }
            Principal::User => (format!("user:{ann_id}"), vec![ann], vec![admin.clone(), bob]),
        };
        let limit = tokens * kind.of_token;
        let mut budget = json!({"principal": name, "period": "month"});
        budget[kind.field] = json!(limit);
        set(&team, &admin, json!([budget])).await;
        if let Some(second) = &second {
            eventually("the budget arrives", async || !budgets_of(second, &users[0]).await.is_null()).await;
        }
        Self { model, team, second, admin, users, others, limit }
    }

    /// Returns one of the servers.
    fn server(&self, index: usize) -> &Team {
        self.second.as_ref().filter(|_| index % 2 == 1).unwrap_or(&self.team)
    }
}

/// Asserts that of 20 turns of the budget's users that begin at the same time, only one is admitted, and that the turns
/// of others are admitted. Half of the 20 are requests of API clients, some of which call the model directly.
async fn begin_twenty_at_once(engine: &Engine, kind: &Kind, principal: Principal) {
    // One answer of the model uses more.
    let edge = Edge::start(engine, kind, principal, 10).await;
    let Edge { model, team, admin, users, .. } = &edge;
    let gate = model.reply_late([text("Yes.")]);
    let name = team.json(admin, Method::GET, "/api/models", Value::Null, 200).await["items"][0]["name"].clone();
    let name = name.as_str().unwrap();
    let mut requests = Vec::new();
    for index in 0..20 {
        let user = &users[index % users.len()];
        let messages = json!([{"role": "user", "content": "Go?"}]);
        let for_program =
            |model: String| ("/v1/chat/completions".to_owned(), json!({"messages": messages, "model": model}));
        let (path, body) = match index % 4 {
            0 | 1 => {
                (format!("/api/conversations/{}/messages", team.conversation(user).await), json!({"content": "Go?"}))
            }
            2 => for_program(name.to_owned()),
            _ => for_program(format!("{name}:plain")),
        };
        let who = if index % 4 < 2 { user.clone() } else { team.program(user).await };
        requests.push(edge.server(index).request(&who, Method::POST, &path).json(&body));
    }
    let ask = async |request: RequestBuilder| {
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        answer.text().await.unwrap();
        status
    };
    let mut asked: FuturesUnordered<_> = requests.into_iter().map(ask).collect();
    let mut statuses = Vec::new();
    while let Some(status) = asked.next().await {
        statuses.push(status);
        if asked.len() == 1 {
            gate.open();
        }
    }
    let begun = statuses.iter().filter(|status| **status == 200).count();
    assert!(statuses.iter().all(|status| [200, 429].contains(status)), "{statuses:?}");
    // The first answer used up the budget.
    assert_eq!((begun, model.requests().len()), (1, 1), "{statuses:?}");
    for other in &edge.others {
        model.reply([text("At once.")]);
        team.ask(other, &team.conversation(other).await, "Go?").await;
    }
}

/// Asserts that a budget admits several turns that run at the same time, and that only the oldest of them makes further
/// steps once the budget is used up.
async fn use_up_in_several_turns(engine: &Engine, kind: &Kind) {
    let edge = Edge::start(engine, kind, Principal::All, 35_000).await;
    let Edge { model, team, limit, users, .. } = &edge;
    let mut running = Vec::new();
    for index in 0..6 {
        let who = &users[index % users.len()];
        let conversation = team.conversation(who).await;
        let gate = model.reply_late([tool_call("add", r#"{"a":1,"b":2}"#)]);
        let answer = edge.server(index).post_message(who, &conversation).await;
        if answer.status() == 429 {
            // Another request gets the reply.
            gate.open();
            let problem = used_up(answer).await;
            assert!(problem["detail"].as_str().unwrap().contains("is reserved for answers"), "{problem}");
            break;
        }
        gate.reached().await;
        running.push((answer, gate));
    }
    assert!((2..=3).contains(&running.len()), "{} turns are admitted", running.len());
    let insert = format!(
        "INSERT INTO plain_calls (user_id, provider, model, input_tokens, output_tokens, cached_tokens, cost_nanos, \
         duration_ms, created_at) SELECT id, 'x', 'x', {limit}, 0, 0, {limit}, 1, (SELECT MAX(created_at) FROM messages) \
         FROM users"
    );
    execute!(team.app, AssertSqlSafe(insert.as_str()));
    // The turns run on in the reverse order, so that the oldest is the last one.
    for (index, (answer, gate)) in running.into_iter().enumerate().rev() {
        let before = model.requests().len();
        if index == 0 {
            // The turn first gets the reply of the turn that was refused.
            model.reply([text("It is 3.")]);
        }
        gate.open();
        let events = answer.text().await.unwrap();
        let steps = model.requests().len() - before;
        if index == 0 {
            assert!(events.contains("event: message_end") && steps == 2, "{steps}: {events}");
        } else {
            assert!(
                events.contains("\"budget_used_up\"") && events.contains("is used up") && steps == 0,
                "{steps}: {events}"
            );
        }
    }
}

on_every_engine! {
    /// At the edge of a budget, the first of several turns that begin at the same time reserves what is left.
    async fn of_turns_that_begin_at_once_only_one_exceeds_a_budget_of_tokens(engine: Engine) {
        begin_twenty_at_once(&engine, &TOKENS, Principal::All).await;
    }

    async fn of_turns_that_begin_at_once_only_one_exceeds_a_budget_of_money(engine: Engine) {
        begin_twenty_at_once(&engine, &MONEY, Principal::All).await;
    }

    async fn of_a_groups_turns_that_begin_at_once_only_one_exceeds_its_budget(engine: Engine) {
        begin_twenty_at_once(&engine, &TOKENS, Principal::Group).await;
    }

    async fn of_a_users_turns_that_begin_at_once_only_one_exceeds_the_budget(engine: Engine) {
        begin_twenty_at_once(&engine, &MONEY, Principal::User).await;
    }

    async fn several_turns_at_once_exceed_a_budget_of_tokens_by_one_at_most(engine: Engine) {
        use_up_in_several_turns(&engine, &TOKENS).await;
    }

    /// A reservation is at the price of the tokens that the model writes, which is the higher one.
    async fn several_turns_at_once_exceed_a_budget_of_money_by_one_at_most(engine: Engine) {
        use_up_in_several_turns(&engine, &MONEY).await;
    }

    async fn explanations_at_once_exceed_a_budget_of_money_by_one_at_most(engine: Engine) {
        // An explanation reserves more.
        let Edge { model, team, admin, .. } = Edge::start(&engine, &MONEY, Principal::All, 15_000).await;
        let answer = ask_with_a_call(&team, &admin, &model).await;
        let path = format!("{answer}/reasoning-summary");
        let gate = model.reply_late([text("I added the numbers.")]);
        let explain = || team.request(&admin, Method::POST, &path).json(&json!({})).send();
        let first = tokio::spawn(explain());
        gate.reached().await;
        let problem = used_up(explain().await.unwrap()).await;
        assert!(problem["detail"].as_str().unwrap().contains("is reserved for answers"), "{problem}");
        gate.open();
        assert_eq!(first.await.unwrap().unwrap().status(), 200);
    }
}
