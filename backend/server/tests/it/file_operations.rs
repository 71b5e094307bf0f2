//! Files for operators: statistics, lists, checks, purges and backups. `file_stores` tests files outside the database.

use reqwest::StatusCode;
use serde_json::{Value, json};
use tallybook_files::{Files, FilesSettings};
use tallybook_mock_llm::{MockLlm, text};

use crate::{
    files::{PNG, ask, delete, uploaded},
    operator_commands::{admin, said},
    support::{Engine, TestApp, eventually, execute, on_every_engine, rows},
};

on_every_engine! {
    async fn the_statistics_have_the_files_of_each_user(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let statistics = async || app.get("/admin/figures").await.text().await.unwrap();
        assert!(!statistics().await.contains("data-testid=\"files\""));
        uploaded(&app, "one.txt", "One.").await;
        let deleted = uploaded(&app, "two.txt", "Two.").await;
        uploaded(&app, "three.txt", "Three.").await;
        assert_eq!(delete(&app, &deleted["id"]).await.status(), StatusCode::NO_CONTENT);
        let page = statistics().await;
        let (_, table) = page.split_once("data-testid=\"files\"").expect("a table of files");
        assert!(table.contains("<th scope=\"row\">local</th><td>2<") && table.contains("<td>10 bytes<"), "{table}");
    }

    async fn the_operators_check_finds_damaged_content(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::launch(&engine, &model);
        uploaded(&app, "a.txt", "The text.").await;
        let (is_sound, words) = said(&admin(&engine, &model, &["check"]));
        assert!(is_sound, "{words}");
        execute!(app, "UPDATE blob_chunks SET bytes = x'00'");
        let (is_sound, words) = said(&admin(&engine, &model, &["check"]));
        assert!(!is_sound && words.contains("1 contents of files"), "{words}");
    }

    async fn the_operator_sees_the_files_of_each_user(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::launch(&engine, &model);
        uploaded(&app, "used.txt", "Used.").await;
        let deleted = uploaded(&app, "deleted.txt", "Deleted.").await;
        assert_eq!(delete(&app, &deleted["id"]).await.status(), StatusCode::NO_CONTENT);
        let (is_done, words) = said(&admin(&engine, &model, &["files"]));
        assert!(is_done && words.contains("1 files") && words.contains("5 bytes  1 unused"), "{words}");
        assert!(words.contains("Stored contents: 1, with 5 bytes."), "{words}");
        assert!(words.contains("Objects in FILES_URL that belong to no file: 0."), "{words}");
        let user = words.split_whitespace().next().unwrap();
        let (is_done, words) = said(&admin(&engine, &model, &["files", "--user", user]));
        assert!(is_done && words.contains("used.txt") && !words.contains("deleted.txt"), "{words}");
    }

    async fn files_of_deleted_conversations_are_purged_with_their_content(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let at_once = |settings: &mut tallybook::config::Settings| settings.retention_days = 0.0;
        let app = TestApp::builder(&engine).with_mock(&model).with_settings(at_once).spawn().await;
        let (kept, deleted) = (app.create_conversation().await, app.create_conversation().await);
        let (both, one) = (uploaded(&app, "both.txt", "Both.").await, uploaded(&app, "picture.png", PNG).await);
        for conversation in [&kept, &deleted] {
            model.reply([text("Read.")]);
            ask(&app, conversation, json!([{"type": "file", "file_id": both["id"]}])).await;
        }
        model.reply([text("Seen.")]);
        ask(&app, &deleted, json!([{"type": "image", "file_id": one["id"]}])).await;
        app.delete(&deleted).await;
        eventually("the conversation is purged", async || {
            rows!(app, (i64,), "SELECT COUNT(*) FROM conversations") == [(1,)]
        })
        .await;
        let files = Files::new(app.database().await, FilesSettings::with_program("none".into())).unwrap();
        files.purge_unused().await.unwrap();
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM files"), [(2,)], "kept for a day");
        execute!(app, "UPDATE files SET created_at = '2026-01-01 00:00:00'");
        execute!(app, "UPDATE blobs SET used_at = '2026-01-01 00:00:00'");
        files.purge_unused().await.unwrap();
        let left = "SELECT (SELECT COUNT(*) FROM files), (SELECT COUNT(*) FROM blobs), (SELECT COUNT(*) FROM file_texts)";
        assert_eq!(rows!(app, (i64, i64, i64), left), [(1, 1, 1)]);
        let path = format!("/api/files/{}/content", both["id"].as_str().unwrap());
        assert_eq!(app.get(&path).await.text().await.unwrap(), "Both.");
    }
}

/// A backup contains the content of files in an embedded database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_backup_has_the_files() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.db");
    let app = TestApp::launch(&engine, &model);
    let content = "A line of a file.\n".repeat(100_000);
    let (document, image) = (uploaded(&app, "a.txt", content.clone()).await, uploaded(&app, "b.png", PNG).await);
    let (is_done, words) = said(&admin(&engine, &model, &["backup", copy.to_str().unwrap()]));
    assert!(is_done, "{words}");
    for file in [&document, &image] {
        assert_eq!(delete(&app, &file["id"]).await.status(), StatusCode::NO_CONTENT);
    }
    app.kill();
    let (is_done, words) = said(&admin(&engine, &model, &["restore", copy.to_str().unwrap()]));
    assert!(is_done, "{words}");
    let app = TestApp::launch(&engine, &model);
    let read = async |file: &Value, variant: &str| {
        let path = format!("/api/files/{}/content?variant={variant}", file["id"].as_str().unwrap());
        app.get(&path).await.bytes().await.unwrap()
    };
    assert!(read(&document, "original").await == content, "the content is whole");
    assert_eq!(read(&image, "original").await, PNG);
    assert!(!read(&image, "thumb").await.is_empty());
    let (is_sound, words) = said(&admin(&engine, &model, &["check"]));
    assert!(is_sound, "{words}");
}
