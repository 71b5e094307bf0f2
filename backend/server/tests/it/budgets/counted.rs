//! The usage that counts toward budgets: which model calls, of which users, and since when.

use std::time::Duration;

use chrono::{DateTime, Datelike as _, NaiveTime, TimeDelta, Utc};
use reqwest::Method;
use serde_json::{Value, json};
use tallybook_agent::ReviewMode;
use tallybook_conversations::{
    MemorySettings,
    models::{ModelChoice, ModelEntry, Origin, ReviewSettings},
};
use tallybook_mock_llm::{MockLlm, text, tool_call};

use super::{Asked, PRICES, budgets_of, join, set, used_up};
use crate::{
    accounts::{
        groups::group,
        kit::{ADMIN, Team, Who, required, with_admin},
    },
    approvals::{Orders, order, tools},
    support::{Counts, Engine, Pool, Provider, TestApp, eventually, on_every_engine},
};

/// Tokens that a call of the scripted model reports: 12 read and 20 written.
const CALL_TOKENS: i64 = 32;

/// Cost of such a call at [`PRICES`].
const CALL_COST: i64 = 12 * 3000 + 20 * 15_000;

/// Returns one budget for each of these principals.
fn budgets_for(principals: &[String], period: &str, tokens: i64, cost_nanos: i64) -> Value {
    let budget = |principal: &String| json!({"principal": principal, "period": period, "tokens": tokens, "cost_nanos": cost_nanos});
    principals.iter().map(budget).collect()
}

/// Returns the tokens and the money that are used of each budget of a user.
async fn used(team: &Team, who: &Who) -> Vec<(i64, i64)> {
    let budgets = budgets_of(team, who).await;
    let used = |budget: &Value, field: &str| budget[field]["used"].as_i64().unwrap();
    let budgets = budgets.as_array().unwrap().iter();
    budgets.map(|budget| (used(budget, "tokens"), used(budget, "cost_nanos"))).collect()
}

/// Asks a question that the model answers after a tool call. Returns the path of the answer.
pub(super) async fn ask_with_a_call(team: &Team, who: &Who, model: &MockLlm) -> String {
    let conversation = team.conversation(who).await;
    model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
    model.reply([text("It is 3.")]);
    team.ask(who, &conversation, "1 + 2?").await;
    answer_in(team, who, &conversation).await
}

/// Returns the path of the first answer in a conversation.
async fn answer_in(team: &Team, who: &Who, conversation: &str) -> String {
    let path = format!("/api/conversations/{conversation}");
    let stored = team.json(who, Method::GET, &path, Value::Null, 200).await;
    format!("{path}/messages/{}", stored["messages"][1]["id"])
}

/// Requests an explanation of an answer.
async fn explain(team: &Team, who: &Who, answer: &str) {
    team.json(who, Method::POST, &format!("{answer}/reasoning-summary"), json!({}), 200).await;
}

/// Moves all model calls, and the last change of all conversations, to this time.
async fn move_usage_to(app: &TestApp, time: DateTime<Utc>) {
    let pool = app.pool().await;
    for sql in [
        "UPDATE model_calls SET created_at = ?",
        "UPDATE plain_calls SET created_at = ?",
        "UPDATE conversations SET updated_at = ?",
    ] {
        match &pool {
            Pool::MySql(pool) => drop(sqlx::query(sql).bind(time).execute(pool).await.unwrap()),
            Pool::Sqlite(pool) => drop(sqlx::query(sql).bind(time).execute(pool).await.unwrap()),
        }
    }
}

/// Returns the beginnings of this month and of today.
fn begins() -> (DateTime<Utc>, DateTime<Utc>) {
    let today = Utc::now().date_naive();
    let midnight = |day: chrono::NaiveDate| day.and_time(NaiveTime::MIN).and_utc();
    (midnight(today.with_day(1).unwrap()), midnight(today))
}

/// A server on which a tool call is reviewed, and answers get a title and a summary. `Side` writes the summary and the
/// review.
async fn start_with_auxiliary_calls(engine: &Engine, model: &MockLlm, side: &MockLlm, orders: &Orders) -> Team {
    let entry = |name: &str, model: &MockLlm| {
        let choice = ModelChoice::Provider(Provider::Anthropic.settings(model.url()));
        ModelEntry { name: name.to_owned(), choice, prices: Some(PRICES), vision: false, origin: Origin::Environment }
    };
    let review = ReviewSettings {
        models: vec!["Side".to_owned()],
        mode: ReviewMode::Decide,
        quorum: 1,
        timeout: Duration::from_secs(20),
    };
    let memory =
        MemorySettings { summary_model: Some("Side".to_owned()), after_tokens: Some(0), ..MemorySettings::default() };
    with_admin(engine).await;
    let app = TestApp::builder(engine)
        .with_models(vec![entry("First", model), entry("Side", side)])
        .with_review(review)
        .with_titles()
        .with_settings(|settings| settings.memory = memory)
        .with_tools(tools(orders, &Counts::default()))
        .with_accounts(required());
    Team::of(app.spawn().await)
}

on_every_engine! {
    /// A direct call of an API client is stored in no conversation.
    async fn direct_calls_count_for_their_user_and_the_user_s_groups(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        with_admin(&engine).await;
        let team = join(&engine, &model, Some(PRICES)).await;
        let admin = team.sign_in(ADMIN).await;
        let ((ann, ann_id), (bob, bob_id)) = (team.user(&admin, "ann").await, team.user(&admin, "bob").await);
        let (eve, _) = team.user(&admin, "eve").await;
        let staff = group(&team, &admin, "Staff", &[], &[ann_id, bob_id]).await;
        let principals = ["all".to_owned(), format!("group:{staff}"), format!("user:{ann_id}")];
        set(&team, &admin, budgets_for(&principals, "month", 1_000_000, 1_000_000_000)).await;

        let name = team.json(&ann, Method::GET, "/api/models", Value::Null, 200).await["items"][0]["name"].clone();
        let direct = format!("{}:plain", name.as_str().unwrap());
        let body = json!({"model": direct, "messages": [{"role": "user", "content": "Go?"}]});
        model.reply([text("Yes.")]);
        let program = team.program(&ann).await;
        team.json(&program, Method::POST, "/v1/chat/completions", body, 200).await;
        // The usage is stored after the answer.
        let call = (CALL_TOKENS, CALL_COST);
        eventually("the call counts", async || used(&team, &ann).await == [call; 3]).await;
        assert_eq!((used(&team, &bob).await, used(&team, &eve).await), (vec![call; 2], vec![call]));
        let conversations = team.json(&ann, Method::GET, "/api/conversations", Value::Null, 200).await;
        assert_eq!(conversations["items"], json!([]));

        let [all, of_group, of_user] = principals;
        for (principal, refused, admitted) in
            [(of_user, vec![&ann], vec![&bob, &eve]), (of_group, vec![&ann, &bob], vec![&eve]), (all, vec![&ann, &bob, &eve], vec![])]
        {
            for (field, limit) in [("tokens", CALL_TOKENS), ("cost_nanos", CALL_COST)] {
                let mut budget = json!({"principal": principal, "period": "day"});
                budget[field] = json!(limit);
                set(&team, &admin, json!([budget])).await;
                for who in &refused {
                    used_up(team.post_message(who, &team.conversation(who).await).await).await;
                }
                for who in &admitted {
                    model.reply([text("At once.")]);
                    team.ask(who, &team.conversation(who).await, "Go?").await;
                }
            }
        }
    }

    async fn titles_reviews_summaries_and_explanations_count(engine: Engine) {
        let [model, side] = [MockLlm::start().await.unwrap(), MockLlm::start().await.unwrap()];
        let orders = Orders::default();
        let team = start_with_auxiliary_calls(&engine, &model, &side, &orders).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, id) = team.user(&admin, "ann").await;
        let staff = group(&team, &admin, "Staff", &[], &[id]).await;
        let principals = ["all".to_owned(), format!("group:{staff}"), format!("user:{id}")];
        set(&team, &admin, budgets_for(&principals, "month", 1_000_000, 1_000_000_000)).await;
        let conversation = team.conversation(&ann).await;
        for answer in [order("pizza"), text("Enjoy."), text("A pizza for one")] {
            model.reply([answer]);
        }
        side.reply([text(json!({"verdict": "approve", "reason": "Fine."}).to_string())]);
        side.reply([text("They ordered a pizza.")]);
        team.ask(&ann, &conversation, "Pizza").await;
        assert_eq!(orders.orders(), ["pizza"]);
        let calls = |count: i64| [(count * CALL_TOKENS, count * CALL_COST); 3];
        eventually("the title and the summary count", async || used(&team, &ann).await == calls(5)).await;

        model.reply([text("I ordered it.")]);
        explain(&team, &ann, &answer_in(&team, &ann, &conversation).await).await;
        assert_eq!(used(&team, &ann).await, calls(6));
        let me = team.json(&ann, Method::GET, "/api/me", Value::Null, 200).await;
        let purposes: Vec<(&str, i64)> = me["this_month"].as_array().unwrap().iter().map(|usage| {
            (usage["purpose"].as_str().unwrap(), usage["calls"].as_i64().unwrap())
        }).collect();
        assert_eq!(purposes, [("answer", 2), ("reasoning_summary", 1), ("review", 1), ("summary", 1), ("title", 1)]);
        set(&team, &admin, json!([{"principal": "all", "period": "day", "tokens": 6 * CALL_TOKENS}])).await;
        assert_eq!(used_up(team.post_message(&ann, &conversation).await).await["used"], 6 * CALL_TOKENS);
    }

    /// The conversation was last changed before the budget's period.
    async fn an_explanation_of_an_earlier_answer_counts(engine: Engine) {
        let Asked { model, team, admin, ann, id, .. } = Asked::start(&engine).await;
        let staff = group(&team, &admin, "Staff", &[], &[id]).await;
        let principals = ["all".to_owned(), format!("group:{staff}"), format!("user:{id}")];
        let answer = ask_with_a_call(&team, &ann, &model).await;
        move_usage_to(&team.app, Utc::now() - TimeDelta::days(40)).await;
        set(&team, &admin, budgets_for(&principals, "month", CALL_TOKENS, 1)).await;
        assert_eq!(used(&team, &ann).await, [(0, 0); 3]);
        model.reply([text("I added the numbers.")]);
        explain(&team, &ann, &answer).await;
        assert_eq!(used(&team, &ann).await, [(CALL_TOKENS, 0); 3]);
        for principal in &principals {
            set(&team, &admin, budgets_for(std::slice::from_ref(principal), "month", CALL_TOKENS, 1)).await;
            used_up(team.post_message(&ann, &team.conversation(&ann).await).await).await;
        }
    }

    /// A day and a month begin at midnight in UTC.
    async fn usage_before_the_day_or_the_month_does_not_count(engine: Engine) {
        let Asked { model, team, admin, ann, id, .. } = Asked::start(&engine).await;
        let staff = group(&team, &admin, "Staff", &[], &[id]).await;
        let program = team.program(&ann).await;
        model.reply([text("A title")]);
        let task = team.request(&program, Method::POST, "/v1/chat/completions").header("X-Tallybook-Task", "title");
        let task = task.json(&json!({"messages": [{"role": "user", "content": "Title?"}]})).send().await.unwrap();
        assert_eq!(task.status(), 200);
        let all = ["all".to_owned()];
        set(&team, &admin, budgets_for(&all, "month", 1_000_000, 1)).await;
        eventually("the direct call counts", async || used(&team, &ann).await == [(2 * CALL_TOKENS, 0)]).await;

        let (month, today) = begins();
        let second = TimeDelta::seconds(1);
        for time in [month - second, today - second, today] {
            for (period, begin) in [("day", today), ("month", month)] {
                for principal in ["all".to_owned(), format!("group:{staff}"), format!("user:{id}")] {
                    move_usage_to(&team.app, time).await;
                    set(&team, &admin, budgets_for(std::slice::from_ref(&principal), period, 1, 1)).await;
                    let conversation = team.conversation(&ann).await;
                    if time >= begin {
                        let problem = used_up(team.post_message(&ann, &conversation).await).await;
                        assert!(problem["used"].as_i64().unwrap() >= 2 * CALL_TOKENS, "{time} {period} {principal}: {problem}");
                    } else {
                        assert_eq!(used(&team, &ann).await, [(0, 0)], "{time} {period} {principal}");
                        model.reply([text("At once.")]);
                        team.ask(&ann, &conversation, "Go?").await;
                    }
                }
            }
        }
    }
}
