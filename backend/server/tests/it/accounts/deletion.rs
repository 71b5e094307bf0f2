//! Deleted conversations and accounts: users no longer find deleted data, and the tool history keeps it until retention
//! purges it.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tallybook_conversations::UserLimits;
use tallybook_mock_llm::{MockLlm, text, tool_call};

use super::{
    kit::{ADMIN, PASSWORD, Team, Who, required},
    tool_history::{page, say_why},
};
use crate::{
    operator_commands::said,
    support::{Engine, Program, TestApp, execute, on_every_engine, rows},
};

/// Makes a user's model call `add`, and returns the conversation.
async fn ask(team: &Team, model: &MockLlm, who: &Who) -> String {
    let uuid = team.conversation(who).await;
    model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
    model.reply([text("It is rhubarb.")]);
    team.ask(who, &uuid, "What is rhubarb?").await;
    uuid
}

on_every_engine! {
    async fn deleted_conversations_are_hidden_and_stay_in_the_tool_history(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, _) = team.user(&admin, "ann").await;
        let (kept, deleted) = (ask(&team, &model, &ann).await, ask(&team, &model, &ann).await);
        let path = format!("/api/conversations/{deleted}");
        let whole = team.json(&ann, Method::GET, &path, Value::Null, 200).await;
        let call = whole["messages"][1]["tool_calls"][0]["tool_call_id"].clone();
        let share = team.json(&ann, Method::POST, &format!("{path}/shares"), json!({"tool_calls": true}), 201).await;
        let link = share["path"].as_str().unwrap();
        team.json(&ann, Method::PATCH, &path, json!({"pinned": true}), 200).await;

        team.json(&ann, Method::DELETE, &path, Value::Null, 204).await;
        let get = async |path: &str| team.json(&ann, Method::GET, path, Value::Null, 200).await;
        for list in ["/api/conversations", "/api/conversations?q=rhubarb"] {
            let items = get(list).await["items"].clone();
            assert_eq!((items.as_array().unwrap().len(), &items[0]["uuid"]), (1, &json!(kept)), "{list}");
        }
        for query in ["rhubarb", "add"] {
            let found = get(&format!("/api/search?query={query}")).await.to_string();
            assert!(found.contains(&kept) && !found.contains(&deleted), "{found}");
        }
        assert_eq!(get("/api/shares").await["items"], json!([]));
        let revoke = team.send(&ann, Method::DELETE, &format!("/api/shares/{}", share["id"]), Value::Null).await;
        assert_eq!(revoke.status(), StatusCode::NOT_FOUND);
        assert_eq!(team.get(&Who::default(), link).await.status(), StatusCode::NOT_FOUND);
        let everything = team.get(&ann, "/api/me/export").await.text().await.unwrap();
        assert!(everything.contains(&kept) && !everything.contains(&deleted), "{everything}");

        // Admins can open it if they give a reason. The page says that its owner deleted it.
        let list = page(&team, &admin, "/admin", StatusCode::OK).await;
        assert_eq!(list.matches("data-testid=\"call\"").count(), 2, "{list}");
        assert_eq!(list.matches(">deleted</span>").count(), 1, "{list}");
        for address in [format!("/admin/calls/{call}"), format!("/admin/conversations/{deleted}")] {
            page(&team, &admin, &address, StatusCode::FORBIDDEN).await;
            say_why(&team, &admin, &address, "ann asked for help").await;
            let read = page(&team, &admin, &address, StatusCode::OK).await;
            assert!(read.contains("Its owner deleted this on 20") && read.contains("It will be purged from the tool history"), "{read}");
            // Deletes the reason, which would be valid for an hour and for all of ann's data.
            execute!(team.app, "DELETE FROM audit_log WHERE action = 'reason_given'");
        }
        say_why(&team, &admin, &format!("/admin/conversations/{kept}"), "to compare").await;
        let read = page(&team, &admin, &format!("/admin/conversations/{kept}"), StatusCode::OK).await;
        assert!(!read.contains("deleted"), "{read}");
        let counts = rows!(team.app, (i64, i64), "SELECT COUNT(*), COUNT(deleted_at) FROM tool_history");
        assert_eq!(counts, [(2, 1)]);
        model.assert_calls_paired();
    }

    /// Users do not regain tokens by deleting conversations.
    async fn deleting_conversations_does_not_restore_tokens(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let accounts = tallybook_accounts::Accounts::new(engine.database().await, required());
        accounts.create_admin(ADMIN, tallybook_accounts::Password::new(PASSWORD)).await.unwrap();
        let tools = tallybook_tools::builtin().unwrap();
        let limits = UserLimits { tokens_per_day: 1, ..UserLimits::default() };
        let app = TestApp::builder(&engine)
            .with_mock(&model)
            .with_tools(tools)
            .with_accounts(required())
            .with_user_limits(limits)
            .spawn()
            .await;
        let team = Team::of(app);
        let admin = team.sign_in(ADMIN).await;
        let uuid = ask(&team, &model, &admin).await;
        team.json(&admin, Method::DELETE, &format!("/api/conversations/{uuid}"), Value::Null, 204).await;
        let new = team.conversation(&admin).await;
        let path = format!("/api/conversations/{new}/messages");
        let refused = team.send(&admin, Method::POST, &path, json!({"content": "More?"})).await;
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    }

    /// Deleting an account deletes all its conversations, and they are purged when they are due. The user's row
    /// remains.
    async fn a_deleted_account_is_purged_with_its_conversations(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, _) = team.user(&admin, "ann").await;
        ask(&team, &model, &ann).await;
        ask(&team, &model, &ann).await;
        ask(&team, &model, &admin).await;
        team.json(&ann, Method::DELETE, "/api/me", json!({"password": PASSWORD}), 204).await;
        let counts = rows!(team.app, (i64, i64), "SELECT COUNT(*), COUNT(deleted_at) FROM tool_history");
        assert_eq!(counts, [(3, 2)]);
        let purge = |days: &str| {
            let mut command = Program::command(&engine, &model);
            command.env("RETENTION_DAYS", days).args(["admin", "retention", "--purge"]);
            said(&command.output().unwrap())
        };
        let (is_done, words) = purge("1");
        assert!(is_done && words.contains("conversations: 1 day (") && words.contains("Purged conversations: 0."), "{words}");
        let (is_done, words) = purge("0");
        assert!(is_done && words.contains("Purged conversations: 2.\nRetained deleted conversations: 0."), "{words}");
        let left = rows!(team.app, (i64, i64), "SELECT (SELECT COUNT(*) FROM conversations), (SELECT COUNT(*) FROM users)");
        assert_eq!(left, [(1, 2)]);
    }
}
