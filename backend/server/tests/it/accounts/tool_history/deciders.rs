//! The deciders of calls in rows, events, the API, exports, pages and SQL, for users who have the names of other kinds
//! of deciders.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, migrate::Migrator};
use tallybook_mock_llm::MockLlm;

use super::{
    super::kit::{ADMIN, Team, Who, required, with_admin},
    kit::{Call, Orders, decide, page, run, say_why, section, start, write_call, write_turn},
};
use crate::support::{Engine, TestApp, execute, on_every_engine, rows};

const MYSQL: Migrator = sqlx::migrate!("../../migrations/mysql");
const SQLITE: Migrator = sqlx::migrate!("../../migrations/sqlite");

/// The migration that adds kinds and ids of deciders.
const ADDS_KINDS: i64 = 28;

/// A decision as versions before the migration stored it, and the kind of its decider.
type Before = (
    &'static str,
    &'static str,
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
    Option<&'static str>,
    &'static str,
);

/// Decisions as versions before the migration stored them: the name of the conversation's owner, the decision, the
/// stored decider, its reason, the call's error, a model that voted for it, and the kind of decider it was.
const BEFORE: [Before; 9] = [
    ("ann", "approve", "ann", None, None, None, "user"),
    ("ann", "approve", "review", Some("Sonnet: Fine."), None, None, "review"),
    // prose-ok: stored values
    ("ann", "deny", "nobody", Some("nobody decided"), Some(TOO_LATE), None, "timeout"),
    ("ann", "deny", "ann", Some("stopped"), Some("The answer was stopped, so this call did not run."), None, "user"),
    ("review", "approve", "review", None, None, Some("Sonnet"), "user"),
    ("review", "approve", "review", Some("Sonnet: Fine."), None, Some("Sonnet"), "review"),
    (
        "review",
        "deny",
        "review",
        Some("Sonnet: No."),
        Some("A person refused this call, so it did not run: Sonnet: No."),
        None,
        "user",
    ),
    (
        "review",
        "deny",
        "review",
        Some("Sonnet: No."),
        Some("Reviewing models refused this call, so it did not run. Sonnet: No."),
        None,
        "review",
    ),
    (
        "nobody",
        "deny",
        "nobody",
        Some("nobody decided"), // prose-ok: stored values
        Some("A person refused this call, so it did not run: nobody decided"),
        None,
        "user",
    ),
];

/// Creates a user who has had this name since before such names were reserved.
async fn existing_user(team: &Team, admin: &Who, name: &str) -> (Who, i64) {
    let (user, id) = team.user(admin, &format!("{name}-person")).await;
    execute!(team.app, AssertSqlSafe(format!("UPDATE users SET name = '{name}' WHERE id = {id}")));
    (user, id)
}

// prose-ok: a stored value
const TOO_LATE: &str = "Nobody decided on this call in time, so it did not run.";

on_every_engine! {
    async fn a_user_with_the_name_of_a_decider_is_distinguished_from_it(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        with_admin(&engine).await;
        let tools = tallybook_tools::builtin().unwrap().with(Orders).unwrap();
        let app = TestApp::builder(&engine)
            .with_mock(&model)
            .with_tools(tools)
            .with_settings(|settings| settings.accounts = required())
            .spawn()
            .await;
        let team = Team::of(app);
        let admin = team.sign_in(ADMIN).await;
        for name in ["review", "nobody"] {
            let (user, user_id) = existing_user(&team, &admin, name).await;
            let call = decide(&team, &model, &user, json!({"decision": "approve", "remember": "always"})).await;
            let seen = team.json(&user, Method::GET, &format!("/api/tool-calls/{call}"), Value::Null, 200).await;
            let decision = &seen["decision"];
            assert_eq!((&decision["decision"], &decision["decided_by"]), (&json!("approve"), &json!(name)));
            let decider = (json!("user"), json!(user_id));
            assert_eq!((decision["decided_by_kind"].clone(), decision["decided_by_user_id"].clone()), decider);
            assert_eq!(decision["scope"], "always");
            let standing = team.json(&user, Method::GET, "/api/approvals", Value::Null, 200).await["items"][0].clone();
            assert_eq!((standing["decided_by_kind"].clone(), standing["decided_by_user_id"].clone()), decider);
            let again = team.send(&user, Method::POST, &format!("/api/tool-calls/{call}/decision"), json!({"decision": "deny"})).await;
            assert_eq!(again.status(), StatusCode::CONFLICT);
            assert!(again.text().await.unwrap().contains(&format!("it was approved by {name}")));

            let conversation = format!("SELECT conversation_uuid FROM tool_history WHERE id = {call}");
            let conversation = rows!(team.app, (String,), AssertSqlSafe(conversation.as_str()))[0].0.clone();
            let file = |format: &str| format!("/api/conversations/{conversation}/export?format={format}");
            let markdown = team.get(&user, &file("markdown")).await.text().await.unwrap();
            assert!(markdown.contains(&format!("Always allowed by `{name}` · ")), "{markdown}");
            let exported = team.json(&user, Method::GET, &file("json"), Value::Null, 200).await;
            assert_eq!(&exported["messages"][1]["tool_calls"][0]["decision"], decision);
            let message = exported["messages"][1]["id"].clone();
            let playback = format!("/api/conversations/{conversation}/messages/{message}/playback");
            let played = team.json(&user, Method::GET, &playback, Value::Null, 200).await["items"].clone();
            let played = played.as_array().unwrap().iter().find(|event| event["event"] == "approval_decided").unwrap();
            assert_eq!((played["data"]["decided_by_kind"].clone(), played["data"]["decided_by_user_id"].clone()), decider);
            assert_eq!(played["data"]["scope"], "always");

            let columns = format!("SELECT decision, decided_by, decided_by_kind, decided_by_user_id, decision_scope \
                                   FROM tool_history WHERE id = {call}");
            let found = rows!(team.app, (String, String, String, i64, String), AssertSqlSafe(columns.as_str()));
            let expected = ("approve".to_owned(), name.to_owned(), "user".to_owned(), user_id, "always".to_owned());
            assert_eq!(found, [expected]);
            let address = format!("/admin/calls/{call}");
            say_why(&team, &admin, &address, "to see who decides").await;
            let shown = page(&team, &admin, &address, StatusCode::OK).await;
            assert!(section(&shown, "Decisions").contains(&format!("<li>Always allowed, by {name}, <time")), "{shown}");

            let share = team.json(&user, Method::POST, &format!("/api/conversations/{conversation}/shares"), json!({"tool_calls": true}), 201).await;
            let shared = team.get(&user, share["path"].as_str().unwrap()).await.text().await.unwrap();
            assert!(shared.contains("ordered") && !shared.contains(&format!("Allowed by {name}")), "{shared}");
        }
    }

    /// Runs the migration's own statements on decisions as they were stored before it.
    async fn the_migration_sets_the_deciders_of_earlier_decisions(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let db = engine.pool().await;
        let mut users = Vec::new();
        for name in ["ann", "review", "nobody"] {
            users.push((name, existing_user(&team, &admin, name).await));
        }
        let owner_of = |name: &str| users.iter().find(|(user, _)| *user == name).map(|(_, person)| person).unwrap();
        for (id, (owner, decision, by, reason, error, vote, _)) in (1..).zip(BEFORE) {
            write_turn(&db, id, owner_of(owner).1, "Small").await;
            let status = if decision == "deny" { "denied" } else { "success" };
            write_call(&db, &Call { status, error, ..Call::new(id, id) }).await;
            run!(
                &db,
                "INSERT INTO approvals (tool_call_id, decision, decided_by, reason, proposed_input, created_at) VALUES \
                 (?, ?, ?, ?, '{}', ?)",
                id, decision, by, reason, start()
            );
            run!(&db, "UPDATE tool_calls SET decided_at = ? WHERE id = ?", start(), id);
            if let Some(vote) = vote {
                run!(
                    &db,
                    "INSERT INTO tool_call_reviews (tool_call_id, model, verdict, reason, input_tokens, output_tokens, \
                     duration_ms, created_at) VALUES (?, ?, 'approve', 'Fine.', 1, 1, 1, ?)",
                    id, vote, start()
                );
            }
        }
        let (ann, _) = owner_of("ann");
        let unknown = team.json(ann, Method::GET, "/api/tool-calls/2", Value::Null, 200).await["decision"].clone();
        assert_eq!((&unknown["decided_by"], &unknown["decided_by_kind"]), (&json!("review"), &json!("unknown")));
        assert_eq!(unknown["decided_by_user_id"], Value::Null);

        let migrator = if engine.is_sqlite() { SQLITE } else { MYSQL };
        let migration = migrator.iter().find(|migration| migration.version == ADDS_KINDS).unwrap();
        let updates: Vec<&str> =
            migration.sql.as_str().split_inclusive(";\n").filter_map(|part| part.find("UPDATE approvals").map(|at| &part[at..])).collect();
        assert_eq!(updates.len(), 2);
        for update in updates {
            run!(&db, AssertSqlSafe(update.to_owned()));
        }
        let found = "SELECT tool_call_id, decided_by_kind, decided_by_user_id FROM approvals ORDER BY tool_call_id";
        let found = rows!(team.app, (i64, String, Option<i64>), found);
        let expected = (1..).zip(BEFORE).map(|(id, (owner, .., kind))| {
            (id, kind.to_owned(), (kind == "user").then_some(owner_of(owner).1))
        });
        assert_eq!(found, expected.collect::<Vec<_>>());
    }
}
