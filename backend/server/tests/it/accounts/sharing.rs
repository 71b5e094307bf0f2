//! Shared links of conversations: what they show, as of when, to whom, and until when.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tallybook_accounts::AccountsSettings;
use tallybook_mock_llm::{MockLlm, text, thinking, tool_call};

use super::kit::{ADMIN, Team, Who, kind_of, required};
use crate::{
    files::PNG,
    plan::{LONG, plan},
    support::{Engine, execute, on_every_engine, rows},
};

/// Shares a conversation, and returns the id and the path of the link.
async fn share(team: &Team, owner: &Who, uuid: &str, tool_calls: bool) -> (i64, String) {
    let path = format!("/api/conversations/{uuid}/shares");
    let made = team.json(owner, Method::POST, &path, json!({"tool_calls": tool_calls}), 201).await;
    (made["id"].as_i64().unwrap(), made["path"].as_str().unwrap().to_owned())
}

async fn seen_by_all(team: &Team, path: &str) -> (StatusCode, String) {
    let answer = team.get(&Who::default(), path).await;
    let headers = answer.headers().clone();
    assert_eq!(headers["x-robots-tag"], "noindex, nofollow, noarchive");
    assert_eq!(headers["cache-control"], "no-store");
    let policy = headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("script-src"), "{policy}");
    (answer.status(), answer.text().await.unwrap())
}

async fn refused(team: &Team, owner: &Who, uuid: &str) -> (u16, String) {
    let answer = team.send(owner, Method::POST, &format!("/api/conversations/{uuid}/shares"), json!({})).await;
    (answer.status().as_u16(), kind_of(answer).await)
}

on_every_engine! {
    /// A share that is left out of the list could not be revoked.
    async fn a_share_with_an_invalid_stored_token_is_an_error(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let uuid = team.conversation(&admin).await;
        model.reply([text("Hello.")]);
        team.ask(&admin, &uuid, "Hello").await;
        share(&team, &admin, &uuid, false).await;
        team.json(&admin, Method::GET, "/api/shares", Value::Null, 200).await;
        execute!(team.app, "UPDATE shares SET token = 'broken'");
        team.json(&admin, Method::GET, "/api/shares", Value::Null, 500).await;
    }

    /// Anyone with the link can download the files that it shows, and no others.
    async fn files_are_shared_if_the_owner_chose_that(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let uuid = team.conversation(&admin).await;
        let mut ids = Vec::new();
        for name in ["shown.png", "private.png"] {
            let upload = team.request(&admin, Method::POST, &format!("/api/files?name={name}")).body(PNG).send().await.unwrap();
            assert_eq!(upload.status(), StatusCode::CREATED);
            ids.push(upload.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned());
        }
        model.reply([text("A heron.")]);
        let body = json!({"parts": [{"type": "image", "file_id": ids[0]}]});
        let turn = team.send(&admin, Method::POST, &format!("/api/conversations/{uuid}/messages"), body).await;
        assert_eq!(turn.status(), StatusCode::OK);
        turn.text().await.unwrap();
        let anyone = Who::default();
        for files in [false, true] {
            let shares = format!("/api/conversations/{uuid}/shares");
            let share = team.json(&admin, Method::POST, &shares, json!({"files": files}), 201).await;
            assert_eq!(share["files"], files);
            let path = share["path"].as_str().unwrap();
            let content = |id: &str| format!("{path}/files/{id}/content?variant=thumb");
            let (_, page) = seen_by_all(&team, path).await;
            assert_eq!(page.contains(&content(&ids[0])), files, "{page}");
            let shown = team.get(&anyone, &content(&ids[0])).await;
            assert_eq!(shown.status(), if files { StatusCode::OK } else { StatusCode::NOT_FOUND });
            if files {
                assert_eq!(shown.headers()["cache-control"], "no-store");
                assert_eq!(shown.headers()["content-security-policy"], "sandbox; default-src 'none'");
                assert_eq!(shown.headers()["x-content-type-options"], "nosniff");
                assert!(!shown.bytes().await.unwrap().is_empty());
            }
            assert_eq!(team.get(&anyone, &content(&ids[1])).await.status(), StatusCode::NOT_FOUND);
            assert_eq!(team.get(&anyone, &content("no-id")).await.status(), StatusCode::NOT_FOUND);
            team.json(&admin, Method::DELETE, &format!("/api/shares/{}", share["id"]), json!(null), 204).await;
            assert_eq!(team.get(&anyone, &content(&ids[0])).await.status(), StatusCode::NOT_FOUND, "it is revoked");
        }
    }

    /// Reasoning is shared only together with tool calls, and the tool history shows it. Both show it as text, not as
    /// HTML.
    async fn reasoning_is_shared_with_the_calls_and_as_text(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let uuid = team.conversation(&admin).await;
        model.reply([thinking("Let me <b>think</b>.", "c2ln"), text("It is 3.")]);
        team.ask(&admin, &uuid, "1 + 2?").await;
        for tool_calls in [true, false] {
            let (_, path) = share(&team, &admin, &uuid, tool_calls).await;
            let (_, page) = seen_by_all(&team, &path).await;
            assert_eq!(page.contains("Let me &lt;b&gt;think&lt;/b&gt;."), tool_calls, "{page}");
        }
        let tool_history = team.get(&admin, &format!("/admin/conversations/{uuid}")).await.text().await.unwrap();
        assert!(tool_history.contains("Let me &#60;b&#62;think&#60;/b&#62;."), "{tool_history}");
    }

    /// A plan is shared only together with tool calls, and the tool history shows it and the attempts of its steps.
    async fn a_plan_is_shared_with_the_calls_and_shown_in_the_tool_history(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let uuid = team.conversation(&admin).await;
        model.reply([text(plan(&["Add <b>1</b> and 2."]))]);
        model.reply([text("Error: no")]);
        model.reply([text(LONG)]);
        model.reply([text("It is 3.")]);
        let path = format!("/api/conversations/{uuid}/messages");
        let body = json!({"content": "1 + 2?", "mode": "plan"});
        let turn = team.send(&admin, Method::POST, &path, body).await;
        assert_eq!(turn.status(), StatusCode::OK);
        turn.text().await.unwrap();
        for tool_calls in [true, false] {
            share(&team, &admin, &uuid, tool_calls).await;
            let shared = rows!(engine, (String,), "SELECT messages FROM shares ORDER BY id DESC LIMIT 1");
            assert_eq!(shared[0].0.contains("success_criteria"), tool_calls, "{}", shared[0].0);
        }
        let tool_history = team.get(&admin, &format!("/admin/conversations/{uuid}")).await.text().await.unwrap();
        assert!(tool_history.contains("Add &#60;b&#62;1&#60;/b&#62; and 2.") && tool_history.contains("2 attempts"), "{tool_history}");
        let usage = team.json(&admin, Method::GET, "/api/me", Value::Null, 200).await.to_string();
        assert!(usage.contains("\"plan\""), "{usage}");
    }

    /// Eight bytes of Markdown can become 600 bytes of HTML. The page omits what is too large; the plain text contains
    /// it.
    async fn the_shared_page_of_a_hostile_answer_stays_small(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let uuid = team.conversation(&admin).await;
        let hostile = "```\n```\n".repeat(60_000);
        model.reply([text(&hostile)]);
        team.ask(&admin, &uuid, "Go").await;
        let (_, path) = share(&team, &admin, &uuid, true).await;
        let (status, page) = seen_by_all(&team, &path).await;
        assert_eq!(status, StatusCode::OK);
        assert!(page.len() < 5 * 1024 * 1024, "{}", page.len());
        assert!(page.contains("is too long to show here") && page.contains("?format=text"));
        let (_, text) = seen_by_all(&team, &format!("{path}?format=text")).await;
        assert!(text.contains(hostile.trim()) && text.contains("[user]\nGo\n"), "{} bytes", text.len());
    }

    async fn a_link_shows_the_conversation_as_shared_until_revoked(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (owner, owner_id) = team.user(&admin, "olga").await;
        let (other, _) = team.user(&admin, "otto").await;
        let uuid = team.conversation(&owner).await;
        model.reply([tool_call("add", r#"{"a":1,"b":20.5}"#)]);
        model.reply([text("It is **21.5**. <script>alert(1)</script>")]);
        team.ask(&owner, &uuid, "What is <b>1 + 20.5</b>?").await;
        let (plain_id, plain) = share(&team, &owner, &uuid, false).await;
        let (_, whole) = share(&team, &owner, &uuid, true).await;

        let (status, page) = seen_by_all(&team, &plain).await;
        assert_eq!(status, StatusCode::OK);
        assert!(page.contains("What is &lt;b&gt;1 + 20.5&lt;/b&gt;?") && page.contains("<strong>21.5</strong>"), "{page}");
        assert!(!page.contains("<script") && !page.contains("<details"), "{page}");
        let (_, page_with_calls) = seen_by_all(&team, &whole).await;
        assert!(page_with_calls.contains("<details") && page_with_calls.contains("add"), "{page_with_calls}");

        // Later messages are not shown.
        model.reply([text("Nothing more to say.")]);
        team.ask(&owner, &uuid, "And then?").await;
        assert_eq!(seen_by_all(&team, &plain).await, (StatusCode::OK, page));

        let listed = |who| { let team = &team; async move { team.json(who, Method::GET, "/api/shares", Value::Null, 200).await } };
        assert_eq!(listed(&owner).await["items"].as_array().unwrap().len(), 2);
        assert_eq!(listed(&other).await["items"], json!([]));
        let address = format!("/api/shares/{plain_id}");
        team.json(&other, Method::DELETE, &address, Value::Null, 404).await;
        team.json(&owner, Method::DELETE, &address, Value::Null, 204).await;
        assert_eq!(seen_by_all(&team, &plain).await.0, StatusCode::NOT_FOUND);
        let revoked = rows!(team.app, (i64, i64, String), "SELECT actor_id, user_id, subject FROM audit_log WHERE action = 'share_revoked'");
        assert_eq!(revoked, [(owner_id, owner_id, uuid)]);

        // Links stop working when their conversation is deleted, or when their owner is deactivated.
        let second = team.conversation(&other).await;
        model.reply([text("Yes.")]);
        team.ask(&other, &second, "Is anybody here?").await;
        let (_, others) = share(&team, &other, &second, false).await;
        assert_eq!(seen_by_all(&team, &others).await.0, StatusCode::OK);
        team.json(&other, Method::DELETE, &format!("/api/conversations/{second}"), Value::Null, 204).await;
        assert_eq!(seen_by_all(&team, &others).await.0, StatusCode::NOT_FOUND);
        team.json(&admin, Method::DELETE, &format!("/api/users/{owner_id}"), Value::Null, 204).await;
        assert_eq!(seen_by_all(&team, &whole).await.0, StatusCode::NOT_FOUND);
    }

    async fn empty_running_and_unshareable_conversations_are_refused(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let uuid = team.conversation(&admin).await;
        assert_eq!(refused(&team, &admin, &uuid).await, (422, "/problems/invalid-input".to_owned()), "the conversation is empty");
        let gate = model.reply_gated([text("Wait")], [text(" for it.")]);
        let asked = tokio::join!(team.ask(&admin, &uuid, "Well?"), async {
            gate.reached().await;
            let refused = refused(&team, &admin, &uuid).await;
            gate.open();
            refused
        });
        assert_eq!(asked.1, (409, "/problems/turn-running".to_owned()));
        let (_, path) = share(&team, &admin, &uuid, false).await;
        for path in ["/s/seven", "/s/00000000-0000-0000-0000-000000000000"] {
            assert_eq!(seen_by_all(&team, path).await.0, StatusCode::NOT_FOUND, "{path}");
        }
        team.app.shut_down().await;

        let off = Team::join(&engine, &model, AccountsSettings { sharing: false, ..required() }).await;
        let admin = off.sign_in(ADMIN).await;
        let me = off.json(&admin, Method::GET, "/api/me", Value::Null, 200).await;
        assert_eq!(me["rights"], json!({"make_keys": true, "upload": true, "share": false}));
        assert_eq!(refused(&off, &admin, &uuid).await, (403, "/problems/sharing-off".to_owned()));
        assert_eq!(seen_by_all(&off, &path).await.0, StatusCode::NOT_FOUND);
    }
}
