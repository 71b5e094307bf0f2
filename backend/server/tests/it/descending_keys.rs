//! Databases whose keys do not grow with time. The nodes of a cluster assign keys independently of each other. So a
//! later row may have a smaller key, and an answer a smaller key than its question. The order follows from parents and
//! times instead.

use reqwest::{Method, header};
use serde_json::{Value, json};
use tallybook_conversations::MemorySettings;
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_protocol::{ChatEvent, Conversation, FeedKind, MessageStart};
use tallybook_tools::builtin;

use crate::{
    added_models::request,
    bad_input::assert_problem,
    files::{ask, uploaded},
    memory::is_idle,
    support::{Engine, EventReader, FeedReader, TestApp, eventually, rows},
};

/// Sends a request, and reads its turn to the end. Returns the first event.
async fn turn(app: &TestApp, path: &str, body: Value) -> MessageStart {
    let events = EventReader::new(app.post(path, body).await).all().await;
    assert!(matches!(events.last(), Some(ChatEvent::MessageEnd(_))), "{events:?}");
    let Some(ChatEvent::MessageStart(start)) = events.into_iter().next() else { panic!("a turn begins") };
    assert!(start.assistant_message_id < start.user_message_id, "each key is smaller than the one before");
    start
}

async fn texts(app: &TestApp, path: &str) -> Vec<String> {
    let conversation: Conversation = app.get(path).await.json().await.unwrap();
    conversation.messages.into_iter().map(|message| message.content).collect()
}

fn before(whole: &str, words: [&str; 2]) -> bool {
    let [first, second] = words.map(|word| whole.find(word));
    first.is_some() && first < second
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn branches_versions_and_pages_do_not_depend_on_key_order() {
    for engine in Engine::every_mysql_with_descending_keys().await {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let mut feed = FeedReader::open(&app).await;
        let conversation = app.create_conversation().await;
        let event = feed.next().await;
        assert_eq!(event.kind, FeedKind::ConversationCreated);
        let here = format!("/api/conversations/{conversation}");
        let send = format!("{here}/messages");

        model.reply([text("Let me see. "), tool_call("add", r#"{"a":1,"b":2}"#), tool_call("add", r#"{"a":3,"b":4}"#)]);
        for answer in ["First.", "Second.", "Anew.", "Edited."] {
            model.reply([text(answer)]);
        }
        let first = turn(&app, &send, json!({"content": "One?"})).await;
        let second = turn(&app, &send, json!({"content": "Two?"})).await;
        assert_eq!(second.parent_id, Some(first.assistant_message_id));
        let request = model.requests().pop().unwrap().body_text;
        assert!(before(&request, ["One?", "Let me see."]) && before(&request, ["First.", "Two?"]), "{request}");
        let one = "Let me see. \n\nFirst.";
        assert_eq!(texts(&app, &here).await, ["One?", one, "Two?", "Second."]);
        assert_eq!(texts(&app, &format!("{here}?limit=2")).await, ["Two?", "Second."]);
        let earlier = format!("{here}?limit=2&before={}", second.user_message_id);
        assert_eq!(texts(&app, &earlier).await, ["One?", one]);

        let again = format!("{here}/messages/{}/regenerate", second.assistant_message_id);
        let again = turn(&app, &again, json!({})).await;
        assert_eq!(again.assistant_siblings, [second.assistant_message_id, again.assistant_message_id]);
        let edited = turn(&app, &send, json!({"content": "Uno?", "edit_of": first.user_message_id})).await;
        assert_eq!(edited.user_siblings, [first.user_message_id, edited.user_message_id]);
        assert_eq!(texts(&app, &here).await, ["Uno?", "Edited."]);
        // The branch below the first question to which a message was added last.
        let select = format!("{here}/messages/{}/select", first.user_message_id);
        assert!(app.post(&select, json!({})).await.status().is_success());
        assert_eq!(texts(&app, &here).await, ["One?", one, "Two?", "Anew."]);

        let page = app.get(&format!("/admin/conversations/{conversation}")).await.text().await.unwrap();
        for words in [["One?", "Two?"], ["Two?", "Second."], ["Second.", "Anew."], ["Anew.", "Uno?"]] {
            assert!(before(&page, words), "{words:?}: {page}");
        }
        let from = format!("/admin/conversations/{conversation}?from={}", edited.user_message_id);
        let page = app.get(&from).await.text().await.unwrap();
        assert!(before(&page, ["Uno?", "Edited."]) && !page.contains("Anew."), "{page}");
        let exported = app.get(&format!("{here}/export?format=markdown")).await.text().await.unwrap();
        assert!(before(&exported, ["One?", "Two?"]) && before(&exported, ["Two?", "Anew."]), "{exported}");
        assert_eq!(tallybook::consistency::check(&app.database().await).await.unwrap(), [""; 0]);
        model.assert_calls_paired();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_covers_the_messages_before_it() {
    for engine in Engine::every_mysql_with_descending_keys().await {
        let model = MockLlm::start().await.unwrap();
        let memory = MemorySettings { after_tokens: Some(0), ..MemorySettings::default() };
        let tools = builtin().unwrap();
        let app = TestApp::builder(&engine)
            .with_mock(&model)
            .with_tools(tools)
            .with_settings(|settings| settings.memory = memory)
            .spawn()
            .await;
        let conversation = app.create_conversation().await;
        for number in 1..=3 {
            model.reply([text(format!("Answer {number}."))]);
            model.reply([text(format!("Summary {number}."))]);
            app.send(&conversation, &format!("Question {number}?")).await.all().await;
            let summaries = "SELECT COUNT(*) FROM conversation_summaries";
            let is_there = async || rows!(app, (i64,), summaries)[0].0 >= number && is_idle(&app).await;
            eventually("a summary is stored", is_there).await;
        }
        model.reply([text("Answer 4.")]);
        model.reply([text("Summary 4.")]);
        app.send(&conversation, "Question 4?").await.all().await;
        let asked: Vec<String> = model.requests().into_iter().map(|request| request.body_text).collect();
        let last = asked.iter().rfind(|body| body.contains("Question 4?") && body.contains("so far")).unwrap();
        assert!(last.contains("Summary 3."), "the prompt contains the newest summary: {last}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_keep_their_order_despite_clock_differences() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("First.")]);
        app.send(&conversation, "One?").await.all().await;
        // As if a replica had written these whose clock is ahead.
        engine.run("UPDATE messages SET created_at = created_at + INTERVAL 1 HOUR".to_owned()).await;
        model.reply([text("Second.")]);
        app.send(&conversation, "Two?").await.all().await;
        let order = "SELECT content FROM messages ORDER BY created_at";
        let written: Vec<String> = rows!(app, (String,), order).into_iter().map(|(text,)| text).collect();
        assert_eq!(written, ["One?", "First.", "Two?", "Second."]);
    }
}

/// Stores as many changes of the settings as the history keeps, each with a smaller key than the one before.
const EARLIER_CHANGES: &str = "INSERT INTO settings_history (id, version, changed_by, before_change, after_change, \
    settings, created_at) WITH RECURSIVE numbers AS (SELECT 1 AS number UNION ALL SELECT number + 1 FROM numbers \
    WHERE number < 1000) SELECT 9999 - number, number, 1, '{}', '{}', '{}', '2026-01-01' FROM numbers";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_and_history_of_the_settings_do_not_depend_on_key_order() {
    const PATH: &str = "/api/admin/settings";
    for engine in Engine::every_mysql_with_descending_keys().await {
        engine.run(EARLIER_CHANGES.to_owned()).await;
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let change = async |patch: Value| {
            let changed = request(&app, Method::PATCH, PATH, patch).await;
            let tag = changed.headers()[header::ETAG].clone();
            (tag, changed.json::<Value>().await.unwrap())
        };
        let (stale, first) = change(json!({"sharing": true})).await;
        let (_, second) = change(json!({"retention_days": 7})).await;
        assert_eq!((&first["version"], &second["version"]), (&json!(1001), &json!(1002)));
        let refused = app.client.patch(app.url(PATH)).header(header::IF_MATCH, stale).json(&json!({"sharing": false}));
        assert_problem(refused.send().await.unwrap(), 412, "version-changed").await;

        let history = app.get_json(&format!("{PATH}/history")).await;
        let shown = history["items"].as_array().unwrap();
        assert_eq!(shown[0]["after"], json!({"retention_days": 7.0}));
        assert_eq!(shown[1]["after"], json!({"sharing": true}));
        let ids: Vec<i64> = shown.iter().map(|change| change["id"].as_i64().unwrap()).collect();
        assert_eq!(ids, (903..=1002).rev().collect::<Vec<_>>());
        let kept = "SELECT COUNT(*), MIN(version), MAX(version) FROM settings_history";
        assert_eq!(rows!(app, (i64, i64, i64), kept), [(1000, 3, 1002)]);
        let restored = app.post(&format!("{PATH}/history/{}/restore", ids[1]), json!({})).await;
        assert_eq!(restored.json::<Value>().await.unwrap()["settings"], first["settings"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_keep_their_order_despite_falling_keys() {
    for engine in Engine::every_mysql_with_descending_keys().await {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let (one, two) = (uploaded(&app, "one.txt", "First.").await, uploaded(&app, "two.txt", "Second.").await);
        let conversation = app.create_conversation().await;
        model.reply([text("Read.")]);
        let part = |file: &Value| json!({"type": "file", "file_id": file["id"]});
        ask(&app, &conversation, json!([part(&two), part(&one)])).await;
        let request = model.requests().pop().unwrap().body_text;
        assert!(before(&request, ["Second.", "First."]), "{request}");
        let names = |files: &Value| -> Vec<String> {
            files.as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&app.conversation(&conversation).await["messages"][0]["files"]), ["two.txt", "one.txt"]);
        let export = app.get("/api/me/export").await.text().await.unwrap();
        let account: Value = serde_json::from_str(export.lines().next().unwrap()).unwrap();
        assert_eq!(names(&account["files"]), ["one.txt", "two.txt"]);
    }
}
