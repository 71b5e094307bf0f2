//! The access log: admins need a reason for other users' calls, conversations, searches and exports, and these users
//! see the access.

use reqwest::{Method, StatusCode, header::LOCATION};
use serde_json::{Value, json};
use tallybook_mock_llm::MockLlm;

use super::{
    super::kit::{ADMIN, Team, Who},
    kit::{Call, filtered, page, runs_ours_alone, say_why, uuid, write_call, write_turn},
};
use crate::support::{Engine, execute, on_every_engine};

const HOSTILE: &str = "=HYPERLINK(\"x\")<script>alert(1)</script>";

async fn access_log(team: &Team, who: &Who) -> Vec<Value> {
    let page = team.json(who, Method::GET, "/api/looks", Value::Null, 200).await;
    page["items"].as_array().unwrap().clone()
}

on_every_engine! {
    async fn admins_give_a_reason_and_owners_see_the_access(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, ann_id) = team.user(&admin, "ann").await;
        let (ben, ben_id) = team.user(&admin, "ben").await;
        let db = engine.pool().await;
        write_turn(&db, 1, ann_id, "Small").await;
        write_turn(&db, 2, 1, "Small").await;
        write_call(&db, &Call { input: HOSTILE, output: Some("-1"), tool: "docs__x", ..Call::new(1, 1) }).await;
        write_call(&db, &Call { input: "my own input", ..Call::new(2, 2) }).await;

        // The list shows that other users' calls exist, but not their inputs and titles.
        let list = page(&team, &admin, "/admin", StatusCode::OK).await;
        assert!(list.contains("docs__x") && list.contains("my own input") && list.contains("data-testid=\"withheld\""), "{list}");
        assert!(!list.contains("HYPERLINK") && runs_ours_alone(&list), "{list}");
        assert_eq!(list.matches("title&").count(), 1, "{list}");
        let row = list.split("<tr ").find(|row| row.contains("docs__x")).unwrap();
        for shown in ["<time datetime=\"", "data-status=\"success\"", "bytes → 2 bytes</td>", "class=\"input\">–</td>"] {
            assert!(row.contains(shown), "{shown}: {row}");
        }
        // Admins need no reason for their own calls.
        page(&team, &admin, "/admin/calls/2", StatusCode::OK).await;
        page(&team, &admin, &format!("/admin/conversations/{}", uuid(2)), StatusCode::OK).await;

        let conversation = format!("/admin/conversations/{}", uuid(1));
        for address in ["/admin/calls/1", &conversation] {
            let asked = page(&team, &admin, address, StatusCode::FORBIDDEN).await;
            assert!(asked.contains("name=\"reason\"") && !asked.contains("alert(1)") && !asked.contains("answer"), "{asked}");
        }
        assert_eq!(say_why(&team, &admin, "/admin/calls/1", "  ").await.status(), StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(say_why(&team, &admin, "/admin/calls/1", &"x".repeat(501)).await.status(), StatusCode::UNPROCESSABLE_ENTITY);
        page(&team, &admin, "/admin/calls/1", StatusCode::FORBIDDEN).await;
        let given = say_why(&team, &admin, "/admin/calls/1", "ann <b>asked</b> for help").await;
        assert_eq!((given.status(), &given.headers()[LOCATION]), (StatusCode::SEE_OTHER, &"/admin/calls/1".parse().unwrap()));
        let list = page(&team, &admin, "/admin", StatusCode::OK).await;
        assert!(list.contains("HYPERLINK") && !list.contains("data-testid=\"withheld\"") && runs_ours_alone(&list), "{list}");
        let call = page(&team, &admin, "/admin/calls/1", StatusCode::OK).await;
        assert!(call.contains("alert(1)") && runs_ours_alone(&call), "{call}");
        page(&team, &admin, "/admin/calls/1", StatusCode::OK).await;
        let read = page(&team, &admin, &conversation, StatusCode::OK).await;
        assert!(read.contains("answer") && !read.contains("<i>"), "{read}");

        let seen = access_log(&team, &ann).await;
        let recorded: Vec<_> = seen.iter().map(|record| (record["kind"].as_str().unwrap(), &record["by"], &record["reason"])).collect();
        let (by, why) = (json!(ADMIN), json!("ann <b>asked</b> for help"));
        assert_eq!(recorded, [("conversation_opened", &by, &why), ("call_opened", &by, &why)]);
        assert_eq!((&seen[0]["conversation_uuid"], &seen[1]["tool_call_id"]), (&json!(uuid(1)), &json!(1)));
        assert_eq!((access_log(&team, &ben).await.len(), access_log(&team, &admin).await.len()), (0, 0));

        // A reason for ann's data is not valid for all users' data, or for another admin.
        let files = ["/admin/export?format=csv", "/admin/export?format=jsonl"];
        for address in [filtered("alert"), files[0].to_owned()] {
            page(&team, &admin, &address, StatusCode::FORBIDDEN).await;
        }
        page(&team, &admin, &filtered("alert user:ann"), StatusCode::OK).await;
        team.json(&admin, Method::PATCH, &format!("/api/users/{ben_id}"), json!({"role": "admin"}), 200).await;
        page(&team, &ben, "/admin/calls/1", StatusCode::FORBIDDEN).await;
        assert!(!page(&team, &ben, "/admin", StatusCode::OK).await.contains("HYPERLINK"));
        say_why(&team, &ben, &filtered("alert"), "to find what went wrong").await;
        assert!(page(&team, &ben, "/admin", StatusCode::OK).await.contains("HYPERLINK"), "a reason for all users");
        assert_eq!(say_why(&team, &admin, files[0], "the yearly report").await.status(), StatusCode::SEE_OTHER);
        page(&team, &admin, &filtered("alert"), StatusCode::OK).await;
        let csv = page(&team, &admin, files[0], StatusCode::OK).await;
        let lines: Vec<&str> = csv.split("\r\n").collect();
        assert!(lines[0].starts_with("\u{feff}id,started_at,completed_at,tool,server,status"), "{csv}");
        assert_eq!(lines.len(), 4, "{csv}");
        let ids: Vec<_> = lines[1..3].iter().map(|line| line.split(',').next().unwrap()).collect();
        assert_eq!(ids, ["2", "1"]);
        assert!(lines[2].contains("\"'=HYPERLINK(\"\"x\"\")<script>"), "{csv}");
        assert!(lines[2].contains(",docs__x,docs,success,3,ann,") && lines[2].contains(",'-1,"), "{csv}");
        let jsonl = page(&team, &admin, &format!("{}&q=user:ann", files[1]), StatusCode::OK).await;
        let line: Value = serde_json::from_str(jsonl.trim_end()).unwrap();
        assert_eq!((&line["id"], &line["input"], &line["output"]), (&json!(1), &json!(HOSTILE), &json!("-1")));
        let kinds: Vec<_> = access_log(&team, &ann).await.iter().map(|record| record["kind"].clone()).collect();
        let expected = [
            "calls_exported", "calls_exported", "calls_searched", "calls_searched", "conversation_opened", "call_opened",
        ];
        assert_eq!(kinds, expected);
        let everybodys: Vec<_> = access_log(&team, &ben).await.iter().map(|record| record["filter"].clone()).collect();
        assert_eq!(everybodys, ["", "alert"]);
        // Calls and conversations that do not exist return 404 to admins, too.
        page(&team, &admin, "/admin/calls/999", StatusCode::NOT_FOUND).await;
        page(&team, &admin, &format!("/admin/conversations/{}", uuid(9)), StatusCode::NOT_FOUND).await;
    }
}

/// Without accounts, the server has a single user.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_accounts_the_tool_history_needs_no_reason() {
    let model = MockLlm::start().await.unwrap();
    let engine = Engine::sqlite();
    let app = crate::support::TestApp::spawn(&engine, &model).await;
    let db = engine.pool().await;
    write_turn(&db, 1, 1, "Small").await;
    write_call(&db, &Call::new(1, 1)).await;
    for address in ["/admin", "/admin?q=3", "/admin/calls/1", "/admin/export?format=csv"] {
        let response = app.get(address).await;
        assert_eq!(response.status(), StatusCode::OK, "{address}");
        if !address.contains("export") {
            let policy = response.headers()["content-security-policy"].to_str().unwrap().to_owned();
            let ours = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self';";
            assert!(policy.starts_with(ours) && !policy.contains("unsafe"), "{policy}");
        }
    }
    let script = app.get("/admin/tool-history.js").await;
    assert_eq!(script.headers()["content-type"], "text/javascript; charset=utf-8");
    assert_eq!(script.headers()["cache-control"], "no-cache");
    let tag = script.headers()["etag"].clone();
    let again = app.client.get(app.url("/admin/tool-history.js")).header("if-none-match", tag).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    let vote = "INSERT INTO tool_call_reviews \
        (tool_call_id, model, verdict, reason, input_tokens, output_tokens, duration_ms, created_at) VALUES";
    let at = "9, 1, 40, '2026-01-01 00:00:00'";
    let votes = format!("{vote} (1, 'Sonnet', 'reject', 'It <i>deletes</i>.', {at}), (1, 'GPT', 'abstain', '', {at})");
    execute!(app, sqlx::AssertSqlSafe(votes.clone()));
    let call = app.get("/admin/calls/1").await.text().await.unwrap();
    assert!(call.contains("Sonnet: rejects") && call.contains("GPT: abstains") && !call.contains("<i>"), "{call}");
    let calls = super::kit::calls_on(&app.get("/admin?q=3").await.text().await.unwrap());
    assert_eq!(calls, [1]);
}
