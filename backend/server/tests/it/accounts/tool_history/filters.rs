//! Filters over many calls: each page has the calls that a scan of all calls finds, whichever way the server queries
//! the database.

use chrono::TimeDelta;
use reqwest::StatusCode;
use tallybook_mock_llm::MockLlm;

use super::{
    super::kit::{ADMIN, Team},
    kit::{Call, calls_on, next_of, page, run, start, write_calls, write_turn},
};
use crate::support::{Engine, on_every_engine};

/// Number of calls: some filters match few of them, others match many, so the server uses both kinds of queries.
const CALLS: i64 = 9_000;

/// Models of turns 1 and 2.
const MODELS: [&str; 2] = ["Small", "Large"];

/// A part of a filter, and whether it matches a call.
struct Part(String, fn(&Call<'_>) -> bool);

fn part(text: &str, takes: fn(&Call<'_>) -> bool) -> Part {
    Part(text.to_owned(), takes)
}

/// Returns a pseudorandom number, always the same for a seed.
fn luck(seed: i64) -> i64 {
    (seed.wrapping_mul(6_364_136_223_846_793_005) >> 33) & 0x7FFF_FFFF
}

fn call(id: i64) -> Call<'static> {
    let luck = luck(id);
    // Calls of `web__read` never fail, so two common conditions together match no call.
    let never_fails = luck % 10 < 2;
    Call {
        turn: 1 + i64::from(luck % 7 == 0),
        tool: ["web__read", "web__read", "docs__search", "docs__read", "add", "add", "add", "add", "add", "add"]
            [usize::try_from(luck % 10).unwrap()],
        status: if luck % 13 < 2 && !never_fails { "error" } else { "success" },
        minute: luck % 4_000,
        duration_ms: (luck % 17 > 0).then_some(luck % 211),
        ..Call::new(id, 1)
    }
}

/// Returns the choices for each field of a filter; the first choice does not restrict the field.
fn choices() -> Vec<Vec<Part>> {
    let since = (start() + TimeDelta::minutes(1_000)).format("since:%Y-%m-%dT%H:%M").to_string();
    let until = (start() + TimeDelta::minutes(3_900)).format("until:%Y-%m-%dT%H:%M").to_string();
    let all = || part("", |_| true);
    vec![
        vec![
            all(),
            part("tool:add", |call| call.tool == "add"),
            part("tool:web__read", |call| call.tool == "web__read"),
            part("tool:none", |_| false),
        ],
        vec![
            all(),
            part("server:docs", |call| call.tool.starts_with("docs__")),
            part("server:built-in", |call| !call.tool.contains("__")),
        ],
        vec![
            all(),
            part("status:success", |call| call.status == "success"),
            part("status:error", |call| call.status == "error"),
        ],
        vec![all(), part("user:ann", |call| call.turn == 1)],
        vec![all(), part("model:Large", |call| call.turn == 2), part("model:Small", |call| call.turn == 1)],
        vec![
            all(),
            part("slow:>20ms", |call| call.duration_ms.is_some_and(|ms| ms > 20)),
            part("slow:>200ms", |call| call.duration_ms.is_some_and(|ms| ms > 200)),
            part("slow:<5ms", |call| call.duration_ms.is_some_and(|ms| ms < 5)),
        ],
        vec![all(), part("rating:down", |call| call.turn == 1), part("rating:up", |call| call.turn == 2)],
        vec![all(), Part(since, |call| call.minute >= 1_000), Part(until, |call| call.minute < 3_900)],
    ]
}

on_every_engine! {
    async fn filtered_pages_match_a_scan_of_all_calls(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let people = [team.user(&admin, "ann").await.1, team.user(&admin, "ben").await.1];
        let db = engine.pool().await;
        for (turn, (user, model)) in (1..).zip(people.into_iter().zip(MODELS)) {
            write_turn(&db, turn, user, model).await;
            let rating = if turn == 1 { "down" } else { "up" };
            run!(
                &db,
                "INSERT INTO feedback (message_id, rating, created_at, updated_at) VALUES (?, ?, ?, ?)",
                turn, rating, start(), start()
            );
        }
        let mut calls: Vec<Call<'_>> = (1..=CALLS).map(call).collect();
        let of_turn = |turn: i64| {
            let place = usize::try_from(turn - 1).unwrap();
            (people[place], MODELS[place])
        };
        write_calls(&db, &calls, of_turn).await;
        let choices = choices();
        let combinations: usize = choices.iter().map(Vec::len).product();
        for order in ["newest", "slowest"] {
            if order == "newest" {
                calls.sort_by_key(|call| std::cmp::Reverse((call.minute, call.id)));
            } else {
                calls.retain(|call| call.duration_ms.is_some());
                calls.sort_by_key(|call| std::cmp::Reverse((call.duration_ms, call.id)));
            }
            // Tests only some of the combinations, but each part meets each other part.
            for number in (0..combinations).step_by(131) {
                let mut rest = number;
                let parts: Vec<&Part> = choices.iter().map(|choice| {
                    let part = &choice[rest % choice.len()];
                    rest /= choice.len();
                    part
                }).collect();
                let texts: Vec<&str> = parts.iter().map(|part| part.0.as_str()).filter(|text| !text.is_empty()).collect();
                let filter = texts.join(" ");
                let found = calls.iter().filter(|call| parts.iter().all(|part| (part.1)(call))).map(|call| call.id);
                let found: Vec<i64> = found.take(150).collect();
                let query = url::form_urlencoded::Serializer::new(String::new())
                    .append_pair("q", &filter)
                    .append_pair("order", order)
                    .finish();
                let (mut seen, mut next) = (Vec::new(), Some(format!("/admin?{query}")));
                while let Some(address) = next.filter(|_| seen.len() < 100) {
                    let html = page(&team, &admin, &address, StatusCode::OK).await;
                    seen.extend(calls_on(&html));
                    next = next_of(&html);
                }
                let expected = if seen.len() < 100 { found.len() } else { seen.len() };
                assert_eq!(seen, found[..expected], "{order}: {filter}");
            }
        }
    }
}
