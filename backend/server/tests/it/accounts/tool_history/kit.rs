//! Writes calls to the database directly, without the server, reads pages of the tool history, and decides on calls of
//! a tool that needs approval.

use chrono::{DateTime, TimeDelta, Utc};
use reqwest::{Method, Response, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use sqlx::{Encode, QueryBuilder, Type};
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_tools::{Risk, Tool, ToolError, ToolOutput};

use super::super::kit::{Team, Who};
use crate::support::{Pool, rows};

/// Returns the time of a test's first calls, a fixed time.
pub(crate) fn start() -> DateTime<Utc> {
    DateTime::from_timestamp(1_793_500_200, 0).unwrap()
}

/// A call to write.
#[derive(Clone, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) id: i64,
    /// Id of the turn, see [`write_turn`].
    pub(crate) turn: i64,
    pub(crate) tool: &'a str,
    pub(crate) status: &'a str,
    /// Start of the call, in minutes after [`start`].
    pub(crate) minute: i64,
    pub(crate) duration_ms: Option<i64>,
    pub(crate) input: &'a str,
    pub(crate) output: Option<&'a str>,
    pub(crate) error: Option<&'a str>,
}

impl Call<'_> {
    pub(crate) fn new(id: i64, turn: i64) -> Self {
        Self {
            id,
            turn,
            tool: "add",
            status: "success",
            minute: 0,
            duration_ms: Some(3),
            input: r#"{"a":1}"#,
            output: Some("3"),
            error: None,
        }
    }
}

/// Runs a statement with values, on either engine.
macro_rules! run {
    ($db:expr, $sql:expr $(, $value:expr)*) => {
        match $db {
            $crate::support::Pool::MySql(pool) => { sqlx::query($sql)$(.bind($value))*.execute(pool).await.unwrap(); }
            $crate::support::Pool::Sqlite(pool) => { sqlx::query($sql)$(.bind($value))*.execute(pool).await.unwrap(); }
        }
    };
}
pub(crate) use run;

/// Returns the UUID of a turn's conversation.
pub(crate) fn uuid(turn: i64) -> String {
    format!("00000000-0000-4000-8000-{turn:012}")
}

/// Writes a user's conversation with one turn. Both have this id.
pub(crate) async fn write_turn(db: &Pool, id: i64, user: i64, model: &str) {
    let at = start();
    run!(
        db,
        "INSERT INTO conversations (id, uuid, user_id, title, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)",
        id,
        uuid(id),
        user,
        "A <b>title</b>",
        at,
        at
    );
    run!(
        db,
        "INSERT INTO messages (id, conversation_id, role, content, status, model, created_at) \
         VALUES (?, ?, 'assistant', ?, 'complete', ?, ?)",
        id,
        id,
        "The <i>answer</i>",
        model,
        at
    );
    run!(
        db,
        "INSERT INTO model_calls (message_id, step, provider, model, input_tokens, output_tokens, cost_nanos, duration_ms, \
         blocks, created_at) VALUES (?, 0, 'mock', 'mock-1', 100, 20, 5000, 40, '[]', ?)",
        id,
        at
    );
}

pub(crate) async fn write_call(db: &Pool, call: &Call<'_>) {
    let began = start() + TimeDelta::minutes(call.minute);
    run!(
        db,
        "INSERT INTO tool_calls (id, message_id, tool_call_id, tool_name, input, input_text, output, error, status, step, \
         position, text_offset, started_at, duration_ms) VALUES (?, ?, 'id', ?, '{}', ?, ?, ?, ?, 0, ?, 0, ?, ?)",
        call.id,
        call.turn,
        call.tool,
        call.input,
        call.output,
        call.error,
        call.status,
        call.id,
        began,
        call.duration_ms
    );
}

/// Writes this number of calls of a turn, with ids from 1, all at the same time.
pub(crate) async fn write_equal_calls(db: &Pool, turn: i64, calls: i64) {
    run!(
        db,
        "INSERT INTO tool_calls (id, message_id, tool_call_id, tool_name, input, input_text, output, status, step, position, \
         text_offset, started_at, duration_ms) WITH RECURSIVE numbers (n) AS \
         (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?) \
         SELECT n, ?, 'id', 'add', '{}', '{}', 'hay', 'success', 0, n, 0, ?, 3 FROM numbers",
        calls,
        turn,
        start()
    );
}

/// Returns `true` if a page loads the tool history's own script, and has no other script.
pub(crate) fn runs_ours_alone(page: &str) -> bool {
    let ours = "<script type=\"module\" src=\"/admin/tool-history.js\"></script>";
    page.contains(ours) && page.matches("<script").count() == 1
}

/// Returns a page without the bars beside its numbers.
pub(crate) fn without_bars(page: &str) -> String {
    let mut parts = page.split("<svg class=\"history-share\"");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |text, rest| text + rest.split_once("</svg>").unwrap().1)
}

/// Writes many calls at once, with the index columns: the user and the conversation of the turn (see [`write_turn`]),
/// and the model.
pub(crate) async fn write_calls(db: &Pool, calls: &[Call<'_>], of_turn: impl Fn(i64) -> (i64, &'static str) + Copy) {
    for some in calls.chunks(500) {
        match db {
            Pool::MySql(pool) => insert(some, of_turn).build().execute(pool).await.map(|_| ()).unwrap(),
            Pool::Sqlite(pool) => insert(some, of_turn).build().execute(pool).await.map(|_| ()).unwrap(),
        }
    }
}

fn insert<D>(calls: &[Call<'_>], of_turn: impl Fn(i64) -> (i64, &'static str)) -> QueryBuilder<D>
where
    D: sqlx::Database,
    String: Type<D> + for<'q> Encode<'q, D>,
    i64: Type<D> + for<'q> Encode<'q, D>,
    Option<i64>: for<'q> Encode<'q, D>,
    DateTime<Utc>: Type<D> + for<'q> Encode<'q, D>,
{
    let mut query = QueryBuilder::new(
        "INSERT INTO tool_calls (id, message_id, tool_call_id, tool_name, input, input_text, status, step, position, \
         text_offset, started_at, duration_ms, user_id, conversation_id, model) ",
    );
    query.push_values(calls, |mut row, call| {
        let (user, model) = of_turn(call.turn);
        row.push_bind(call.id).push_bind(call.turn).push("'id'").push_bind(call.tool.to_owned()).push("'{}'");
        row.push("'{}'").push_bind(call.status.to_owned()).push("0").push_bind(call.id).push("0");
        row.push_bind(start() + TimeDelta::minutes(call.minute)).push_bind(call.duration_ms);
        row.push_bind(user).push_bind(call.turn).push_bind(model.to_owned());
    });
    query
}

/// Returns a page of the tool history. Fails unless the response has this status.
pub(crate) async fn page(team: &Team, who: &Who, address: &str, status: StatusCode) -> String {
    let response = team.get(who, address).await;
    let found = response.status();
    let text = response.text().await.unwrap();
    assert_eq!(found, status, "{address}: {text}");
    text
}

/// Returns the address of the list with a filter.
pub(crate) fn filtered(filter: &str) -> String {
    let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("q", filter).finish();
    format!("/admin?{query}")
}

/// Returns the ids of the calls on a page of the list, in the page's order.
pub(crate) fn calls_on(page: &str) -> Vec<i64> {
    let links = page.split("href=\"/admin/calls/").skip(1);
    links.map(|rest| rest.split('"').next().unwrap().parse().unwrap()).collect()
}

/// Returns the address of the next page; `None` on the last page.
pub(crate) fn next_of(page: &str) -> Option<String> {
    let link = page.split("rel=\"next\" href=\"").nth(1)?;
    Some(link.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&"))
}

/// Submits a reason for access to another user's data.
pub(crate) async fn say_why(team: &Team, who: &Who, address: &str, reason: &str) -> Response {
    fill_in(team, who, address, "reason", reason).await
}

/// Submits a form with one field.
pub(crate) async fn fill_in(team: &Team, who: &Who, address: &str, field: &str, value: &str) -> Response {
    let body = url::form_urlencoded::Serializer::new(String::new()).append_pair(field, value).finish();
    let request = team.request(who, Method::POST, address).body(body);
    request.header("content-type", "application/x-www-form-urlencoded").send().await.unwrap()
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Dish {
    dish: String,
}

/// A tool that changes something, so its calls need approval.
pub(crate) struct Orders;

impl Tool for Orders {
    type Args = Dish;
    const NAME: &'static str = "order";
    const DESCRIPTION: &'static str = "Orders a dish.";
    const RISK: Risk = Risk::High;

    async fn call(&self, Dish { dish }: Dish) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(format!("ordered {dish}")))
    }
}

/// Makes the model call `order`, decides on the call, and returns the call's id.
pub(crate) async fn decide(team: &Team, model: &MockLlm, who: &Who, decision: Value) -> i64 {
    let conversation = team.conversation(who).await;
    model.reply([tool_call("order", r#"{"dish":"<b>pizza</b>"}"#)]);
    team.ask(who, &conversation, "I am hungry").await;
    let id = rows!(team.app, (i64,), "SELECT id FROM tool_calls WHERE status = 'awaiting_approval'")[0].0;
    model.reply([text("Very well.")]);
    let decided = team.send(who, Method::POST, &format!("/api/tool-calls/{id}/decision"), decision).await;
    assert_eq!(decided.status(), StatusCode::OK);
    assert!(decided.text().await.unwrap().contains("event: message_end"));
    id
}

/// Returns a section of a page, by the beginning of its heading.
pub(crate) fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let rest = page.split(&format!("<h2>{heading}")).nth(1).unwrap_or_else(|| panic!("{heading} in {page}"));
    rest.split("</section>").next().unwrap()
}
