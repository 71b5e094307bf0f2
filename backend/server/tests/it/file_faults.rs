//! Faults around files: hostile content, a full disk, a crash in the middle of an upload, content that disappears, and
//! a store that cannot be reached.

use std::{path::Path, process::Command};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use reqwest::Response;
use serde_json::{Value, json};
use tallybook_documents::READABLE_FORMATS;
use tallybook_mock_files::{
    gif_with_frames, huge_png, inflating_docx, inflating_pdf, inflating_xlsx, jpeg_with_html, nested_pdf, pdf,
    pdf_with_pages, xlsx, zip,
};
use tallybook_mock_llm::{MockLlm, text, tool_call};

use crate::{
    files::{PNG, ask, assert_problem, images_in, upload, uploaded},
    support::{
        Bucket, BucketState, Engine, EventReader, Program, RawConnection, TestApp, eventually, execute,
        on_every_engine, rows,
    },
};

const ENCRYPTED_PDF: &[u8] = include_bytes!("../../../documents/tests/fixtures/password.pdf");
/// PDFs with one text, each with another character map.
const JAPANESE_PDFS: [(&str, &[u8]); 3] = [
    ("UniJIS-UCS2-H", include_bytes!("../../../documents/tests/fixtures/unijis-ucs2-h.pdf")),
    ("90ms-RKSJ-H", include_bytes!("../../../documents/tests/fixtures/90ms-rksj-h.pdf")),
    ("UniJIS-UTF16-H", include_bytes!("../../../documents/tests/fixtures/unijis-utf16-h.pdf")),
];
const PHOTO: &[u8] = include_bytes!("../../../documents/tests/fixtures/picture.jpg");
const SIDEWAYS_PHOTO: &[u8] = include_bytes!("../../../documents/tests/fixtures/rotated.jpg");

fn part_of(kind: &str, file: &Value) -> Value {
    json!({"type": kind, "file_id": file["id"]})
}

fn words(content: &str) -> Value {
    json!({"type": "text", "text": content})
}

async fn content_of(app: &TestApp, file: &Value, variant: &str) -> Response {
    let path = format!("/api/files/{}/content?variant={variant}", file["id"].as_str().unwrap());
    let response = app.get(&path).await;
    assert_eq!(response.status(), 200, "{path}");
    response
}

async fn decoded(app: &TestApp, file: &Value, variant: &str) -> image::RgbaImage {
    let bytes = content_of(app, file, variant).await.bytes().await.unwrap();
    image::load_from_memory(&bytes).unwrap().into_rgba8()
}

pub(crate) async fn page_of(app: &TestApp, file: &Value, page: i32) -> Value {
    app.get_json(&format!("/api/files/{}/text?page={page}", file["id"].as_str().unwrap())).await
}

/// Counts the files in a folder.
fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

/// Uploads a file that is refused. Returns the status and the problem.
async fn refusal(app: &TestApp, name: &str, content: Vec<u8>) -> (u16, Value) {
    let response = upload(app, name, content).await;
    (response.status().as_u16(), response.json().await.unwrap())
}

/// Returns what the server holds after a refused file: temporary files, which have no name and are only open, and child
/// processes, also those that have ended but were not waited for.
#[cfg(target_os = "linux")]
fn leftovers(app: &TestApp, temporary: &Path) -> Vec<String> {
    let id = app.process().id().to_string();
    let entries = |folder: &str| std::fs::read_dir(folder).unwrap().filter_map(Result::ok).map(|entry| entry.path());
    // A file may be closed and a process may end at this moment.
    let open = entries(&format!("/proc/{id}/fd")).filter_map(|link| std::fs::read_link(link).ok());
    let files = open.filter(|path| path.starts_with(temporary)).map(|path| path.display().to_string());
    let processes = entries("/proc").filter_map(|process| std::fs::read_to_string(process.join("stat")).ok());
    // The name is in parentheses. The state and the parent follow.
    let parent_of = |stat: &str| stat.rsplit_once(") ").and_then(|(_, rest)| Some(rest.split(' ').nth(1)?.to_owned()));
    files.chain(processes.filter(|stat| parent_of(stat).as_deref() == Some(&id))).collect()
}

on_every_engine! {
    async fn hostile_files_are_refused_and_leave_the_server_untouched(engine: Engine) {
        let (model, temporary) = (MockLlm::start().await.unwrap(), tempfile::tempdir().unwrap());
        let mut command = Program::command(&engine, &model);
        let app = TestApp::launch_command(&engine, command.env("TMPDIR", temporary.path()));
        let empty = pdf(&[b"<</Type/Catalog/Pages 2 0 R>>".to_vec(), b"<</Type/Pages/Kids[]/Count 0>>".to_vec()]);
        let refused = [
            ("bomb.docx", inflating_docx(200), "the file is too large: unpacked, its text takes more than 128 MiB"),
            ("bomb.xlsx", inflating_xlsx(600), "the file is too complex: reading it takes more than 512 MiB of memory"),
            ("bomb.pdf", inflating_pdf(1024), "the file is too complex: reading it takes more than 512 MiB of memory"),
            ("huge.png", huge_png(), "the image has too many pixels: 30000 × 30000; at most 50 million can be read"),
            ("nested.pdf", nested_pdf(), "the PDF has no pages"),
            ("empty.pdf", empty, "the PDF has no pages"),
            ("secret.pdf", ENCRYPTED_PDF.to_vec(), "the PDF is protected by a password"),
            ("half.png", PNG[..PNG.len() / 2].to_vec(), "the image is cut off: its end is missing"),
        ];
        for (name, content, reason) in refused {
            let (status, problem) = refusal(&app, name, content).await;
            let expected = format!("The file cannot be read: {reason}.");
            assert_eq!((status, &problem["detail"]), (422, &json!(expected)), "{name}: {problem}");
            assert_eq!(problem["type"], "/problems/file-unreadable", "{name}");
            assert_eq!(entries(temporary.path()), 0, "{name}");
            #[cfg(target_os = "linux")]
            assert_eq!(leftovers(&app, temporary.path()), [""; 0], "{name}");
        }
        let archive = assert_problem(upload(&app, "a.zip", zip(&[("a.txt", b"Text.")])).await, 415, "file-type").await;
        assert!(archive.contains("a ZIP archive") && archive.contains(READABLE_FORMATS), "{archive}");
        assert_eq!(rows!(app, (i64, i64), "SELECT (SELECT COUNT(*) FROM files), (SELECT COUNT(*) FROM blobs)"), [(0, 0)]);

        let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";
        let file = uploaded(&app, "../../a\n\u{202e}gnp.svg", svg).await;
        assert_eq!(file["kind"], "text");
        let shown = content_of(&app, &file, "original").await;
        assert_eq!(shown.headers()["content-type"], "application/octet-stream");
        let name = file["name"].as_str().unwrap();
        assert!(!name.contains(['/', '\n', '\u{202e}']), "{name}");
        let conversation = app.create_conversation().await;
        model.reply([text("Still here.")]);
        ask(&app, &conversation, json!([words("Are you there?"), part_of("file", &file)])).await;
        assert_eq!(app.conversation(&conversation).await["messages"][1]["content"], "Still here.");
        assert_eq!(entries(temporary.path()), 0);
        #[cfg(target_os = "linux")]
        assert_eq!(leftovers(&app, temporary.path()), [""; 0]);
    }

    async fn unusual_files_are_read_without_what_could_do_harm(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let polyglot = jpeg_with_html(PHOTO, b"<html><script>alert(1)</script></html>");
        let image = uploaded(&app, "page.html", polyglot).await;
        assert_eq!((&image["kind"], &image["media_type"]), (&json!("image"), &json!("image/jpeg")), "JPEG with HTML");
        for variant in ["model", "thumb"] {
            let bytes = content_of(&app, &image, variant).await.bytes().await.unwrap();
            assert!(!bytes.windows(8).any(|window| window == b"<script>"), "JPEG with HTML: {variant}");
        }
        let served = content_of(&app, &image, "original").await.headers()["content-type"].clone();
        assert_eq!(served, "image/jpeg", "JPEG with HTML");

        let animation = uploaded(&app, "animation.gif", gif_with_frames(1000)).await;
        assert_eq!((&animation["width"], &animation["height"]), (&json!(64), &json!(64)), "GIF with 1,000 frames: {animation}");
        let first = decoded(&app, &animation, "model").await;
        assert_eq!((first.dimensions(), first.get_pixel(32, 32).0), ((64, 64), [255, 0, 0, 255]), "GIF with 1,000 frames");

        for (cmap, content) in JAPANESE_PDFS {
            let japanese = uploaded(&app, "日本語.pdf", content).await;
            let expected = "before\n\n吾輩は猫である。名前はまだ無い。\n日本語とEnglish wordsの混在\n東京都 2026年";
            assert_eq!(page_of(&app, &japanese, 1).await["text"], expected, "Japanese PDF with the CMap {cmap}");
        }

        let rows: Vec<String> = (2..1_000_000).map(|row| format!("<row r=\"{row}\"/>")).collect();
        let first = "<row r=\"1\"><c r=\"A1\"><f>1+1</f><v>2</v></c></row>";
        let last = "<row r=\"1000000\"><c r=\"C1000000\"><v>3</v></c></row>";
        let sheet = uploaded(&app, "sheet.xlsx", xlsx(&format!("{first}{}{last}", rows.concat()))).await;
        assert_eq!(page_of(&app, &sheet, 1).await["text"], "# Sheet1\n\n2\n\n\t\t3", "XLSX with a million rows");

        let long = uploaded(&app, "long.pdf", pdf_with_pages(10_001)).await;
        assert_eq!((&long["pages"], &long["truncated"]), (&json!(10_000), &json!(true)), "PDF with 10,001 pages: {long}");
        let last = json!({"pages": 10_000, "page": 10_000, "text": "page"});
        assert_eq!(page_of(&app, &long, 10_000).await, last, "PDF with 10,001 pages");
    }

    /// A camera stores a photo sideways, with an orientation.
    async fn models_receive_photos_upright(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let photo = uploaded(&app, "photo.jpg", SIDEWAYS_PHOTO).await;
        assert_eq!((&photo["width"], &photo["height"]), (&json!(20), &json!(40)));
        for variant in ["model", "thumb"] {
            let upright = decoded(&app, &photo, variant).await;
            let is_red = |x, y| {
                let [red, green, ..] = upright.get_pixel(x, y).0;
                red > 200 && green < 80
            };
            assert_eq!(upright.dimensions(), (20, 40), "{variant}");
            assert!(is_red(15, 5) && !is_red(5, 5) && !is_red(15, 30), "{variant}");
        }
        let conversation = app.create_conversation().await;
        model.reply([text("A photo.")]);
        ask(&app, &conversation, json!([part_of("image", &photo)])).await;
        let sent = images_in(&model.requests()[0].body)[0]["source"]["data"].as_str().unwrap().to_owned();
        let variant = content_of(&app, &photo, "model").await.bytes().await.unwrap();
        assert_eq!(BASE64_STANDARD.decode(sent).unwrap(), variant);
    }

    /// The process that reads files is killed by something else, such as the system that runs out of memory.
    async fn a_killed_child_refuses_its_file_and_the_server_continues(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("kill"), "").unwrap();
        let script = format!(
            "#!/bin/sh\nif [ -e '{}' ]; then kill -9 $$; fi\nexec '{}' \"$@\"\n",
            path("kill").display(),
            env!("CARGO_BIN_EXE_tallybook")
        );
        std::fs::write(path("script"), script).unwrap();
        // Copied by another process: a program that is open for writing, also in a child of this one, cannot be
        // started.
        let copied = Command::new("install").arg(path("script")).arg(path("program")).status().unwrap();
        assert!(copied.success());
        let program = path("program");
        let set = |settings: &mut tallybook::config::Settings| settings.files.program = program;
        let app = TestApp::builder(&engine).with_mock(&model).with_settings(set).spawn().await;
        let detail = assert_problem(upload(&app, "a.txt", "Text.").await, 422, "file-unreadable").await;
        let reason = "The file cannot be read: the file could not be read: the process that read it was killed.";
        assert_eq!(detail, reason);
        assert_eq!(rows!(app, (i64, i64), "SELECT (SELECT COUNT(*) FROM files), (SELECT COUNT(*) FROM blobs)"), [(0, 0)]);
        std::fs::remove_file(path("kill")).unwrap();
        uploaded(&app, "a.txt", "Text.").await;
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

    /// The content in the database is incomplete.
    async fn a_server_killed_between_two_parts_of_a_file_leaves_no_file(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::launch(&engine, &model);
        let content = |number: usize| format!("{number}") + &"0123456789".repeat(1_500_000);
        let begin = |number: usize| {
            let url = app.url(&format!("/api/files?name={number}.txt"));
            tokio::spawn(app.client.post(url).body(content(number)).send())
        };
        let mut uploads = vec![begin(0)];
        let parts = async || {
            let found = "SELECT COUNT(*) FROM blob_chunks c JOIN blobs b ON b.sha256 = c.sha256 WHERE b.stored_at IS NULL";
            rows!(app, (i64,), found).remove(0).0
        };
        eventually("some parts are stored", async || {
            app.process().signal("STOP");
            let is_between = (1..29).contains(&parts().await);
            if !is_between {
                app.process().signal("CONT");
                // All parts may be stored before the server can be stopped. Then another file is uploaded.
                if uploads.last().unwrap().is_finished() {
                    let next = begin(uploads.len());
                    uploads.push(next);
                }
            }
            is_between
        })
        .await;
        app.kill();
        assert!(uploads.pop().unwrap().await.unwrap().is_err());

        let complete = i64::try_from(uploads.len()).unwrap();
        let app = TestApp::launch(&engine, &model);
        let found = "SELECT COUNT(*), COUNT(stored_at), (SELECT COUNT(*) FROM files) FROM blobs";
        assert_eq!(rows!(app, (i64, i64, i64), found), [(complete + 1, complete, complete)]);
        let content = content(uploads.len());
        let file = uploaded(&app, "a.txt", content.clone()).await;
        assert!(content_of(&app, &file, "original").await.text().await.unwrap() == content, "the content is whole");
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

        bucket.set_state(BucketState::Down);
        let detail = assert_problem(upload(&app, "b.txt", "More.").await, 503, "storage-unavailable").await;
        assert!(detail.contains("Try again"), "{detail}");
        assert_problem(app.get(&content(&document)).await, 503, "storage-unavailable").await;
        assert_eq!(app.get("/readyz").await.status(), 200);
        model.reply([text("I cannot see it now.")]);
        ask(&app, &conversation, json!([words("And now?")])).await;
        let request = model.requests().pop().unwrap();
        assert!(images_in(&request.body).is_empty() && request.body_text.contains("picture.png"));
        assert_eq!(app.conversation(&conversation).await["messages"][3]["status"], "complete");

        bucket.set_state(BucketState::Up);
        uploaded(&app, "b.txt", "More.").await;
        assert_eq!(app.get(&content(&document)).await.text().await.unwrap(), long);
        model.reply([text("A picture again.")]);
        ask(&app, &conversation, json!([words("And now?")])).await;
        assert_eq!(images_in(&model.requests().pop().unwrap().body).len(), 1);
    }
}

#[cfg(target_os = "linux")]
on_every_engine! {
    /// Runs the program with a limit on the size of files, which has the effect of a full disk.
    async fn an_upload_to_a_full_disk_is_refused_and_leaves_nothing(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
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
}

/// The disk is full when the content is stored, after the temporary file was written.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_does_not_fit_into_the_database_is_refused_and_leaves_nothing() {
    let model = MockLlm::start().await.unwrap();
    let engine = Engine::sqlite();
    let app = TestApp::launch_command(&engine, &mut Program::command_after("trap '' XFSZ", &engine, &model));
    // The database's journal is larger than the limit from here on, so every write to the database fails.
    uploaded(&app, "first.txt", "a".repeat(3_000_000)).await;
    app.process().limit_files("2000000");
    assert_problem(upload(&app, "b.txt", "b".repeat(1_000_000)).await, 507, "storage-full").await;
    app.process().limit_files("unlimited");
    assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM files"), [(1,)]);
    uploaded(&app, "b.txt", "b".repeat(1_000_000)).await;

    // A trigger fails as a full table does, because a test cannot fill the disk of the database server.
    for engine in Engine::every_mysql_with_tables().await {
        let app = TestApp::spawn(&engine, &model).await;
        let fail = "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'The table is full'";
        for (table, condition) in [("blob_chunks", "NEW.position > 0"), ("files", "TRUE")] {
            engine
                .run(format!(
                    "CREATE TRIGGER full_table BEFORE INSERT ON {table} FOR EACH ROW IF {condition} THEN {fail}; END IF"
                ))
                .await;
            assert_problem(upload(&app, "b.txt", "b".repeat(1_000_000)).await, 507, "storage-full").await;
            assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM files"), [(0,)]);
            engine.run("DROP TRIGGER full_table".to_owned()).await;
        }
        let file = uploaded(&app, "b.txt", "b".repeat(1_000_000)).await;
        let content = content_of(&app, &file, "original").await.text().await.unwrap();
        assert!(content == "b".repeat(1_000_000), "the content is whole");
    }
}
