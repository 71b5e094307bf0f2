//! Content of files in a folder and in a bucket: downloads, deletion, checks, backups, a full disk, and a bucket that
//! is slow or does not answer. `accounts/erasure` tests the erasure of a user's objects.

use std::{path::Path, time::Duration};

use reqwest::StatusCode;
use serde_json::{Value, json};
use tallybook_files::{Files, FilesError, FilesSettings};
use tallybook_mock_llm::{MockLlm, text};

use crate::{
    files::{PNG, ask, assert_problem, assert_ranges_can_be_downloaded, delete, upload, uploaded},
    operator_commands::said,
    support::{Bucket, BucketState, Engine, FileStore, Program, TestApp, eventually, execute, on_every_engine, rows},
};

/// Starts the program with the content of files in a store.
fn launch(engine: &Engine, model: &MockLlm, store: &FileStore) -> TestApp {
    TestApp::launch_command(engine, Program::command(engine, model).envs(store.variables()))
}

/// Runs an operator's command with the content of files in a store.
pub(crate) fn admin_with(engine: &Engine, model: &MockLlm, store: &FileStore, args: &[&str]) -> (bool, String) {
    let mut command = Program::command(engine, model);
    said(&command.envs(store.variables()).arg("admin").args(args).output().unwrap())
}

fn content_path(file: &Value, variant: &str) -> String {
    format!("/api/files/{}/content?variant={variant}", file["id"].as_str().unwrap())
}

async fn assert_ranges(engine: Engine, store: FileStore) {
    let model = MockLlm::start().await.unwrap();
    let app = launch(&engine, &model, &store);
    assert_ranges_can_be_downloaded(&app).await;
    assert_eq!(store.keys().len(), 1);
}

async fn assert_objects_are_deleted(engine: Engine, store: FileStore) {
    let model = MockLlm::start().await.unwrap();
    let app = launch(&engine, &model, &store);
    // Several parts of an upload to the store.
    let content = "text ".repeat(1_500_000);
    let (file, same) = tokio::join!(uploaded(&app, "a.txt", content.clone()), uploaded(&app, "b.txt", content.clone()));
    let stored = "SELECT (SELECT COUNT(*) FROM blobs), (SELECT COUNT(*) FROM blob_chunks)";
    assert_eq!(rows!(app, (i64, i64), stored), [(1, 0)]);
    assert_eq!(store.keys().len(), 1, "{:?}", store.keys());
    assert!(app.get(&content_path(&same, "original")).await.text().await.unwrap() == content, "the content is whole");
    for (file, left) in [(&file, 1), (&same, 0)] {
        assert_eq!(delete(&app, &file["id"]).await.status(), StatusCode::NO_CONTENT);
        assert_eq!(store.keys().len(), left, "{:?}", store.keys());
    }

    let (used, unused) = (uploaded(&app, "used.txt", "Used.").await, uploaded(&app, "unused.png", PNG).await);
    let conversation = app.create_conversation().await;
    model.reply([text("Read.")]);
    ask(&app, &conversation, json!([{"type": "file", "file_id": used["id"]}])).await;
    assert!(store.keys().len() > 1, "{:?}", store.keys());
    app.kill();
    let app = TestApp::launch(&engine, &model);
    uploaded(&app, "in-database.txt", "In the database.").await;
    app.kill();
    execute!(engine, "UPDATE files SET created_at = '2026-01-01 00:00:00'");
    execute!(engine, "UPDATE blobs SET used_at = '2026-01-01 00:00:00'");
    // Without the store, its content cannot be deleted. The rows stay, so that it is not forgotten.
    let in_store = "SELECT sha256 FROM blobs WHERE storage <> 'database'";
    let (objects, blobs) = (store.keys(), rows!(engine, (String,), in_store));
    let without_store = FilesSettings::with_program("none".into());
    let purged = Files::new(engine.database().await, without_store).unwrap().purge_unused().await;
    assert!(matches!(purged, Err(FilesError::StoreUnknown)), "{purged:?}");
    assert_eq!((store.keys(), rows!(engine, (String,), "SELECT sha256 FROM blobs")), (objects, blobs));
    // A server purges when it starts, and then at intervals.
    let app = launch(&engine, &model, &store);
    eventually("what no message contains is purged", async || store.keys().len() == 1).await;
    assert_eq!(app.get(&content_path(&used, "original")).await.text().await.unwrap(), "Used.");
    assert_problem(app.get(&content_path(&unused, "original")).await, 404, "no-such-file").await;
}

async fn assert_check_finds_damage(engine: Engine, store: FileStore) {
    let model = MockLlm::start().await.unwrap();
    let app = launch(&engine, &model, &store);
    uploaded(&app, "a.txt", "The text.").await;
    let check = || admin_with(&engine, &model, &store, &["check"]);
    let (is_sound, words) = check();
    assert!(is_sound, "{words}");
    // Recent objects may belong to an upload that is running.
    store.write("orphan", b"An orphan.", Duration::ZERO);
    let (is_sound, words) = check();
    assert!(is_sound, "{words}");
    store.write("orphan", b"An orphan.", Duration::from_hours(48));
    let (is_sound, words) = check();
    assert!(!is_sound && words.contains("1 objects in the storage of files belong to no file"), "{words}");
    let (is_done, words) = admin_with(&engine, &model, &store, &["files"]);
    assert!(is_done && words.contains("Objects in FILES_URL that belong to no file: 1."), "{words}");
    store.delete("orphan");
    let key = rows!(app, (String,), "SELECT storage FROM blobs").remove(0).0;
    assert_eq!(store.keys(), std::slice::from_ref(&key));
    for content in ["The test.", "The text. More.", "The", ""] {
        store.write(&key, content.as_bytes(), Duration::ZERO);
        let (is_sound, words) = check();
        assert!(!is_sound && words.contains("1 contents of files"), "{content:?}: {words}");
    }
    store.delete(&key);
    let (is_sound, words) = check();
    assert!(!is_sound && words.contains("1 contents of files"), "{words}");
}

on_every_engine! {
    async fn a_range_of_an_object_in_a_folder_can_be_downloaded(engine: Engine) {
        assert_ranges(engine, FileStore::folder()).await;
    }

    async fn a_range_of_an_object_in_a_bucket_can_be_downloaded(engine: Engine) {
        assert_ranges(engine, FileStore::bucket()).await;
    }

    async fn objects_in_a_folder_are_deleted_with_their_files(engine: Engine) {
        assert_objects_are_deleted(engine, FileStore::folder()).await;
    }

    async fn objects_in_a_bucket_are_deleted_with_their_files(engine: Engine) {
        assert_objects_are_deleted(engine, FileStore::bucket()).await;
    }

    async fn the_operators_check_finds_damaged_and_orphaned_objects_of_a_folder(engine: Engine) {
        assert_check_finds_damage(engine, FileStore::folder()).await;
    }

    async fn the_operators_check_finds_damaged_and_orphaned_objects_of_a_bucket(engine: Engine) {
        assert_check_finds_damage(engine, FileStore::bucket()).await;
    }
}

#[tokio::test]
async fn a_backup_says_where_the_content_of_files_is() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let copies = tempfile::tempdir().unwrap();
    TestApp::launch(&engine, &model).kill();
    let back_up = |command: &mut std::process::Command, copy: &Path| {
        said(&command.args(["admin", "backup"]).arg(copy).output().unwrap())
    };
    let (is_done, words) = back_up(&mut Program::command(&engine, &model), &copies.path().join("database.db"));
    assert!(is_done && !words.contains("FILES_URL"), "{words}");
    for (name, store) in [("folder.db", FileStore::folder()), ("bucket.db", FileStore::bucket())] {
        let mut command = Program::command(&engine, &model);
        let (is_done, words) = back_up(command.envs(store.variables()), &copies.path().join(name));
        let expected = format!("Back up FILES_URL next: {}.", store.place());
        assert!(is_done && words.contains(&expected), "{name}: {words}");
    }
}

/// Returns a photo whose image for models has more bytes, because it is encoded with a higher quality.
#[cfg(target_os = "linux")]
fn coarse_photo() -> Vec<u8> {
    let mut photo = Vec::new();
    let encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut photo, 20);
    crate::files::noise(1500, 1500).write_with_encoder(encoder).unwrap();
    photo
}

#[cfg(target_os = "linux")]
on_every_engine! {
    /// Runs the program with a limit on the size of files, which has the effect of a full disk. The temporary file and
    /// the original fit, the image for models does not.
    async fn an_upload_to_a_full_folder_is_refused_and_leaves_nothing(engine: Engine) {
        let (model, store) = (MockLlm::start().await.unwrap(), FileStore::folder());
        // Creates the tables, so that the journal of an embedded database is short when the program starts.
        engine.database().await.close().await;
        // Without this trap, the kernel would kill the program for the attempt to write.
        let mut command = Program::command_after("trap '' XFSZ", &engine, &model);
        let app = TestApp::launch_command(&engine, command.envs(store.variables()));
        let photo = coarse_photo();
        let file = uploaded(&app, "photo.jpg", photo.clone()).await;
        let for_models = app.get(&content_path(&file, "model")).await.bytes().await.unwrap();
        let limit = usize::midpoint(photo.len(), for_models.len());
        assert!(photo.len() < limit && limit < for_models.len(), "{} and {} bytes", photo.len(), for_models.len());
        assert_eq!(delete(&app, &file["id"]).await.status(), StatusCode::NO_CONTENT);

        app.process().limit_files(&limit.to_string());
        let detail = assert_problem(upload(&app, "photo.jpg", photo.clone()).await, 507, "storage-full").await;
        assert_eq!(detail, "The server's storage for files is full. Ask an admin to free space.");
        assert_eq!(store.keys(), [""; 0]);
        assert_eq!(rows!(app, (i64, i64), "SELECT (SELECT COUNT(*) FROM files), (SELECT COUNT(*) FROM blobs)"), [(0, 0)]);
        app.process().limit_files("unlimited");
        uploaded(&app, "photo.jpg", photo).await;
    }
}

/// Maximum time of a request to the store, instead of 30 seconds.
const STORE_TIMEOUT: (&str, &str) = ("AWS_TIMEOUT", "1s");

/// Uploads a text, and starts the program again with this limit.
async fn launch_with_short_timeout(
    engine: &Engine,
    model: &MockLlm,
    bucket: &Bucket,
    content: &str,
) -> (TestApp, Value) {
    let mut command = Program::command(engine, model);
    let app = TestApp::launch_command(engine, command.envs(bucket.variables()));
    let file = uploaded(&app, "long.txt", content.to_owned()).await;
    app.kill();
    (TestApp::launch_command(engine, command.envs([STORE_TIMEOUT])), file)
}

/// Reading the whole object takes more than six seconds. The program gives up a request after one second, and after
/// four further attempts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_that_takes_longer_than_a_request_to_the_store_arrives_whole() {
    let (engine, model, bucket) = (Engine::sqlite(), MockLlm::start().await.unwrap(), Bucket::start());
    let content = "0123456789abcdef".repeat(1024 * 1024);
    let (app, file) = launch_with_short_timeout(&engine, &model, &bucket, &content).await;
    bucket.set_state(BucketState::Slow);
    let response = app.get(&content_path(&file, "original")).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert!(response.text().await.unwrap() == content, "the content is whole");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_does_not_answer_fails_uploads_and_downloads() {
    let (engine, model, bucket) = (Engine::sqlite(), MockLlm::start().await.unwrap(), Bucket::start());
    let content = "0123456789abcdef".repeat(100_000);
    let (app, file) = launch_with_short_timeout(&engine, &model, &bucket, &content).await;
    let path = content_path(&file, "original");
    bucket.set_state(BucketState::Silent);
    let (written, read) = tokio::join!(upload(&app, "b.txt", "More."), app.get(&path));
    for response in [written, read] {
        let detail = assert_problem(response, 503, "storage-unavailable").await;
        assert_eq!(detail, "The storage for files is unreachable. Try again in a moment.");
    }
    bucket.set_state(BucketState::Stalling);
    assert_problem(app.get(&path).await, 503, "storage-unavailable").await;
    assert_eq!(app.get("/readyz").await.status(), StatusCode::OK);
    bucket.set_state(BucketState::Up);
    uploaded(&app, "b.txt", "More.").await;
    assert!(app.get(&path).await.text().await.unwrap() == content, "the content is whole");
}

/// A download that has begun ends with an error if the store stops in the middle.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_stops_in_the_middle_of_a_download_cuts_it_off() {
    let (engine, model, bucket) = (Engine::sqlite(), MockLlm::start().await.unwrap(), Bucket::start());
    let content = "0123456789abcdef".repeat(512 * 1024);
    let (app, file) = launch_with_short_timeout(&engine, &model, &bucket, &content).await;
    bucket.set_state(BucketState::Slow);
    let mut response = app.get(&content_path(&file, "original")).await;
    assert_eq!(response.status(), StatusCode::OK);
    let mut read = response.chunk().await.unwrap().expect("the beginning").len();
    bucket.set_state(BucketState::Stalling);
    let failed = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => read += chunk.len(),
            Ok(None) => break false,
            Err(_) => break true,
        }
    };
    assert!(failed && read < content.len(), "{read} bytes");
}
