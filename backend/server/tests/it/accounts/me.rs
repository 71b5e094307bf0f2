//! The user's own account: instructions to every model, password changes, usage, the export, and deletion.

use chrono::{DateTime, Utc};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call};

use super::kit::{ADMIN, PASSWORD, Team, Who, kind_of};
use crate::support::{Engine, TestApp, eventually, execute, on_every_engine, rows};

const NEW_PASSWORD: &str = "another one of some length";

/// Returns the lines of a user's export.
async fn export(team: &Team, who: &Who) -> Vec<Value> {
    let file = team.get(who, "/api/me/export").await;
    assert_eq!(file.status(), StatusCode::OK);
    assert!(file.headers()["content-disposition"].to_str().unwrap().starts_with("attachment; filename=\"Tallybook"));
    file.text().await.unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

on_every_engine! {
    async fn a_new_password_needs_the_current_one_and_ends_other_sessions(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let (first, second) = (team.sign_in(ADMIN).await, team.sign_in(ADMIN).await);
        let program = team.program(&first).await;
        let change = async |current: &str, new: &str| {
            team.send(&first, Method::PUT, "/api/me/password", json!({"current": current, "new": new})).await
        };
        let wrong = change("not the password", NEW_PASSWORD).await;
        assert_eq!(wrong.status(), StatusCode::FORBIDDEN);
        assert_eq!(kind_of(wrong).await, "/problems/wrong-password");
        assert_eq!(kind_of(change(PASSWORD, "short").await).await, "/problems/invalid-input");
        assert_eq!(team.get(&second, "/api/me").await.status(), StatusCode::OK, "nothing has changed so far");

        assert_eq!(change(PASSWORD, NEW_PASSWORD).await.status(), StatusCode::NO_CONTENT);
        assert_eq!(team.get(&second, "/api/me").await.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(team.get(&first, "/api/me").await.status(), StatusCode::OK);
        assert_eq!(team.get(&program, "/api/me").await.status(), StatusCode::OK, "an API key is not a password");
        assert_eq!(team.try_sign_in(ADMIN, PASSWORD).await.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(team.try_sign_in(ADMIN, NEW_PASSWORD).await.status(), StatusCode::OK);
        let noted: Vec<(i64, i64)> = rows!(
            team.app, (i64, i64), "SELECT actor_id, user_id FROM audit_log WHERE action = 'password_changed'"
        );
        assert_eq!(noted, [(1, 1)]);

        // An attacker who finds an open session has no more password guesses than at sign-in.
        let guesses = (0..12).map(|_| change("a guess of some length", NEW_PASSWORD));
        let answers = futures_util::future::join_all(guesses).await;
        let refused = answers.iter().find(|answer| answer.status() == StatusCode::TOO_MANY_REQUESTS);
        assert!(refused.expect("one attempt is refused").headers().contains_key("retry-after"));
    }

    /// Lists usage by purpose, for the current month only.
    async fn usage_is_listed_by_purpose(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::builder(&engine).with_mock(&model).with_titles().spawn().await;
        assert_eq!(app.get_json("/api/me").await["this_month"], json!([]));
        model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
        model.reply([text("Three.")]);
        model.reply([text("A sum")]);
        let conversation = app.create_conversation().await;
        app.send(&conversation, "1 + 2?").await.all().await;
        let usage = async || {
            let usage = app.get_json("/api/me").await["this_month"].clone();
            let usage = usage.as_array().unwrap().iter().map(|row| (row["purpose"].clone(), row["calls"].clone())).collect::<Vec<_>>();
            json!(usage)
        };
        eventually("the title's call counts", async || usage().await == json!([["answer", 2], ["title", 1]])).await;
        let sums: Vec<(i64,)> = rows!(app, (i64,), "SELECT CAST(SUM(input_tokens) AS SIGNED) FROM model_calls WHERE purpose = 'answer'");
        let row = app.get_json("/api/me").await["this_month"][0].clone();
        assert!(sums[0].0 > 0 && row["input_tokens"] == sums[0].0, "{row} {sums:?}");
        execute!(app, "UPDATE model_calls SET created_at = '2026-01-31 23:59:59' WHERE purpose = 'title'");
        assert_eq!(usage().await, json!([["answer", 2]]));
    }

    /// With accounts and without, every model receives the instructions of its own user, after the built-in system
    /// prompt. It never receives another user's instructions.
    async fn instructions_are_only_in_their_own_users_prompts(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let update = async |body: Value| app.client.patch(app.url("/api/me")).json(&body).send().await.unwrap();
        let usage = async |app: &TestApp| {
            let conversation = app.create_conversation().await;
            model.reply([text("Yes.")]);
            app.send(&conversation, "Go?").await.all().await;
            let request: Value = serde_json::from_str(&model.requests().pop().unwrap().body_text).unwrap();
            let texts = request["system"].as_array().unwrap().iter().map(|block| block["text"].as_str().unwrap().to_owned());
            texts.collect::<Vec<_>>()
        };
        assert_eq!(app.get_json("/api/me").await["instructions"], "");
        assert_eq!(usage(&app).await.len(), 1);
        let me: Value = update(json!({"instructions": " Answer in rhymes. "})).await.json().await.unwrap();
        assert_eq!((&me["instructions"], &me["name"], &me["theme"]), (&json!("Answer in rhymes."), &Value::Null, &json!("system")));
        let texts = usage(&app).await;
        assert!(texts[0].starts_with("You are a helpful assistant.") && texts.len() == 2, "{texts:?}");
        assert!(texts[1].contains("<instructions_of_the_user>\nAnswer in rhymes.\n</"), "{texts:?}");
        let mut unchanged: Value = update(json!({})).await.json().await.unwrap();
        // A conversation was created meanwhile.
        for changing in ["this_month", "conversations"] {
            unchanged[changing] = me[changing].clone();
        }
        assert_eq!(unchanged, me, "absent fields do not change");
        for wrong in ["あ".repeat(4001), "a\0b".to_owned()] {
            assert_eq!(kind_of(update(json!({"instructions": wrong})).await).await, "/problems/invalid-input");
        }
        assert_eq!(update(json!({"instructions": "あ".repeat(4000)})).await.status(), StatusCode::OK);
        assert_eq!(kind_of(app.client.put(app.url("/api/me/password")).json(&json!({"current": "", "new": ""})).send().await.unwrap()).await, "/problems/accounts-off");
        assert_eq!(update(json!({"instructions": ""})).await.status(), StatusCode::OK);
        assert_eq!(usage(&app).await.len(), 1);
        update(json!({"instructions": "Mine alone."})).await;
        app.shut_down().await;

        let team = Team::start(&engine, &model).await;
        let (ann, _) = team.user(&team.sign_in(ADMIN).await, "ann").await;
        let conversation = team.conversation(&ann).await;
        model.reply([text("Yes.")]);
        team.ask(&ann, &conversation, "Go?").await;
        assert!(!model.requests().pop().unwrap().body_text.contains("Mine alone."));
    }

    /// The export contains the account and all versions of all its conversations, with their tool calls. It contains
    /// nothing of other users.
    async fn the_export_contains_only_and_all_of_the_users_data(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, _) = team.user(&admin, "ann").await;
        team.program(&ann).await;
        team.send(&ann, Method::PATCH, "/api/me", json!({"instructions": "Be kind."})).await;
        let others = team.conversation(&admin).await;
        model.reply([text("Something of the admin's.")]);
        team.ask(&admin, &others, "A question of the admin's?").await;
        let conversation = team.conversation(&ann).await;
        let exact = r#"{"b": 1.10, "a": 777777777777777777777777777}"#;
        model.reply([tool_call("add", exact)]);
        model.reply([text("The first answer.")]);
        team.ask(&ann, &conversation, "What is it?").await;
        let path = format!("/api/conversations/{conversation}");
        let whole = team.json(&ann, Method::GET, &path, Value::Null, 200).await;
        model.reply([text("The second answer.")]);
        let again = format!("{path}/messages/{}/regenerate", whole["messages"][1]["id"]);
        team.send(&ann, Method::POST, &again, json!({})).await.text().await.unwrap();
        let empty = team.conversation(&ann).await;

        let lines = export(&team, &ann).await;
        let [account, first, second] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!((&account["version"], &account["account"]["instructions"]), (&json!(1), &json!("Be kind.")));
        let used: Vec<_> = account["account"]["this_month"].as_array().into_iter().flatten().map(|used| &used["purpose"]).collect();
        assert!(used.contains(&&json!("answer")), "{account}");
        assert_eq!((account["sessions"].as_array().unwrap().len(), account["keys"].as_array().unwrap().len()), (1, 1));
        assert_eq!((&first["uuid"], &second["uuid"]), (&json!(conversation), &json!(empty)));
        let texts: Vec<_> = first["messages"].as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap()).collect();
        assert_eq!(texts, ["What is it?", "The first answer.", "The second answer."]);
        assert_eq!(first["messages"][1]["tool_calls"][0]["tool_name"], "add");
        let file = team.get(&ann, "/api/me/export").await.text().await.unwrap();
        assert!(file.contains(exact), "the file has every digit: {file}");
        assert!(!file.contains("admin's") && !file.contains("argon2"), "{file}");
    }

    /// The account's line lists all its files, also those that no message contains.
    async fn the_export_lists_all_files_of_the_user(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, _) = team.user(&admin, "ann").await;
        assert_eq!(export(&team, &ann).await[0]["files"], json!([]));
        let upload = async |who: &Who, name: &str| {
            let request = team.request(who, Method::POST, &format!("/api/files?name={name}")).body("A heron.");
            request.send().await.unwrap().json::<Value>().await.unwrap()
        };
        upload(&admin, "admins.txt").await;
        let unused = upload(&ann, "unused.txt").await;
        let (used, deleted) = (upload(&ann, "used.txt").await, upload(&ann, "deleted.txt").await);
        let path = format!("/api/files/{}", deleted["id"].as_str().unwrap());
        team.json(&ann, Method::DELETE, &path, Value::Null, 204).await;
        let conversation = team.conversation(&ann).await;
        model.reply([text("It is grey.")]);
        let path = format!("/api/conversations/{conversation}/messages");
        let parts = json!({"parts": [{"type": "file", "file_id": used["id"]}]});
        team.send(&ann, Method::POST, &path, parts).await.text().await.unwrap();

        let lines = export(&team, &ann).await;
        let mut listed = lines[0]["files"].clone();
        for file in listed.as_array_mut().unwrap() {
            let created_at = file.as_object_mut().unwrap().remove("created_at").unwrap();
            assert!(created_at.as_str().unwrap().parse::<DateTime<Utc>>().is_ok(), "{created_at}");
        }
        assert_eq!(listed, json!([unused, used]));
        assert_eq!(lines[1]["messages"][0]["files"][0]["id"], used["id"]);

        // More files than one query reads.
        execute!(team.app, "INSERT INTO files (uuid, user_id, sha256, name, kind, media_type, bytes, status, created_at) \
            WITH RECURSIVE numbers AS (SELECT 1 AS number UNION ALL SELECT number + 1 FROM numbers WHERE number < 450) \
            SELECT '00000000-0000-4000-8000-' || (100000000000 + number), user_id, sha256, 'copy ' || number, kind, \
            media_type, bytes, status, created_at FROM files, numbers WHERE name = 'used.txt'");
        let all = export(&team, &ann).await[0]["files"].clone();
        let names: Vec<_> = all.as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap()).collect();
        assert_eq!((names.len(), names[0], names[449], names[450]), (452, "copy 1", "copy 450", "unused.txt"));
    }

    async fn an_account_can_be_deleted_unless_it_is_the_last_admins(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, id) = team.user(&admin, "ann").await;
        let program = team.program(&ann).await;
        let conversation = team.conversation(&ann).await;
        team.json(&ann, Method::PATCH, "/api/me", json!({"instructions": "I am Ann."}), 200).await;
        let delete = async |who: &Who, password: &str| {
            team.send(who, Method::DELETE, "/api/me", json!({"password": password})).await
        };
        assert_eq!(kind_of(delete(&admin, PASSWORD).await).await, "/problems/last-admin");
        assert_eq!(kind_of(delete(&ann, "not the password").await).await, "/problems/wrong-password");
        let gone = delete(&ann, PASSWORD).await;
        assert_eq!(gone.status(), StatusCode::NO_CONTENT);
        assert!(gone.headers()["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
        for who in [&ann, &program] {
            assert_eq!(team.get(who, "/api/me").await.status(), StatusCode::UNAUTHORIZED);
        }
        assert_eq!(team.try_sign_in("ann", PASSWORD).await.status(), StatusCode::UNAUTHORIZED);
        let path = format!("/api/conversations/{conversation}");
        assert_eq!(team.get(&admin, &path).await.status(), StatusCode::NOT_FOUND);
        let again = team.send(&admin, Method::PATCH, &format!("/api/users/{id}"), json!({"active": true})).await;
        assert_eq!(kind_of(again).await, "/problems/account-deleted");
        let user = team.json(&admin, Method::GET, &format!("/api/users/{id}"), Value::Null, 200).await;
        assert!(user["deleted_at"].is_string(), "{user}");
        let usage = rows!(team.app, (Option<String>,), "SELECT instructions FROM users WHERE name = 'ann'");
        assert_eq!(usage, [(None::<String>,)]);
    }
}
