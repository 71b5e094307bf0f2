//! Erasure of a user on behalf of the operator (`tallybook admin erase`).

use std::{
    io::Write as _,
    process::{Output, Stdio},
};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use tallybook_conversations::index_all_messages;
use tallybook_mock_llm::{MockLlm, hang, text, tool_call};

use super::{
    kit::{ADMIN, PASSWORD, Team, Who, with_admin},
    tool_history::say_why,
};
use crate::{
    file_stores::admin_with,
    files::PNG,
    operator_commands::{admin, said},
    support::{Engine, FileStore, Program, TestApp, on_every_engine, rows},
};

/// Text in everything that the erased user wrote.
const MARKER: &str = "marker7341";

/// Name of the erased user.
const NAME: &str = "zelda.z";

/// Returns the columns that contain a text, as `table.column`, in the order of the tables.
async fn mentions(app: &TestApp, engine: &Engine, text: &str) -> Vec<String> {
    let columns: Vec<(String, String)> = if engine.is_sqlite() {
        rows!(
            app,
            (String, String),
            "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY 1, 2"
        )
    } else {
        rows!(
            app,
            (String, String),
            "SELECT CAST(c.TABLE_NAME AS CHAR), CAST(c.COLUMN_NAME AS CHAR) FROM information_schema.COLUMNS c \
             JOIN information_schema.TABLES t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME \
             WHERE c.TABLE_SCHEMA = DATABASE() AND t.TABLE_TYPE = 'BASE TABLE' ORDER BY 1, 2"
        )
    };
    assert!(columns.len() > 100, "{columns:?}");
    let kind = if engine.is_sqlite() { "TEXT" } else { "CHAR" };
    let find = |(table, column): &(String, String)| {
        format!(
            "SELECT '{table}.{column}' AS place FROM (SELECT 1 AS one) o WHERE EXISTS \
             (SELECT 1 FROM `{table}` WHERE LOWER(CAST(`{column}` AS {kind})) LIKE '%{text}%')"
        )
    };
    let sql = columns.iter().map(find).collect::<Vec<_>>().join(" UNION ALL ");
    rows!(app, (String,), AssertSqlSafe(sql)).into_iter().map(|(place,)| place).collect()
}

/// Fills everything that a user can own with texts that contain the marker.
async fn fill(team: &Team, model: &MockLlm, who: &Who) {
    let say = |words: &str| text(format!("{words} {MARKER}"));
    team.json(who, Method::PATCH, "/api/me", json!({"instructions": MARKER}), 200).await;
    let name = format!("/api/files?name={MARKER}.txt");
    team.json(who, Method::POST, &name, json!({"text": MARKER}), 201).await;
    let key = json!({"name": MARKER, "password": PASSWORD});
    let key = team.json(who, Method::POST, "/api/keys", key, 201).await;
    let program = Who { cookie: None, key: Some(key["key"].as_str().unwrap().to_owned()) };
    let conversations = [team.conversation(who).await, team.conversation(who).await, team.conversation(who).await];
    for uuid in &conversations {
        model.reply([tool_call("evaluate", json!({"expression": MARKER}).to_string())]);
        model.reply([say("Done")]);
        team.ask(who, uuid, MARKER).await;
    }
    let [shared, archived, deleted] = conversations;
    let found = team.json(who, Method::GET, &format!("/api/conversations/{shared}"), Value::Null, 200).await;
    let path = format!("/api/conversations/{shared}/messages/{}/feedback", found["messages"][1]["id"]);
    team.json(who, Method::PUT, &path, json!({"rating": "down", "reason": MARKER}), 200).await;
    let path = format!("/api/conversations/{shared}/shares");
    team.json(who, Method::POST, &path, json!({"tool_calls": true}), 201).await;
    let fork = json!({"message_id": found["messages"][1]["id"]});
    team.json(who, Method::POST, &format!("/api/conversations/{shared}/fork"), fork, 201).await;
    let update = json!({"archived": true, "title": MARKER});
    team.json(who, Method::PATCH, &format!("/api/conversations/{archived}"), update, 200).await;
    team.json(who, Method::DELETE, &format!("/api/conversations/{deleted}"), Value::Null, 204).await;
    let name = team.json(who, Method::GET, "/api/models", Value::Null, 200).await["items"][0]["name"].clone();
    model.reply([say("Hello")]);
    let request = json!({"model": name, "input": MARKER});
    team.json(&program, Method::POST, "/v1/responses", request, 200).await;
    model.reply([say("Hello")]);
    let plain = format!("{}:plain", name.as_str().unwrap());
    let request = json!({"model": plain, "messages": [{"role": "user", "content": MARKER}]});
    team.json(&program, Method::POST, "/v1/chat/completions", request, 200).await;
}

/// Runs the command with a line of standard input.
fn erase_with(engine: &Engine, model: &MockLlm, name: &str, line: &str) -> Output {
    let mut command = Program::command(engine, model);
    command.args(["admin", "erase", name]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// Erases a user who has a file of their own, in a message, and one with the content of another user's file.
async fn assert_objects_are_erased(engine: Engine, store: FileStore) {
    let model = MockLlm::start().await.unwrap();
    with_admin(&engine).await;
    let mut command = Program::command(&engine, &model);
    let command = command.env("ACCOUNTS", "on").envs(store.variables());
    let team = Team::of(TestApp::launch_command(&engine, command));
    let root = team.sign_in(ADMIN).await;
    let (who, _) = team.user(&root, NAME).await;
    let upload = async |who: &Who, name: &str, content: &'static [u8]| {
        let request = team.request(who, Method::POST, &format!("/api/files?name={name}")).body(content);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::CREATED);
        response.json::<Value>().await.unwrap()
    };
    let same = upload(&root, "same.txt", b"Both have this.").await;
    let kept = store.keys();
    upload(&who, "same.txt", b"Both have this.").await;
    let own = upload(&who, "picture.png", PNG).await;
    assert!(store.keys().len() > kept.len(), "{:?}", store.keys());
    let path = format!("/api/conversations/{}/messages", team.conversation(&who).await);
    model.reply([text("A picture.")]);
    let question = json!({"parts": [{"type": "image", "file_id": own["id"]}]});
    let answer = team.send(&who, Method::POST, &path, question).await.text().await.unwrap();
    assert!(answer.contains("event: message_end"), "{answer}");

    let before = store.keys();
    let (is_done, words) = said(&admin(&engine, &model, &["erase", NAME, "--yes"]));
    assert!(!is_done && words.contains("Set FILES_URL as for the server, and start again."), "{words}");
    assert_eq!((store.keys(), team.get(&who, "/api/me").await.status()), (before, StatusCode::OK));
    let (is_done, words) = admin_with(&engine, &model, &store, &["erase", NAME, "--yes"]);
    assert!(is_done, "{words}");
    assert_eq!(store.keys(), kept);
    let content = team.get(&root, &format!("/api/files/{}/content", same["id"].as_str().unwrap())).await;
    assert_eq!(content.text().await.unwrap(), "Both have this.");
}

on_every_engine! {
    async fn an_erased_users_objects_in_a_folder_are_gone(engine: Engine) {
        assert_objects_are_erased(engine, FileStore::folder()).await;
    }

    async fn an_erased_users_objects_in_a_bucket_are_gone(engine: Engine) {
        assert_objects_are_erased(engine, FileStore::bucket()).await;
    }

    /// Nothing that the user wrote remains, in any column of any table, while a turn runs and the server uses the
    /// database.
    async fn an_erased_user_is_mentioned_nowhere(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let root = team.sign_in(ADMIN).await;
        let (who, id) = team.user(&root, NAME).await;
        fill(&team, &model, &who).await;
        let running = team.conversation(&who).await;
        model.reply([text(format!("{MARKER} ")), hang()]);
        let path = format!("/api/conversations/{running}/messages");
        let mut turn = team.send(&who, Method::POST, &path, json!({"content": MARKER})).await;
        turn.chunk().await.unwrap().expect("the turn runs");
        let call = rows!(team.app, (i64,), "SELECT MIN(id) FROM tool_calls")[0].0;
        let why = format!("A complaint of Zelda.Z, and of {NAME}.");
        assert_eq!(say_why(&team, &root, &format!("/admin/calls/{call}"), &why).await.status(), StatusCode::SEE_OTHER);
        let others = team.conversation(&root).await;
        model.reply([text("Yes.")]);
        team.ask(&root, &others, "Is this mine?").await;
        let found = mentions(&team.app, &engine, MARKER).await;
        for column in ["api_keys.name", "conversations.title", "messages.content", "tool_calls.input_text", "shares.messages",
            "users.instructions", "journal_events.data", "responses.input", "copied_tool_calls.input_text", "files.name", "file_texts.text", "feedback.reason"]
        {
            assert!(found.contains(&column.to_owned()), "{column}: {found:?}");
        }

        index_all_messages(&engine.database().await).await.unwrap();
        let blocks = format!("SELECT COUNT(*) FROM search_blocks WHERE user_id = {id}");
        assert!(rows!(team.app, (i64,), AssertSqlSafe(blocks.clone()))[0].0 > 0);

        let (is_done, words) = said(&admin(&engine, &model, &["erase", "Zelda.Z", "--yes"]));
        assert!(is_done && words.contains("the account and 6 conversations"), "{words}");
        assert_eq!(rows!(team.app, (i64,), AssertSqlSafe(blocks)), [(0,)]);
        let nothing: [&str; 0] = [];
        assert_eq!(mentions(&team.app, &engine, MARKER).await, nothing);
        assert_eq!(mentions(&team.app, &engine, NAME).await, nothing);
        assert_eq!(team.get(&who, "/api/me").await.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(team.try_sign_in(NAME, PASSWORD).await.status(), StatusCode::UNAUTHORIZED);
        let pseudonym = format!("erased#{id}");
        let user = rows!(team.app, (String, Option<String>), AssertSqlSafe(format!("SELECT name, password_hash FROM users WHERE id = {id}")));
        assert_eq!(user, [(pseudonym.clone(), None)]);
        let recorded = rows!(team.app, (Option<i64>, i64), "SELECT actor_id, user_id FROM audit_log WHERE action = 'account_erased'");
        assert_eq!(recorded, [(None, id)]);
        let reasons = rows!(team.app, (String,), "SELECT reason FROM audit_log WHERE action = 'reason_given'");
        assert_eq!(reasons, [(format!("A complaint of {pseudonym}, and of {pseudonym}."),)]);
        let left = rows!(team.app, (i64, i64), "SELECT (SELECT COUNT(*) FROM conversations), (SELECT COUNT(*) FROM api_keys)");
        assert_eq!(left, [(1, 0)]);
        let (is_consistent, words) = said(&admin(&engine, &model, &["check"]));
        assert!(is_consistent, "{words}");
        // The name is free for a new account.
        team.user(&root, NAME).await;
    }

    async fn an_erasure_takes_confirmation_and_leaves_an_admin(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let root = team.sign_in(ADMIN).await;
        team.user(&root, NAME).await;
        for line in ["", "yes\n"] {
            let (is_done, words) = said(&erase_with(&engine, &model, NAME, line));
            assert!(!is_done && words.contains("nothing is erased"), "{words}");
        }
        let (is_done, words) = said(&admin(&engine, &model, &["erase", ADMIN, "--yes"]));
        assert!(!is_done && words.contains("This is the only admin."), "{words}");
        let (is_done, words) = said(&admin(&engine, &model, &["erase", "olaf", "--yes"]));
        assert!(!is_done && words.contains("This user does not exist."), "{words}");
        assert_eq!(rows!(team.app, (i64,), "SELECT COUNT(*) FROM users WHERE deleted_at IS NOT NULL"), [(0,)]);
        let (is_done, words) = said(&erase_with(&engine, &model, NAME, &format!("{NAME}\n")));
        assert!(is_done && words.contains("the account and 0 conversations"), "{words}");
    }

    /// The first admin has the local user's row. It must not be free for the setup of another first admin.
    async fn the_first_admin_can_be_erased(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let root = team.sign_in(ADMIN).await;
        let made = json!({"name": "ruth", "password": PASSWORD, "role": "admin"});
        team.json(&root, Method::POST, "/api/users", made, 201).await;
        assert!(said(&admin(&engine, &model, &["erase", ADMIN, "--yes"])).0);
        let first = rows!(team.app, (String, bool), "SELECT name, password_hash IS NOT NULL FROM users WHERE id = 1");
        assert_eq!(first, [("erased#1".to_owned(), true)]);
        assert_eq!(team.try_sign_in("erased#1", PASSWORD).await.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(team.get(&team.sign_in("ruth").await, "/api/me").await.status(), StatusCode::OK);
    }
}
