//! Shared conversations that a user continues: what the copy has, whose its files are, and what the link offers.

use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use tallybook_accounts::AccountsSettings;
use tallybook_conversations::UserLimits;
use tallybook_mock_llm::{MockLlm, text, thinking, tool_call};

use super::{
    groups::{group, set_members},
    kit::{ADMIN, PASSWORD, Team, Who, required, with_admin},
};
use crate::{
    files::PNG,
    operator_commands::{admin, said},
    support::{Engine, TestApp, execute, on_every_engine, rows},
};

/// Asks a question with an image, whose answer has reasoning and a tool call. Returns the conversation.
pub(super) async fn ask_with_image(team: &Team, model: &MockLlm, owner: &Who) -> String {
    let uuid = team.conversation(owner).await;
    let upload = team.request(owner, Method::POST, "/api/files?name=heron.png").body(PNG).send().await.unwrap();
    let file: Value = upload.json().await.unwrap();
    model.reply([thinking("One call.", "c2ln"), text("Let me add."), tool_call("add", r#"{"a":1,"b":2}"#)]);
    model.reply([text("It is 3.")]);
    let parts = json!([{"type": "text", "text": "1 + 2?"}, {"type": "image", "file_id": file["id"]}]);
    let path = format!("/api/conversations/{uuid}/messages");
    let turn = team.send(owner, Method::POST, &path, json!({"parts": parts})).await;
    assert_eq!(turn.status(), StatusCode::OK);
    turn.text().await.unwrap();
    uuid
}

/// Shares a conversation. Returns the ID and the path of the link.
async fn share(team: &Team, owner: &Who, uuid: &str, new: Value) -> (i64, String) {
    let made = team.json(owner, Method::POST, &format!("/api/conversations/{uuid}/shares"), new, 201).await;
    (made["id"].as_i64().unwrap(), made["path"].as_str().unwrap().to_owned())
}

/// Sends the form of a shared page, as a browser does.
async fn send_form(team: &Team, who: &Who, path: &str) -> Response {
    let request = team.request(who, Method::POST, &format!("{path}/continue"));
    request.header("content-type", "application/x-www-form-urlencoded").send().await.unwrap()
}

/// Sends the form of a shared page with the ID of a copy.
async fn send_form_for(team: &Team, who: &Who, path: &str, id: &str) -> Response {
    let request = team.request(who, Method::POST, &format!("{path}/continue"));
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    request.body(format!("client_conversation_id={id}")).send().await.unwrap()
}

/// Continues a shared conversation. Returns the conversation to which the browser is redirected.
async fn continued(team: &Team, who: &Who, path: &str) -> Value {
    let response = send_form(team, who, path).await;
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    let uuid = continued_id(&response);
    team.json(who, Method::GET, &format!("/api/conversations/{uuid}"), Value::Null, 200).await
}

/// Returns the UUID of the copy to which a browser is redirected.
fn continued_id(response: &Response) -> String {
    let address = response.headers()["location"].to_str().unwrap();
    address.strip_prefix("/c/").unwrap().to_owned()
}

async fn page(team: &Team, who: &Who, path: &str) -> String {
    let response = team.get(who, path).await;
    assert_eq!(response.status(), StatusCode::OK);
    response.text().await.unwrap()
}

/// Starts a server with an admin on which the files of a user can have `bytes`, or any number of bytes if that is 0.
/// Deleted conversations are purged at once.
async fn start(engine: &Engine, model: &MockLlm, bytes: u64) -> Team {
    with_admin(engine).await;
    let builder = TestApp::builder(engine).with_mock(model).with_accounts(required());
    Team::of(
        builder
            .with_settings(|settings| {
                settings.retention_days = 0.0;
                settings.files.max_user_bytes = bytes;
            })
            .spawn()
            .await,
    )
}

on_every_engine! {
    /// The copy stays complete after the link is revoked and the owner is erased.
    async fn a_reader_continues_with_what_the_link_shows(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = start(&engine, &model, 0).await;
        let root = team.sign_in(ADMIN).await;
        let (owner, _) = team.user(&root, "olga").await;
        let (reader, reader_id) = team.user(&root, "rita").await;
        let uuid = ask_with_image(&team, &model, &owner).await;
        let original = team.json(&owner, Method::GET, &format!("/api/conversations/{uuid}"), Value::Null, 200).await;
        let (_, plain) = share(&team, &owner, &uuid, json!({})).await;
        let (_, whole) = share(&team, &owner, &uuid, json!({"tool_calls": true, "files": true})).await;

        // Without calls and files, the copy has neither.
        let copy = continued(&team, &reader, &plain).await;
        assert_eq!((&copy["title"], copy["messages"].as_array().unwrap().len()), (&original["title"], 2));
        let (question, answer) = (&copy["messages"][0], &copy["messages"][1]);
        assert_eq!((&question["content"], &answer["content"]), (&json!("1 + 2?"), &json!("Let me add.\n\nIt is 3.")));
        assert_eq!((question.get("files"), answer.get("reasoning"), &answer["tool_calls"]), (None, None, &json!([])));
        assert_eq!(rows!(engine, (i64,), "SELECT COUNT(*) FROM files"), [(1,)]);

        let counted = rows!(engine, (i64, i64), "SELECT (SELECT COUNT(*) FROM tool_history), (SELECT COUNT(*) FROM model_calls)");
        let copy = continued(&team, &reader, &whole).await;
        assert_eq!(rows!(engine, (i64, i64), "SELECT (SELECT COUNT(*) FROM tool_history), (SELECT COUNT(*) FROM model_calls)"), counted);
        let (question, answer) = (&copy["messages"][0], &copy["messages"][1]);
        let (call, ran) = (&answer["tool_calls"][0], &original["messages"][1]["tool_calls"][0]);
        for field in ["tool_name", "input", "output", "offset", "status", "started_at"] {
            assert_eq!(call[field], ran[field], "{field}");
        }
        assert!(call["tool_call_id"].as_i64().unwrap() < 0 && answer.get("usage").is_none(), "{answer}");
        assert_eq!(answer["reasoning"][0]["text"], "One call.");
        let file = question["files"][0]["id"].as_str().unwrap().to_owned();
        assert_ne!(original["messages"][0]["files"][0]["id"], json!(file), "the file is the user's own");
        assert_eq!(rows!(engine, (i64,), "SELECT user_id FROM files ORDER BY id DESC LIMIT 1"), [(reader_id,)]);
        // Another copy uses the same file.
        continued(&team, &reader, &whole).await;
        assert_eq!(rows!(engine, (i64, i64), "SELECT COUNT(*), COUNT(DISTINCT user_id) FROM files"), [(2, 2)]);
        let (is_consistent, words) = said(&admin(&engine, &model, &["check"]));
        assert!(is_consistent, "{words}");

        let (is_done, words) = said(&admin(&engine, &model, &["erase", "olga", "--yes"]));
        assert!(is_done, "{words}");
        assert_eq!(send_form(&team, &reader, &whole).await.status(), StatusCode::NOT_FOUND);
        let content = team.get(&reader, &format!("/api/files/{file}/content")).await;
        assert_eq!(content.bytes().await.unwrap(), PNG);
        let id = &call["tool_call_id"];
        let found = team.json(&reader, Method::GET, &format!("/api/tool-calls/{id}"), Value::Null, 200).await;
        assert_eq!(found["output"], "3");
        team.json(&root, Method::GET, &format!("/api/tool-calls/{id}"), Value::Null, 404).await;
        let path = copy["uuid"].as_str().unwrap();
        model.reply([text("Four.")]);
        team.ask(&reader, path, "And one more?").await;
        let prompt = model.requests().pop().unwrap().body["messages"].clone();
        let sent = prompt.to_string();
        let order = ["1 + 2?", "Let me add.", "tool_use", "tool_result", "It is 3.", "And one more?"];
        let places: Vec<usize> = order.iter().map(|part| sent.find(part).unwrap_or_else(|| panic!("{part}: {sent}"))).collect();
        assert!(places.is_sorted(), "{places:?} {sent}");
        assert_eq!(sent.matches("It is 3.").count(), 1, "{sent}");
        model.assert_calls_paired();
    }

    async fn the_page_offers_a_form_to_readers_who_are_signed_in(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let root = team.sign_in(ADMIN).await;
        let uuid = team.conversation(&root).await;
        model.reply([text("Yes.")]);
        team.ask(&root, &uuid, "Well?").await;
        let (id, path) = share(&team, &root, &uuid, json!({})).await;
        let key = team.program(&root).await;
        let form = format!("action=\"{path}/continue\"");
        let away = format!("href=\"/sign-in?next={path}\"");
        let forged = Who { cookie: Some("__Host-tallybook_session=x; tallybook_session=x".to_owned()), key: None };
        for (who, is_signed_in) in [(&root, true), (&Who::default(), false), (&key, false), (&forged, false)] {
            let page = page(&team, who, &path).await;
            assert_eq!((page.contains(&form), page.contains(&away)), (is_signed_in, !is_signed_in), "{page}");
        }
        // The link leads back after the sign-in.
        let credentials = format!("name={ADMIN}&password={PASSWORD}&next={path}");
        let sign_in = team.request(&Who::default(), Method::POST, "/sign-in").body(credentials);
        let signed_in = sign_in.header("content-type", "application/x-www-form-urlencoded").send().await.unwrap();
        assert_eq!(signed_in.headers()["location"], path);

        // A reader whose session has ended signs in again, and comes back.
        for who in [&Who::default(), &forged] {
            let response = send_form(&team, who, &path).await;
            assert_eq!(response.status(), StatusCode::SEE_OTHER);
            let token = path.strip_prefix("/s/").unwrap();
            assert_eq!(response.headers()["location"], format!("/sign-in?next=%2Fs%2F{token}"));
        }
        assert_eq!(send_form(&team, &key, &path).await.status(), StatusCode::FORBIDDEN);
        let foreign = team.request(&root, Method::POST, &format!("{path}/continue")).header("sec-fetch-site", "cross-site");
        assert_eq!(foreign.send().await.unwrap().status(), StatusCode::FORBIDDEN);
        assert_eq!(rows!(engine, (i64,), "SELECT COUNT(*) FROM conversations"), [(1,)]);
        team.json(&root, Method::DELETE, &format!("/api/shares/{id}"), Value::Null, 204).await;
        for path in [&*path, "/s/seven", "/s/00000000-0000-0000-0000-000000000000"] {
            let response = send_form(&team, &root, path).await;
            assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
            assert!(response.text().await.unwrap().contains("This link does not work."));
        }
        assert_eq!(rows!(engine, (i64,), "SELECT COUNT(*) FROM conversations"), [(1,)]);
    }

    async fn pressing_the_button_twice_creates_one_copy(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let root = team.sign_in(ADMIN).await;
        let (reader, _) = team.user(&root, "rita").await;
        let uuid = ask_with_image(&team, &model, &root).await;
        let (_, path) = share(&team, &root, &uuid, json!({"tool_calls": true, "files": true})).await;
        let ids: Vec<String> = [page(&team, &reader, &path).await, page(&team, &reader, &path).await].iter().map(|page| {
            let (_, rest) = page.split_once("name=\"client_conversation_id\" value=\"").unwrap();
            rest.split_once('"').unwrap().0.to_owned()
        }).collect();
        assert_ne!(ids[0], ids[1], "each page is for a copy of its own");
        let press = || send_form_for(&team, &reader, &path, &ids[0]);
        let (first, second) = tokio::join!(press(), press());
        assert_eq!(first.status(), StatusCode::SEE_OTHER);
        assert_eq!(first.headers()["location"], second.headers()["location"]);
        // Another user can have the same ID.
        assert_ne!(send_form_for(&team, &root, &path, &ids[0]).await.headers()["location"], first.headers()["location"]);
        assert_ne!(send_form_for(&team, &reader, &path, &ids[1]).await.headers()["location"], first.headers()["location"]);
        assert_eq!(rows!(engine, (i64,), "SELECT COUNT(*) FROM conversations"), [(4,)]);
        assert_eq!(rows!(engine, (i64,), "SELECT COUNT(*) FROM files"), [(2,)]);
    }

    /// Texts that the share link truncated stay marked in the copy, and in a copy of the copy.
    async fn truncated_texts_stay_marked(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let root = team.sign_in(ADMIN).await;
        let uuid = ask_with_image(&team, &model, &root).await;
        let (input, output) = (format!(r#"{{"a":"{}"}}"#, "1".repeat(70_000)), "計".repeat(30_000));
        execute!(engine, AssertSqlSafe(format!("UPDATE tool_calls SET input_text = '{input}', output = '{output}'")));
        let (_, path) = share(&team, &root, &uuid, json!({"tool_calls": true})).await;
        let copy = continued(&team, &root, &path).await;
        let answer = &copy["messages"][1];
        let fork = json!({"message_id": answer["id"]});
        let fork = team.json(&root, Method::POST, &format!("/api/conversations/{}/fork", copy["uuid"].as_str().unwrap()), fork, 201).await;
        let fork = team.json(&root, Method::GET, &format!("/api/conversations/{}", fork["uuid"].as_str().unwrap()), Value::Null, 200).await;
        for call in [&answer["tool_calls"][0], &fork["messages"][1]["tool_calls"][0]] {
            let whole = team.json(&root, Method::GET, &format!("/api/tool-calls/{}", call["tool_call_id"]), Value::Null, 200).await;
            for call in [call, &whole] {
                assert_eq!((&call["truncated"], &call["input_bytes"], &call["output_bytes"]), (&json!(true), &json!(70_008), &json!(90_000)));
                assert!(input.starts_with(call["input"].as_str().unwrap()) && output.starts_with(call["output"].as_str().unwrap()));
            }
        }
        let (is_consistent, words) = said(&admin(&engine, &model, &["check"]));
        assert!(is_consistent, "{words}");
    }

    /// The page gives the reason in the user's language, and says what to do.
    async fn a_copy_that_fails_says_what_to_do(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        with_admin(&engine).await;
        let limits = UserLimits { messages_per_minute: 2, ..UserLimits::default() };
        let team = Team::join_limited(&engine, &model, limits).await;
        let root = team.sign_in(ADMIN).await;
        let uuid = team.conversation(&root).await;
        model.reply([text("Yes.")]);
        team.ask(&root, &uuid, "Well?").await;
        let (_, path) = share(&team, &root, &uuid, json!({})).await;
        let says = async |path: &str, language: &str, status: StatusCode, text: &str| {
            let request = team.request(&root, Method::POST, &format!("{path}/continue")).header("accept-language", language);
            let response = request.header("content-type", "application/x-www-form-urlencoded").send().await.unwrap();
            assert_eq!(response.status(), status);
            let page = response.text().await.unwrap();
            assert!(page.contains(text), "{page}");
        };
        // The second message of the minute is the copy; a repeated request for it is none.
        for _ in 0..2 {
            assert_eq!(send_form_for(&team, &root, &path, "first").await.status(), StatusCode::SEE_OTHER);
        }
        says(&path, "en", StatusCode::TOO_MANY_REQUESTS, "You have sent too many messages within a minute.").await;
        says(&path, "ja", StatusCode::TOO_MANY_REQUESTS, "メッセージ数の上限").await;
        let copy = continued_id(&send_form_for(&team, &root, &path, "first").await);
        let answer = team.json(&root, Method::GET, &format!("/api/conversations/{copy}"), Value::Null, 200).await;
        let fork = json!({"message_id": answer["messages"][1]["id"]});
        let refused = team.json(&root, Method::POST, &format!("/api/conversations/{copy}/fork"), fork, 429).await;
        assert_eq!(refused["type"], "/problems/too-many-messages");

        execute!(engine, "UPDATE messages SET status = 'failed', content = '' WHERE role = 'assistant'");
        let (_, empty) = share(&team, &root, &uuid, json!({})).await;
        says(&empty, "en", StatusCode::UNPROCESSABLE_ENTITY, "This conversation has no answer yet").await;
        says(&empty, "ja", StatusCode::UNPROCESSABLE_ENTITY, "この会話にはまだ回答がない").await;
    }

    /// The reader's storage and rights apply to the files.
    async fn files_need_room_and_the_right_to_upload(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let bytes = u64::try_from(PNG.len()).unwrap() + 10;
        let team = start(&engine, &model, bytes).await;
        let root = team.sign_in(ADMIN).await;
        let (reader, reader_id) = team.user(&root, "rita").await;
        let uuid = ask_with_image(&team, &model, &root).await;
        let (_, path) = share(&team, &root, &uuid, json!({"files": true})).await;
        let body = "x".repeat(11);
        let filler = team.request(&reader, Method::POST, "/api/files?name=filler.txt").body(body).send().await.unwrap();
        assert_eq!(filler.status(), StatusCode::CREATED);
        let filler: Value = filler.json().await.unwrap();
        let full = send_form(&team, &reader, &path).await;
        assert_eq!(full.status(), StatusCode::PAYLOAD_TOO_LARGE);
        let full = full.text().await.unwrap();
        assert!(full.contains("role=\"alert\"") && full.contains("Your storage has no room"), "{full}");
        assert!(full.contains(&format!("action=\"{path}/continue\"")), "the reader can try again: {full}");
        // A copy that is refused is not an upload.
        let metrics = page(&team, &root, "/metrics").await;
        assert!(metrics.contains("tallybook_file_uploads_failed_total 0\n"), "{metrics}");
        let delete = format!("/api/files/{}", filler["id"].as_str().unwrap());
        team.json(&reader, Method::DELETE, &delete, Value::Null, 204).await;

        let painters = group(&team, &root, "Painters", &["upload"], &[]).await;
        let refused = send_form(&team, &reader, &path).await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN);
        // The page neither offers the copy nor hides the conversation.
        for shown in [refused.text().await.unwrap(), page(&team, &reader, &path).await] {
            assert!(shown.contains("you are not allowed to upload files") && shown.contains("heron.png"), "{shown}");
            assert!(!shown.contains("<form"), "{shown}");
        }
        assert_eq!(rows!(engine, (i64,), "SELECT COUNT(*) FROM conversations"), [(1,)]);
        set_members(&team, &root, painters, &[reader_id]).await;
        let copy = continued(&team, &reader, &path).await;
        assert_eq!(copy["messages"][0]["files"][0]["name"], "heron.png");
    }

    /// Without accounts, every reader is the local owner, who already has the files.
    async fn the_local_owner_continues_without_an_account(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let sharing = AccountsSettings { sharing: true, ..AccountsSettings::default() };
        let team = Team::of(TestApp::builder(&engine).with_mock(&model).with_accounts(sharing).spawn().await);
        let owner = Who::default();
        let uuid = ask_with_image(&team, &model, &owner).await;
        let (_, path) = share(&team, &owner, &uuid, json!({"tool_calls": true, "files": true})).await;
        assert!(page(&team, &owner, &path).await.contains(&format!("action=\"{path}/continue\"")));
        let copy = continued(&team, &owner, &path).await;
        let original = team.json(&owner, Method::GET, &format!("/api/conversations/{uuid}"), Value::Null, 200).await;
        assert_eq!(copy["messages"][0]["files"][0]["id"], original["messages"][0]["files"][0]["id"]);
        assert_eq!(rows!(engine, (i64,), "SELECT COUNT(*) FROM files"), [(1,)]);
    }
}
