//! Faults around files: hostile content, a full disk, a crash in the middle of an upload, content that disappears, and
//! a store that cannot be reached.

use std::{
    io::{Cursor, Write as _},
    path::Path,
};

use futures_util::future::join_all;
use reqwest::Body;
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::{
    files::{PNG, ask, assert_problem, images_in, upload, uploaded},
    support::{Bucket, Engine, EventReader, Program, RawConnection, TestApp, execute, on_every_engine, rows},
};

const ENCRYPTED_PDF: &[u8] = include_bytes!("../../../documents/tests/fixtures/password.pdf");
const MEBIBYTE: usize = 1024 * 1024;

/// CRC-32 of the header of a PNG with 30,000 × 30,000 gray pixels.
const HUGE_PICTURE_CRC: u32 = 0x434c_a766;

/// Maximum memory that ten uploads of 20 MiB at once may take beside what the server uses at rest, in KiB.
const UPLOADS_KIB: u64 = 64 * 1024;

/// Returns a ZIP archive with one file.
fn archive_of(name: &str) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file(name, SimpleFileOptions::default()).unwrap();
    writer.write_all(b"Text.").unwrap();
    writer.finish().unwrap().into_inner()
}

/// Returns a Word file whose text inflates to a gibibyte.
fn word_bomb() -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file("[Content_Types].xml", SimpleFileOptions::default()).unwrap();
    writer.write_all(b"<Types/>").unwrap();
    writer.start_file("word/document.xml", SimpleFileOptions::default().large_file(true)).unwrap();
    let zeros = vec![b'0'; MEBIBYTE];
    for _ in 0..1024 {
        writer.write_all(&zeros).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Returns a PNG of 30,000 × 30,000 pixels that ends after its header.
fn huge_picture() -> Vec<u8> {
    let mut picture = PNG[..16].to_vec();
    picture.extend(30_000_u32.to_be_bytes());
    picture.extend(30_000_u32.to_be_bytes());
    picture.extend([8, 0, 0, 0, 0]);
    picture.extend(HUGE_PICTURE_CRC.to_be_bytes());
    picture
}

fn part_of(kind: &str, file: &Value) -> Value {
    json!({"type": kind, "file_id": file["id"]})
}

fn words(content: &str) -> Value {
    json!({"type": "text", "text": content})
}

/// Counts the files in a folder.
fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

on_every_engine! {
    async fn hostile_files_are_refused_and_leave_the_server_untouched(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let nested = format!("%PDF-1.7\n1 0 obj\n{}", "[".repeat(50_000));
        let half = PNG[..PNG.len() / 2].to_vec();
        let refused = [
            ("bomb.docx", word_bomb()),
            ("huge.png", huge_picture()),
            ("nested.pdf", nested.into_bytes()),
            ("secret.pdf", ENCRYPTED_PDF.to_vec()),
            ("half.png", half),
        ];
        for (name, content) in refused {
            let detail = assert_problem(upload(&app, name, content).await, 422, "file-unreadable").await;
            assert!(detail.starts_with("The file cannot be read: "), "{name}: {detail}");
        }
        let archive = assert_problem(upload(&app, "a.zip", archive_of("a.txt")).await, 415, "file-type").await;
        assert!(archive.contains("not accepted"), "{archive}");
        assert_eq!(rows!(app, (i64, i64), "SELECT (SELECT COUNT(*) FROM files), (SELECT COUNT(*) FROM blobs)"), [(0, 0)]);

        let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";
        let file = uploaded(&app, "../../a\n\u{202e}gnp.svg", svg).await;
        assert_eq!(file["kind"], "text");
        let shown = app.get(&format!("/api/files/{}/content", file["id"].as_str().unwrap())).await;
        assert_eq!(shown.headers()["content-type"], "application/octet-stream");
        let name = file["name"].as_str().unwrap();
        assert!(!name.contains(['/', '\n', '\u{202e}']), "{name}");
        let conversation = app.create_conversation().await;
        model.reply([text("Still here.")]);
        ask(&app, &conversation, json!([words("Are you there?"), part_of("file", &file)])).await;
        assert_eq!(app.conversation(&conversation).await["messages"][1]["content"], "Still here.");
    }

    async fn a_server_killed_in_mid_upload_leaves_nothing(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let temporary = tempfile::tempdir().unwrap();
        let mut command = Program::command(&engine, &model);
        command.env("TMPDIR", temporary.path());
        let app = TestApp::launch_command(&engine, &mut command);
        let mut connection = RawConnection::open(&app).await;
        let head = "POST /api/files?name=a.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\
                    Expect: 100-continue\r\n\r\n";
        connection.send(head).await;
        // The server asks for the body when it begins to receive the file.
        connection.until("100 Continue\r\n\r\n").await;
        connection.send(&"a".repeat(1_000_000)).await;
        app.kill();
        assert_eq!(entries(temporary.path()), 0);

        let app = TestApp::launch_command(&engine, &mut command);
        assert_eq!(rows!(app, (i64, i64), "SELECT (SELECT COUNT(*) FROM files), (SELECT COUNT(*) FROM blobs)"), [(0, 0)]);
        uploaded(&app, "a.txt", "a".repeat(2_000_000)).await;
        assert_eq!(entries(temporary.path()), 0);
    }

    /// The content disappears between two model calls of a turn.
    async fn a_file_deleted_while_a_turn_reads_it_does_not_fail_the_turn(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let image = uploaded(&app, "picture.png", PNG).await;
        let notes = uploaded(&app, "notes.txt", "The code is 4711.").await;
        let gate = model.reply_late([tool_call("read_file", r#"{"file":"notes.txt","page":1}"#)]);
        model.reply([text("It is gone.")]);
        let parts = json!([words("Which code?"), part_of("image", &image), part_of("file", &notes)]);
        let response = app.post(&format!("/api/conversations/{conversation}/messages"), json!({"parts": parts})).await;
        let events = EventReader::new(response);
        model.requests_reached(1).await;
        execute!(app, "DELETE FROM blob_chunks");
        execute!(app, "DELETE FROM file_texts");
        gate.open();
        events.all().await;
        let shown = app.conversation(&conversation).await;
        let answer = &shown["messages"][1];
        assert_eq!((&answer["status"], &answer["content"]), (&json!("complete"), &json!("It is gone.")), "{shown}");
        let call = &answer["tool_calls"][0];
        assert_eq!(call["status"], "error", "{call}");
        // The next turn names the image instead.
        model.reply([text("Yes.")]);
        ask(&app, &conversation, json!([words("Really?")])).await;
        let next = model.requests().pop().unwrap();
        assert!(images_in(&next.body).is_empty() && next.body_text.contains("picture.png"), "{}", next.body_text);
        assert_eq!(app.conversation(&conversation).await["messages"][3]["status"], "complete");
    }

    async fn a_store_that_is_down_for_a_minute_fails_uploads_and_no_turn(engine: Engine) {
        let (model, bucket) = (MockLlm::start().await.unwrap(), Bucket::start());
        let app = TestApp::launch_command(&engine, Program::command(&engine, &model).envs(bucket.variables()));
        // Several parts of a multipart upload, and a single request.
        let long = "text ".repeat(2_500_000);
        let (document, image) = (uploaded(&app, "long.txt", long.clone()).await, uploaded(&app, "picture.png", PNG).await);
        let content = |file: &Value| format!("/api/files/{}/content", file["id"].as_str().unwrap());
        assert_eq!(app.get(&content(&document)).await.text().await.unwrap(), long);
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM blob_chunks"), [(0,)]);
        assert!(bucket.keys().iter().all(|key| key.starts_with("tallybook/")), "{:?}", bucket.keys());
        let conversation = app.create_conversation().await;
        model.reply([text("A picture.")]);
        ask(&app, &conversation, json!([words("What is it?"), part_of("image", &image)])).await;
        assert_eq!(images_in(&model.requests()[0].body).len(), 1);

        bucket.set_down(true);
        let detail = assert_problem(upload(&app, "b.txt", "More.").await, 503, "storage-unavailable").await;
        assert!(detail.contains("Try again"), "{detail}");
        assert_problem(app.get(&content(&document)).await, 503, "storage-unavailable").await;
        assert_eq!(app.get("/readyz").await.status(), 200);
        model.reply([text("I cannot see it now.")]);
        ask(&app, &conversation, json!([words("And now?")])).await;
        let request = model.requests().pop().unwrap();
        assert!(images_in(&request.body).is_empty() && request.body_text.contains("picture.png"));
        assert_eq!(app.conversation(&conversation).await["messages"][3]["status"], "complete");

        bucket.set_down(false);
        uploaded(&app, "b.txt", "More.").await;
        assert_eq!(app.get(&content(&document)).await.text().await.unwrap(), long);
        model.reply([text("A picture again.")]);
        ask(&app, &conversation, json!([words("And now?")])).await;
        assert_eq!(images_in(&model.requests().pop().unwrap().body).len(), 1);
    }
}

/// Runs the program with a limit on the size of files, which has the effect of a full disk.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_to_a_full_disk_is_refused_and_leaves_nothing() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let temporary = tempfile::tempdir().unwrap();
    // Without this trap, the kernel would kill the program for the attempt to write.
    let mut command = Program::command_after("trap '' XFSZ", &engine, &model);
    let app = TestApp::launch_command(&engine, command.env("TMPDIR", temporary.path()));
    app.process().limit_files("0");
    assert_problem(upload(&app, "a.txt", "a".repeat(1_000_000)).await, 507, "storage-full").await;
    app.process().limit_files("unlimited");
    assert_eq!(entries(temporary.path()), 0);
    assert_eq!(rows!(app, (i64, i64), "SELECT (SELECT COUNT(*) FROM files), (SELECT COUNT(*) FROM blobs)"), [(0, 0)]);
    uploaded(&app, "a.txt", "a".repeat(1_000_000)).await;
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_uploads_of_twenty_mebibytes_at_once_take_bounded_memory() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let app = TestApp::launch(&engine, &model);
    uploaded(&app, "first.txt", "The first file.").await;
    let before = app.process().memory_kib("VmRSS");
    let upload_one = async |number: u8| {
        // Streamed, so that this process does not hold all files either.
        let parts = (0..20).map(move |_| Ok::<_, std::io::Error>(vec![b'a' + number; MEBIBYTE]));
        let body = Body::wrap_stream(futures_util::stream::iter(parts));
        uploaded(&app, &format!("{number}.txt"), body).await
    };
    let files = join_all((0..10).map(upload_one)).await;
    assert!(files.iter().all(|file| file["bytes"] == 20 * MEBIBYTE), "{files:?}");
    let most = app.process().memory_kib("VmHWM");
    assert!(most < before + UPLOADS_KIB, "{before} KiB at rest, {most} KiB at most");
}
