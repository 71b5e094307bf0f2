//! The text of documents, as models and clients receive it: pages, distinct names, and notes on missing parts.

use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use tallybook_llm::{ModelSettings, tokens};
use tallybook_mock_files::xlsx;
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_protocol::ChatEvent;

use crate::{
    files::{ask, assert_problem, upload, uploaded},
    support::{Engine, EventReader, Provider, TestApp, end_of, on_every_engine, rows},
};

const NOTE: &str = "Only the beginning of this file's text was stored";

/// Starts a server whose model has a context of 8,000 tokens.
async fn with_small_context(engine: &Engine, model: &MockLlm) -> TestApp {
    let settings = ModelSettings { context_tokens: 8000, max_tokens: 500, ..Provider::Anthropic.settings(model.url()) };
    TestApp::builder(engine).with_model(settings).spawn().await
}

fn part(file: &Value) -> Value {
    json!({"type": "file", "file_id": file["id"]})
}

fn words(content: &str) -> Value {
    json!({"type": "text", "text": content})
}

/// Returns the documents in the last request to the model, with their envelopes.
fn envelopes(model: &MockLlm) -> Vec<String> {
    let request = model.requests().pop().unwrap().body;
    let messages = request["messages"].as_array().unwrap().iter();
    let parts = messages.filter_map(|message| message["content"].as_array()).flatten();
    let texts = parts.filter_map(|part| part["text"].as_str());
    texts.filter(|text| text.starts_with("<attached_file")).map(str::to_owned).collect()
}

/// Reads a file with the tool `read_file` in a new turn, and returns the output.
async fn read(app: &TestApp, model: &MockLlm, conversation: &str, arguments: Value) -> String {
    model.reply([tool_call("read_file", arguments.to_string())]);
    model.reply([text("Read.")]);
    let events = app.send(conversation, "Read on").await.all().await;
    let end = end_of(&events);
    let call = end.tool_calls.first().unwrap_or_else(|| panic!("the tool was called: {end:?}"));
    call.output.clone().or_else(|| call.error.clone()).unwrap()
}

on_every_engine! {
    async fn a_regenerated_answer_keeps_the_files_of_its_question(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let file = uploaded(&app, "notes.txt", "The code is 4711.").await;
        model.reply([text("It is 4711.")]);
        ask(&app, &conversation, json!([words("Which code?"), part(&file)])).await;
        let shown = app.conversation(&conversation).await;
        model.reply([text("4711.")]);
        let path = format!("/api/conversations/{conversation}/messages/{}/regenerate", shown["messages"][1]["id"]);
        let events = EventReader::new(app.post(&path, json!({})).await).all().await;
        let ChatEvent::MessageStart(start) = &events[0] else { panic!("{events:?}") };
        let ids: Vec<Value> = start.files.iter().map(|file| json!(file.id)).collect();
        assert_eq!((ids, start.files[0].context.as_deref()), (vec![file["id"].clone()], None));
        let end = end_of(&events);
        assert_eq!(serde_json::to_value(&end.files).unwrap(), shown["messages"][0]["files"]);
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM message_files"), [(1,)]);
        assert_eq!(envelopes(&model).len(), 1);
    }

    async fn the_end_of_a_turn_has_what_the_model_received_of_the_files(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = with_small_context(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let (short, long) = (uploaded(&app, "a.txt", "Short.").await, uploaded(&app, "b.txt", "word ".repeat(5000)).await);
        model.reply([text("Read.")]);
        let body = json!({"parts": [part(&short), part(&long)]});
        let response = app.post(&format!("/api/conversations/{conversation}/messages"), body).await;
        let mut events = EventReader::new(response);
        let first = events.next().await.unwrap();
        let last = events.until("message_end").await.event;
        let ChatEvent::MessageEnd(end) = &last else { unreachable!() };
        let contexts: Vec<_> = end.files.iter().map(|file| file.context.as_deref().unwrap()).collect();
        assert_eq!(contexts, ["pages 1–1 of 1", "pages 1–1 of 7"]);
        // A client that subscribes later receives the same end.
        let mut late = app.follow(&conversation, first.id.as_deref()).await;
        assert_eq!(late.until("message_end").await.event, last);
        // All documents together take at most a quarter of the context.
        let taken: usize = envelopes(&model).iter().map(|envelope| tokens::of_text(envelope)).sum();
        assert!((1000..=2000).contains(&taken), "{taken}");
        model.reply([text("Nothing.")]);
        let events = app.send(&conversation, "And now?").await.all().await;
        assert_eq!(end_of(&events).files, []);
    }

    async fn text_beyond_the_limit_is_reported(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let line = "A line of a file that is longer than its stored text.\n";
        let long = uploaded(&app, "long.txt", line.repeat(5 * 1024 * 1024 / line.len())).await;
        assert_eq!(long["truncated"], true, "{long}");
        let same = uploaded(&app, "same.txt", line.repeat(5 * 1024 * 1024 / line.len())).await;
        assert_eq!((&same["truncated"], &same["pages"]), (&json!(true), &long["pages"]));
        model.reply([text("Long.")]);
        ask(&app, &conversation, json!([words("Read"), part(&long)])).await;
        let shown = app.conversation(&conversation).await;
        assert_eq!(shown["messages"][0]["files"][0]["truncated"], true, "{shown}");
        let last = read(&app, &model, &conversation, json!({"file": "long.txt", "page": long["pages"]})).await;
        assert!(last.contains(NOTE), "{last}");
        let first = read(&app, &model, &conversation, json!({"file": "long.txt", "page": 1})).await;
        assert!(!first.contains(NOTE), "{first}");
        let found = read(&app, &model, &conversation, json!({"file": "long.txt", "search": "no such word"})).await;
        assert!(found.contains("Nothing was found") && found.contains(NOTE), "{found}");

        // A text of which all stored pages fit: with 10,001 pages, for example.
        let whole = uploaded(&app, "whole.txt", "Everything.").await;
        assert!(whole.get("truncated").is_none(), "{whole}");
        for (is_truncated, count) in [("FALSE", 0), ("TRUE", 1)] {
            let sql = format!("UPDATE files SET truncated = {is_truncated} WHERE name = 'whole.txt'");
            crate::support::execute!(app, AssertSqlSafe(sql));
            let conversation = app.create_conversation().await;
            model.reply([text("Read.")]);
            ask(&app, &conversation, json!([part(&whole)])).await;
            assert_eq!(envelopes(&model)[0].matches(NOTE).count(), count);
        }
    }

    async fn a_search_shows_30_lines_with_the_text_and_says_if_there_are_more(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        // The 31st is on another page.
        let thirty = "A heron.\n".repeat(30) + &"A stork.\n".repeat(1000);
        let more = format!("{thirty}The last heron.");
        let long = format!("{}The heron swims.{}", "İ".repeat(1000), " stork".repeat(1000));
        let files = [("thirty.txt", thirty), ("more.txt", more), ("long.txt", long)];
        let mut parts = Vec::new();
        for (name, content) in files {
            parts.push(part(&uploaded(&app, name, content).await));
        }
        model.reply([text("Birds.")]);
        ask(&app, &conversation, json!(parts)).await;
        let search = async |file: &str| read(&app, &model, &conversation, json!({"file": file, "search": "HERON"})).await;
        assert_eq!(search("thirty.txt").await, ["[Page 1] A heron."; 30].join("\n"));
        let found = search("more.txt").await;
        assert!(found.starts_with(&["[Page 1] A heron."; 30].join("\n")) && found.contains("There are more lines"), "{found}");
        let found = search("long.txt").await;
        assert!(found.contains("…İ") && found.contains("The heron swims. stork") && found.ends_with('…'), "{found}");
        assert!(found.chars().count() < 350, "{found}");
    }

    /// A sheet has no pages of its own.
    async fn every_page_of_a_long_sheet_can_be_read(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = with_small_context(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let row = |row: u32| format!("<row r=\"{row}\"><c r=\"A{row}\"><v>{}</v></c></row>", 1_000_000 + row);
        let sheet = uploaded(&app, "sheet.xlsx", xlsx(&(1..=20_000).map(row).collect::<Vec<String>>().concat())).await;
        let pages = sheet["pages"].as_i64().unwrap();
        assert!(pages > 5, "{sheet}");
        model.reply([text("Numbers.")]);
        ask(&app, &conversation, json!([words("Read"), part(&sheet)])).await;
        // Not even the first page fits.
        let shown = app.conversation(&conversation).await;
        assert_eq!(shown["messages"][0]["files"][0]["context"], format!("part of page 1 of {pages}"));
        let envelope = envelopes(&model).remove(0);
        assert!(envelope.contains(&format!("part=\"part of page 1 of {pages}\"")), "{envelope}");
        assert!(envelope.contains("The file continues here") && envelope.contains("\n1000001\n"), "{envelope}");
        let mut seen = Vec::new();
        for page in 1..=pages {
            let output = read(&app, &model, &conversation, json!({"file": "sheet.xlsx", "page": page})).await;
            seen.extend(output.lines().filter_map(|line| line.parse::<u32>().ok()));
        }
        assert!(seen.into_iter().eq(1_000_001..=1_020_000), "every row is on exactly one page");
    }

    async fn documents_with_the_same_name_can_all_be_read(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let (old, new) = (uploaded(&app, "report.txt", "Heron.").await, uploaded(&app, "report.txt", "Stork.").await);
        for file in [&old, &new] {
            model.reply([text("Read.")]);
            ask(&app, &conversation, json!([words("Read"), part(file)])).await;
        }
        // The same file again has the same name.
        model.reply([text("Read.")]);
        ask(&app, &conversation, json!([words("Read"), part(&old)])).await;
        let names: Vec<String> = envelopes(&model)
            .iter()
            .map(|envelope| envelope.split('"').nth(1).unwrap().to_owned())
            .collect();
        assert_eq!(names, ["report.txt", "report (2).txt", "report.txt"]);
        for (name, bird) in [("report.txt", "Heron."), ("report (2).txt", "Stork.")] {
            let output = read(&app, &model, &conversation, json!({"file": name})).await;
            assert_eq!(output, format!("[Page 1 of 1]\n{bird}"));
        }
        let unknown = read(&app, &model, &conversation, json!({"file": "report (3).txt"})).await;
        assert!(unknown.contains("report (2).txt, report.txt"), "{unknown}");
        assert_eq!(app.conversation(&conversation).await["messages"][2]["files"][0]["name"], "report.txt");
    }

    /// The file is deleted after it was found, and before the message refers to it.
    async fn a_file_deleted_while_its_message_is_stored_is_refused(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let file = uploaded(&app, "notes.txt", "Text.").await;
        let delete = "UPDATE files SET deleted_at = '2026-01-01 00:00:00';";
        let body = if engine.is_sqlite() { format!("BEGIN {delete} END") } else { delete.to_owned() };
        let trigger = format!("CREATE TRIGGER delete_files AFTER INSERT ON messages FOR EACH ROW {body}");
        engine.run(trigger).await;
        let path = format!("/api/conversations/{conversation}/messages");
        let refused = app.post(&path, json!({"parts": [part(&file)]})).await;
        let detail = assert_problem(refused, 422, "no-such-file").await;
        assert!(detail.contains(file["id"].as_str().unwrap()), "{detail}");
        engine.run("DROP TRIGGER delete_files".to_owned()).await;
        assert_eq!(app.conversation(&conversation).await["messages"], json!([]));
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM message_files"), [(0,)]);
        model.reply([text("Read.")]);
        // The same file twice in one message counts as one.
        ask(&app, &conversation, json!([part(&file), part(&file)])).await;
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM message_files"), [(2,)]);
        let deleted = app.client.delete(app.url(&format!("/api/files/{}", file["id"].as_str().unwrap()))).send().await;
        assert_problem(deleted.unwrap(), 409, "file-in-use").await;
    }

    async fn a_document_without_text_has_no_pages(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let scanned = include_bytes!("../../../documents/tests/fixtures/scanned.pdf").as_slice();
        let file = uploaded(&app, "scan.pdf", scanned).await;
        assert_eq!((&file["kind"], file.get("pages")), (&json!("document"), None));
        let page = app.get(&format!("/api/files/{}/text?page=1", file["id"].as_str().unwrap())).await;
        assert_problem(page, 404, "no-such-page").await;
        let empty = upload(&app, "empty.txt", "").await;
        assert_problem(empty, 422, "file-unreadable").await;
        let conversation = app.create_conversation().await;
        model.reply([text("I see only its name.")]);
        ask(&app, &conversation, json!([part(&file)])).await;
        assert_eq!(app.conversation(&conversation).await["messages"][0]["files"][0]["context"], "name only");
        let request = model.requests().pop().unwrap().body_text;
        assert!(request.contains("scan.pdf") && request.contains("no text that can be read"), "{request}");
    }
}
