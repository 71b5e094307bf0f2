//! Files: upload, storage, and download. `prompt_files` tests what models receive of them, `file_stores` their storage
//! outside the database.

use std::io::{Cursor, Read as _};

use chrono::{TimeDelta, Utc};
use reqwest::{Method, Response, StatusCode, header};
use serde_json::{Value, json};
use tallybook_conversations::models::{ModelChoice, ModelEntry, Origin};
use tallybook_files::{Files, FilesSettings};
use tallybook_llm::ModelSettings;
use tallybook_mock_llm::{MockLlm, text};
use url::form_urlencoded;
use zip::ZipArchive;

use crate::{
    accounts::kit::{ADMIN, Team},
    support::{Engine, EventReader, RawConnection, TestApp, eventually, execute, on_every_engine, rows},
};

pub(crate) const PNG: &[u8] = include_bytes!("../../../documents/tests/fixtures/picture.png");
const WORD: &[u8] = include_bytes!("../../../documents/tests/fixtures/word.docx");

pub(crate) async fn upload(app: &TestApp, name: &str, content: impl Into<reqwest::Body>) -> Response {
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("name", name).finish();
    let request = app.client.post(app.url(&format!("/api/files?{query}"))).body(content);
    request.send().await.unwrap()
}

/// Uploads a file and returns it.
pub(crate) async fn uploaded(app: &TestApp, name: &str, content: impl Into<reqwest::Body>) -> Value {
    let response = upload(app, name, content).await;
    let (status, file) = (response.status(), response.json::<Value>().await.unwrap());
    assert_eq!(status, StatusCode::CREATED, "{file}");
    file
}

pub(crate) async fn delete(app: &TestApp, id: &Value) -> Response {
    app.client.delete(app.url(&format!("/api/files/{}", id.as_str().unwrap()))).send().await.unwrap()
}

pub(crate) async fn post(app: &TestApp, conversation: &str, body: Value) -> Response {
    app.post(&format!("/api/conversations/{conversation}/messages"), body).await
}

/// Sends a message and waits for the end of its answer.
pub(crate) async fn ask(app: &TestApp, conversation: &str, parts: Value) {
    let response = post(app, conversation, json!({"parts": parts})).await;
    assert_eq!(response.status(), StatusCode::OK);
    EventReader::new(response).all().await;
}

pub(crate) async fn assert_problem(response: Response, status: u16, kind: &str) -> String {
    let found = response.status().as_u16();
    let problem: Value = response.json().await.unwrap();
    assert_eq!((found, &problem["type"]), (status, &json!(format!("/problems/{kind}"))), "{problem}");
    problem["detail"].as_str().unwrap().to_owned()
}

/// Returns an image that no format compresses well.
pub(crate) fn noise(width: u32, height: u32) -> image::RgbImage {
    let mut state = 1_u32;
    image::RgbImage::from_fn(width, height, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [red, green, blue, _] = state.to_be_bytes();
        image::Rgb([red, green, blue])
    })
}

/// Uploads a file, and checks the answers to requests for ranges of it.
pub(crate) async fn assert_ranges_can_be_downloaded(app: &TestApp) {
    // Three chunks in the database, and two parts of an object.
    let content: Vec<u8> = (0..1_200_000_u32).map(|at| b'a' + u8::try_from(at % 26).unwrap()).collect();
    let file = uploaded(app, "one.txt", content.clone()).await;
    let url = app.url(&format!("/api/files/{}/content", file["id"].as_str().unwrap()));
    let part = async |range: &str| app.client.get(&url).header(header::RANGE, range).send().await.unwrap();
    for (range, first, last) in [
        ("bytes=0-0", 0, 0),
        ("bytes=524280-1048600", 524_280, 1_048_600),
        ("bytes=100-1048675", 100, 1_048_675),
        ("bytes=100-1048676", 100, 1_048_676),
        ("bytes=1199999-", 1_199_999, 1_199_999),
        ("bytes=-10", 1_199_990, 1_199_999),
        ("bytes=0-", 0, 1_199_999),
    ] {
        let part = part(range).await;
        assert_eq!(part.status(), StatusCode::PARTIAL_CONTENT, "{range}");
        assert_eq!(part.headers()[header::CONTENT_RANGE], format!("bytes {first}-{last}/1200000"));
        assert!(part.bytes().await.unwrap() == content[first..=last], "{range}");
    }
    let beyond = part("bytes=1200000-").await;
    assert_eq!(beyond.headers()[header::CONTENT_RANGE], "bytes */1200000");
    assert_problem(beyond, 416, "no-such-range").await;
    let tag = format!("\"{}\"", file["sha256"].as_str().unwrap());
    let known = app.client.get(&url).header(header::IF_NONE_MATCH, tag).send().await.unwrap();
    assert_eq!(known.status(), StatusCode::NOT_MODIFIED);
}

/// Returns the data of the first of these images, in either wire format.
pub(crate) fn base64_in(images: &[Value]) -> String {
    let url = |image: &Value| Some(image["image_url"]["url"].as_str()?.split_once("base64,")?.1.to_owned());
    images.first().and_then(|image| image["source"]["data"].as_str().map(str::to_owned).or_else(|| url(image))).unwrap()
}

pub(crate) fn entry(name: &str, settings: ModelSettings, vision: bool) -> ModelEntry {
    let choice = ModelChoice::Provider(settings);
    ModelEntry { name: name.to_owned(), choice, prices: None, vision, origin: Origin::Environment }
}

/// Returns the image parts of a request in either wire format, without the marks of caches.
pub(crate) fn images_in(body: &Value) -> Vec<Value> {
    let messages = body["messages"].as_array().unwrap();
    let parts = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    let images = parts.filter(|part| part["type"] == "image" || part["type"] == "image_url").cloned();
    let without_mark = |mut image: Value| {
        image.as_object_mut().unwrap().remove("cache_control");
        image
    };
    images.map(without_mark).collect()
}

on_every_engine! {
    async fn two_uploads_of_the_same_bytes_at_once_store_them_once(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        // Three chunks in the database.
        let content = "0123456789".repeat(120_000);
        let (one, two) = tokio::join!(uploaded(&app, "one.txt", content.clone()), uploaded(&app, "two.txt", content.clone()));
        assert_eq!((&one["name"], &two["name"], &one["sha256"]), (&json!("one.txt"), &json!("two.txt"), &two["sha256"]));
        assert_ne!(one["id"], two["id"]);
        assert_eq!(rows!(app, (i64, i64), "SELECT (SELECT COUNT(*) FROM blobs), (SELECT COUNT(*) FROM blob_chunks)"), [(1, 3)]);
        for file in [&one, &two] {
            let stored = app.get(&format!("/api/files/{}/content", file["id"].as_str().unwrap())).await;
            assert!(stored.text().await.unwrap() == content, "the content is whole");
        }
    }

    async fn a_file_is_returned_unchanged(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        // Three chunks in the database.
        let content: Vec<u8> = (0..1_200_000_u32).map(|at| b'a' + u8::try_from(at % 26).unwrap()).collect();
        let file = uploaded(&app, "one.txt", content.clone()).await;
        assert_eq!((&file["kind"], &file["bytes"], &file["status"]), (&json!("text"), &json!(1_200_000), &json!("ready")));
        let path = format!("/api/files/{}", file["id"].as_str().unwrap());
        assert_eq!(app.get_json(&path).await, file);
        let response = app.get(&format!("{path}/content")).await;
        let headers = response.headers().clone();
        assert_eq!(response.bytes().await.unwrap(), content);
        assert_eq!(headers[header::CONTENT_LENGTH], "1200000");
        assert_eq!(headers[header::CONTENT_TYPE], "application/octet-stream");
        assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(headers[header::CONTENT_SECURITY_POLICY], "sandbox; default-src 'none'");
        let caching = headers[header::CACHE_CONTROL].to_str().unwrap();
        assert!(caching.contains("private") && caching.contains("immutable"), "{caching}");
        let disposition = headers[header::CONTENT_DISPOSITION].to_str().unwrap();
        assert!(disposition.starts_with("attachment; filename=\"one.txt\""), "{disposition}");
        let page = |number: usize| json!({"pages": 300, "page": number, "text": String::from_utf8_lossy(&content[(number - 1) * 4000..number * 4000])});
        for number in [1, 300] {
            assert_eq!(app.get_json(&format!("{path}/text?page={number}")).await, page(number));
        }
        assert_problem(app.get(&format!("{path}/text?page=9999")).await, 404, "no-such-page").await;
    }

    async fn a_range_of_the_content_can_be_downloaded(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        assert_ranges_can_be_downloaded(&TestApp::spawn(&engine, &model).await).await;
    }

    /// RFC 6266, with the encoding of RFC 8187.
    async fn any_name_is_named_safely_in_downloads(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let long = format!("{}.txt", "猫".repeat(300));
        for (name, ascii, encoded) in [
            ("a \"quoted\"; b.txt", "a _quoted__ b.txt", "a%20%22quoted%22%3B%20b.txt"),
            ("日本語.txt", "___.txt", "%E6%97%A5%E6%9C%AC%E8%AA%9E.txt"),
            ("100% *'\\(x).txt", "_x_.txt", "%28x%29.txt"),
            (long.as_str(), "", ""),
        ] {
            let file = uploaded(&app, name, format!("The content of {name}.")).await;
            let response = app.get(&format!("/api/files/{}/content", file["id"].as_str().unwrap())).await;
            let value = response.headers()[header::CONTENT_DISPOSITION].to_str().unwrap();
            if ascii.is_empty() {
                let cut = file["name"].as_str().unwrap();
                assert_eq!((cut.chars().count(), cut.ends_with("猫….txt")), (200, true), "{cut}");
                assert!(value.ends_with("%E7%8C%AB%E2%80%A6.txt") && value.is_ascii(), "{value}");
            } else {
                assert_eq!(value, format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{encoded}"));
            }
        }
    }

    /// Each upload is counted once, whenever it fails.
    async fn each_upload_is_counted_once(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let limits = |settings: &mut tallybook::config::Settings| {
            (settings.files.max_file_bytes, settings.files.max_user_bytes) = (1000, 1500);
        };
        let app = TestApp::builder(&engine).with_mock(&model).with_settings(limits).spawn().await;
        let counts = async || {
            let metrics = app.get("/metrics").await.text().await.unwrap();
            ["uploads", "uploads_failed", "uploaded_bytes"].map(|name| {
                let start = format!("tallybook_file_{name}_total ");
                metrics.lines().find_map(|line| line.strip_prefix(&start)?.parse::<u64>().ok()).expect("a count")
            })
        };
        // Without a length, the server notices only while it receives the file, or when it stores the file.
        let unsized_body = |content: String| {
            reqwest::Body::wrap_stream(futures_util::stream::iter([Ok::<_, std::io::Error>(content)]))
        };
        assert_eq!(counts().await, [0, 0, 0]);
        uploaded(&app, "a.txt", "a".repeat(1000)).await;
        assert_eq!(counts().await, [1, 0, 1000]);
        assert_problem(upload(&app, "b.txt", "b".repeat(1001)).await, 413, "file-too-large").await;
        assert_eq!(counts().await, [1, 1, 1000], "too large by its length");
        assert_problem(upload(&app, "b.txt", unsized_body("b".repeat(1001))).await, 413, "file-too-large").await;
        assert_eq!(counts().await, [1, 2, 1000], "too large while it is received");
        assert_problem(upload(&app, "b.txt", "b".repeat(501)).await, 413, "storage-full").await;
        assert_eq!(counts().await, [1, 3, 1000], "beyond the quota by its length");
        assert_problem(upload(&app, "b.txt", unsized_body("b".repeat(501))).await, 413, "storage-full").await;
        assert_eq!(counts().await, [1, 4, 1000], "beyond the quota when it is stored");
        assert_problem(upload(&app, "b.exe", vec![0_u8, 1, 2, 3, 255, 254]).await, 415, "file-type").await;
        assert_eq!(counts().await, [1, 5, 1000], "of another kind");
        let mut connection = RawConnection::open(&app).await;
        let head = "POST /api/files?name=a.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: 400\r\nExpect: 100-continue\r\n\r\n";
        connection.send(head).await;
        connection.until("100 Continue\r\n\r\n").await;
        connection.send(&"a".repeat(100)).await;
        drop(connection);
        eventually("the upload that was cut off is counted", async || counts().await == [1, 6, 1000]).await;
        uploaded(&app, "c.txt", "c".repeat(500)).await;
        assert_eq!(counts().await, [2, 6, 1500]);
    }

    /// A PNG that says it is a PDF.
    async fn the_content_decides_the_kind_and_the_name_is_only_text(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let image = uploaded(&app, "../report\n\u{202e}.pdf", PNG).await;
        assert_eq!((&image["kind"], &image["media_type"], &image["name"]), (&json!("image"), &json!("image/png"), &json!("report.pdf")));
        assert!(image["width"].as_i64().unwrap() > 0 && image["pages"].is_null(), "{image}");
        for variant in ["original", "model", "thumb"] {
            let path = format!("/api/files/{}/content?variant={variant}", image["id"].as_str().unwrap());
            let response = app.get(&path).await;
            assert_eq!(response.status(), StatusCode::OK, "{variant}");
            assert!(response.headers()[header::CONTENT_TYPE].to_str().unwrap().starts_with("image/"));
        }
        let long = uploaded(&app, &"x".repeat(300), "text").await;
        assert_eq!(long["name"].as_str().unwrap().chars().count(), 200);
        let page = uploaded(&app, "page.html", "<html><body><script>alert(1)</script><p>Hello</p></body></html>").await;
        let served = app.get(&format!("/api/files/{}/content", page["id"].as_str().unwrap())).await;
        assert_eq!(served.headers()[header::CONTENT_TYPE], "application/octet-stream");
        let word = uploaded(&app, "word.docx", WORD).await;
        assert_eq!(word["kind"], "document", "{word}");
        let detail = assert_problem(upload(&app, "a.exe", vec![0_u8, 1, 2, 3, 255, 254]).await, 415, "file-type").await;
        for accepted in ["PNG", "JPEG", "WebP", "GIF", "PDF", ".docx", ".xlsx", ".pptx", "OpenDocument", "HTML", "CSV", "Markdown", "plain text"] {
            assert!(detail.contains(accepted), "{accepted}: {detail}");
        }
        assert_problem(upload(&app, "cut.png", &PNG[..PNG.len() / 2]).await, 422, "file-unreadable").await;
    }

    async fn limits_on_files_are_kept(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let limits = |settings: &mut tallybook::config::Settings| {
            (settings.files.max_file_bytes, settings.files.max_user_bytes) = (1000, 1500);
        };
        let app = TestApp::builder(&engine).with_mock(&model).with_settings(limits).spawn().await;
        assert_problem(upload(&app, "a.txt", "a".repeat(1001)).await, 413, "file-too-large").await;
        let unsized_body = reqwest::Body::wrap_stream(futures_util::stream::iter([Ok::<_, std::io::Error>("a".repeat(1001))]));
        assert_problem(upload(&app, "a.txt", unsized_body).await, 413, "file-too-large").await;
        let first = uploaded(&app, "a.txt", "a".repeat(1000)).await;
        assert_problem(upload(&app, "b.txt", "b".repeat(501)).await, 413, "storage-full").await;
        assert_eq!(delete(&app, &first["id"]).await.status(), StatusCode::NO_CONTENT);
        uploaded(&app, "b.txt", "b".repeat(501)).await;
    }

    async fn files_of_a_message_are_checked_first(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let file = uploaded(&app, "a.txt", "text").await;
        let parts = |id: &Value| json!({"parts": [{"type": "file", "file_id": id}]});
        let unknown = json!("00000000-0000-4000-8000-000000000000");
        assert_problem(post(&app, &conversation, parts(&unknown)).await, 422, "no-such-file").await;
        let eleven: Vec<Value> = (0..11).map(|_| json!({"type": "file", "file_id": file["id"]})).collect();
        assert_problem(post(&app, &conversation, json!({"parts": eleven})).await, 422, "invalid-input").await;
        let wrong = json!({"parts": [{"type": "image", "file_id": file["id"]}]});
        assert_problem(post(&app, &conversation, wrong).await, 422, "invalid-input").await;
        execute!(app, "UPDATE files SET status = 'processing'");
        assert_problem(post(&app, &conversation, parts(&file["id"])).await, 422, "file-not-ready").await;
        assert_eq!(app.conversation(&conversation).await["messages"], json!([]));
        assert!(model.requests().is_empty());
    }

    async fn another_users_file_id_is_refused(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let ((ann, _), (bob, _)) = (team.user(&admin, "ann").await, team.user(&admin, "bob").await);
        let file = team.request(&ann, Method::POST, "/api/files?name=a.txt").body("Ann's.").send().await.unwrap();
        let file: Value = file.json().await.unwrap();
        // Admins have no more access than others.
        for who in [&bob, &admin] {
            let conversation = team.conversation(who).await;
            let path = format!("/api/conversations/{conversation}");
            let parts = json!({"parts": [{"type": "file", "file_id": file["id"]}]});
            let refused = team.send(who, Method::POST, &format!("{path}/messages"), parts).await;
            assert_problem(refused, 422, "no-such-file").await;
            let id = file["id"].as_str().unwrap();
            for (method, end) in [(Method::GET, ""), (Method::GET, "/content"), (Method::GET, "/text"), (Method::DELETE, "")] {
                let refused = team.send(who, method, &format!("/api/files/{id}{end}"), Value::Null).await;
                assert_problem(refused, 404, "no-such-file").await;
            }
            assert_eq!(team.json(who, Method::GET, &path, Value::Null, 200).await["messages"], json!([]));
        }
        assert!(model.requests().is_empty());
    }

    async fn an_edited_message_keeps_or_changes_its_files(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let (one, two) = (uploaded(&app, "one.txt", "First.").await, uploaded(&app, "two.txt", "Second.").await);
        let part = |file: &Value| json!({"type": "file", "file_id": file["id"]});
        model.reply([text("One.")]);
        ask(&app, &conversation, json!([part(&one)])).await;
        let asked = app.conversation(&conversation).await["messages"][0]["id"].clone();
        model.reply([text("Two.")]);
        let edited = post(&app, &conversation, json!({"parts": [part(&one), part(&two)], "edit_of": asked})).await;
        EventReader::new(edited).all().await;
        let shown = app.conversation(&conversation).await;
        let names: Vec<&str> = shown["messages"][0]["files"].as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["one.txt", "two.txt"]);
        let sent = model.requests().pop().unwrap().body_text;
        assert!(sent.contains("First.") && sent.contains("Second."), "{sent}");
        assert_problem(delete(&app, &one["id"]).await, 409, "file-in-use").await;
    }

    async fn an_archive_contains_the_conversation_and_its_files(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let large = "A line of a long file.\n".repeat(100_000);
        let (text, image) = (uploaded(&app, "a:b?.txt", large.clone()).await, uploaded(&app, "写真.png", PNG).await);
        for question in ["What is this?", "And now?"] {
            model.reply([tallybook_mock_llm::text("A heron.")]);
            let parts = json!([{"type": "text", "text": question}, {"type": "file", "file_id": text["id"]}, {"type": "image", "file_id": image["id"]}]);
            ask(&app, &conversation, parts).await;
        }
        let response = app.get(&format!("/api/conversations/{conversation}/export?format=zip")).await;
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/zip");
        let mut archive = ZipArchive::new(Cursor::new(response.bytes().await.unwrap())).unwrap();
        let names: Vec<String> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
        assert_eq!(names, ["conversation.md", "conversation.json", "files/01-a_b_.txt", "files/02-写真.png"], "each file once");
        let mut content = |name: &str| {
            let mut content = Vec::new();
            archive.by_name(name).unwrap().read_to_end(&mut content).unwrap();
            content
        };
        assert_eq!(content("files/01-a_b_.txt"), large.as_bytes());
        assert_eq!(content("files/02-写真.png"), PNG);
        assert!(String::from_utf8(content("conversation.md")).unwrap().contains("What is this?"));
        let exported: Value = serde_json::from_slice(&content("conversation.json")).unwrap();
        assert_eq!(exported["messages"].as_array().unwrap().len(), 4);
        // Each export describes the files of a message as the API does.
        let shown = app.conversation(&conversation).await["messages"][0]["files"].clone();
        assert_eq!((&shown[0]["name"], &shown[1]["id"]), (&text["name"], &image["id"]));
        assert_eq!(exported["messages"][0]["files"], shown);
        let single = app.get_json(&format!("/api/conversations/{conversation}/export?format=json")).await;
        assert_eq!(single["messages"][0]["files"], shown);
        let all = app.get("/api/me/export").await.text().await.unwrap();
        let of_account: Value = serde_json::from_str(all.lines().nth(1).unwrap()).unwrap();
        assert_eq!(of_account["messages"][0]["files"], shown);
    }

    async fn files_without_messages_are_purged_after_a_day(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let (used, unused) = (uploaded(&app, "used.txt", "Used.").await, uploaded(&app, "unused.txt", "Unused.").await);
        model.reply([text("Yes.")]);
        ask(&app, &conversation, json!([{"type": "file", "file_id": used["id"]}])).await;
        let files = Files::new(app.database().await, FilesSettings::with_program("none".into())).unwrap();
        files.purge_unused().await.unwrap();
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM files"), [(2,)]);
        execute!(app, "UPDATE files SET created_at = '2026-01-01 00:00:00'");
        execute!(app, "UPDATE blobs SET used_at = '2026-01-01 00:00:00'");
        files.purge_unused().await.unwrap();
        let left = rows!(app, (String,), "SELECT name FROM files");
        assert_eq!(left, [("used.txt".to_owned(),)]);
        assert_eq!(rows!(app, (i64, i64), "SELECT (SELECT COUNT(*) FROM blobs), (SELECT COUNT(*) FROM file_texts)"), [(1, 1)]);
        let gone = app.get(&format!("/api/files/{}", unused["id"].as_str().unwrap())).await;
        assert_problem(gone, 404, "no-such-file").await;
    }

    async fn an_unused_file_is_kept_for_24_hours(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let db = app.database().await;
        for (name, hours) in [("23.txt", 23), ("25.txt", 25)] {
            let file = uploaded(&app, name, name).await;
            let time = Utc::now() - TimeDelta::hours(hours);
            let change = "UPDATE files SET created_at = ? WHERE name = ?";
            db.writer().query(change).bind(time).bind(name).execute().await.unwrap();
            let change = "UPDATE blobs SET used_at = ? WHERE sha256 = ?";
            db.writer().query(change).bind(time).bind(file["sha256"].as_str().unwrap()).execute().await.unwrap();
        }
        let files = Files::new(db, FilesSettings::with_program("none".into())).unwrap();
        files.purge_unused().await.unwrap();
        assert_eq!(rows!(app, (String,), "SELECT name FROM files"), [("23.txt".to_owned(),)]);
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM blobs"), [(1,)]);
    }

    /// Nothing remains of an upload that is cut off.
    async fn an_upload_cut_at_half_leaves_nothing(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let parts = [Ok("a".repeat(100_000)), Err(std::io::Error::other("cut"))];
        let body = reqwest::Body::wrap_stream(futures_util::stream::iter(parts));
        let sent = app.client.post(app.url("/api/files?name=a.txt")).body(body).send().await;
        assert!(sent.is_err(), "{sent:?}");
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM blobs"), [(0,)]);
        uploaded(&app, "a.txt", "a".repeat(100_000)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_replica_reads_a_file_and_answers_about_it() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let (first, second) = (TestApp::launch(&engine, &model), TestApp::launch(&engine, &model));
        let (document, image) = (uploaded(&first, "a.txt", "Heron.").await, uploaded(&first, "b.png", PNG).await);
        let path = format!("/api/files/{}/content", image["id"].as_str().unwrap());
        assert_eq!(second.get(&path).await.bytes().await.unwrap(), PNG);
        let conversation = second.create_conversation().await;
        model.reply([text("A heron.")]);
        let parts = json!([{"type": "file", "file_id": document["id"]}, {"type": "image", "file_id": image["id"]}]);
        ask(&second, &conversation, parts).await;
        let request = model.requests().pop().unwrap();
        assert!(request.body_text.contains("Heron.") && images_in(&request.body).len() == 1, "{}", request.body_text);
        let shown = first.conversation(&conversation).await;
        assert_eq!(shown["messages"][0]["files"][1]["id"], image["id"], "{shown}");
        assert_problem(delete(&first, &image["id"]).await, 409, "file-in-use").await;
    }
}
