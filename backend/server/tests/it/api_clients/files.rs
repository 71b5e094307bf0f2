//! Images and files in requests of API clients: the same limits, storage and prompts as for files attached in the page.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures_util::future::join_all;
use reqwest::Response;
use serde_json::{Value, json};
use tallybook_llm::{ModelSettings, Quirk};
use tallybook_mock_llm::{MockLlm, text};

use super::kit::{conversation_of, conversations, refusal};
use crate::{
    files::{PNG, entry, images_in, uploaded},
    support::{Engine, Provider, TestApp, on_every_engine, rows},
};

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const THREADS: &str = "/v1/chat";

fn data_url(media_type: &str, content: &[u8]) -> String {
    format!("data:{media_type};base64,{}", BASE64_STANDARD.encode(content))
}

/// Returns a request to this route with one user message, which consists of these parts.
fn request(path: &str, parts: impl Into<Value>) -> Value {
    let parts: Value = parts.into();
    let messages = json!([{"role": "user", "content": parts}]);
    if path == RESPONSES { json!({"input": messages}) } else { json!({"messages": messages}) }
}

/// Returns the parameter that contains the message of [`request`].
fn content_of(path: &str) -> &'static str {
    if path == RESPONSES { "input[0].content" } else { "messages[0].content" }
}

/// Returns an image part in the form of this route.
fn image_part(path: &str, url: &str) -> Value {
    match path {
        RESPONSES => json!({"type": "input_image", "image_url": url, "detail": "auto"}),
        _ => json!({"type": "image_url", "image_url": {"url": url}}),
    }
}

/// Returns a file part in the form of this route.
fn file_part(path: &str, name: &str, data: &str) -> Value {
    match path {
        RESPONSES => json!({"type": "input_file", "filename": name, "file_data": data}),
        _ => json!({"type": "file", "file": {"filename": name, "file_data": data}}),
    }
}

/// Returns a text part in the form of this route.
fn text_part(path: &str, words: &str) -> Value {
    json!({"type": if path == RESPONSES { "input_text" } else { "text" }, "text": words})
}

async fn post(app: &TestApp, path: &str, body: &Value) -> Response {
    app.client.post(app.url(path)).json(body).send().await.unwrap()
}

/// Sends a request that succeeds. Returns the response, and the conversation in which it is stored.
async fn ask(app: &TestApp, path: &str, body: &Value) -> (Value, String) {
    let response = post(app, path, body).await;
    let named = (path != THREADS && response.status().is_success()).then(|| conversation_of(&response));
    let (status, words) = (response.status(), response.text().await.unwrap());
    assert_eq!(status, 200, "{words}");
    let answer: Value = serde_json::from_str(&words).unwrap();
    let conversation = named.unwrap_or_else(|| answer["thread_id"].as_str().unwrap().to_owned());
    (answer, conversation)
}

on_every_engine! {
    /// The messages of `Open WebUI`: each request repeats the history with its images.
    async fn images_of_api_clients_reach_models_as_attached_ones_do(engine: Engine) {
        for provider in Provider::ALL {
            let model = MockLlm::start().await.unwrap();
            let app = TestApp::builder(&engine).with_model(provider.settings(model.url())).spawn().await;
            let conversation = app.create_conversation().await;
            let attached = uploaded(&app, "image.png", PNG).await;
            model.reply([text("A picture.")]);
            let parts = json!([{"type": "text", "text": "What is it?"}, {"type": "image", "file_id": attached["id"]}]);
            let sent = app.post(&format!("/api/conversations/{conversation}/messages"), json!({"parts": parts})).await;
            crate::support::EventReader::new(sent).all().await;
            let expected = images_in(&model.requests()[0].body);
            assert_eq!(expected.len(), 1);
            let before = rows!(app, (i64,), "SELECT COUNT(*) FROM files");
            for path in [CHAT, RESPONSES, THREADS] {
                let parts = json!([text_part(path, "What is it?"), image_part(path, &data_url("image/png", PNG))]);
                model.reply([text("A picture.")]);
                let (_, conversation) = ask(&app, path, &request(path, parts)).await;
                assert_eq!(images_in(&model.requests().pop().unwrap().body), expected, "{path}");
                let shown = app.conversation(&conversation).await;
                assert_eq!((&shown["title"], &shown["messages"][0]["content"]), (&json!("What is it?"), &json!("What is it?")));
                let file = &shown["messages"][0]["files"][0];
                let size = format!("image {}×{}", attached["width"], attached["height"]);
                assert_eq!((&file["kind"], &file["context"]), (&json!("image"), &json!(size)), "{path}: {shown}");
            }
            assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM files"), before);
        }
    }

    async fn a_repeated_history_stores_its_images_once(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let image = json!([{"type": "text", "text": ""}, image_part(CHAT, &data_url("image/png", PNG))]);
        let mut messages = vec![json!({"role": "user", "content": image})];
        for words in ["One.", "Two.", "Three."] {
            model.reply([text(words)]);
            ask(&app, CHAT, &json!({"messages": messages})).await;
            messages.push(json!({"role": "assistant", "content": words}));
            messages.push(json!({"role": "user", "content": "And now?"}));
        }
        for sent in model.requests() {
            assert_eq!(images_in(&sent.body).len(), 1, "{}", sent.body);
        }
        assert_eq!(rows!(app, (i64, i64), "SELECT COUNT(*), COUNT(DISTINCT sha256) FROM files"), [(1, 1)]);
    }

    async fn documents_of_api_clients_are_sent_as_data(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let content = b"The code is 4711.";
        for (path, data) in [
            (CHAT, data_url("text/plain", content)),
            (CHAT, BASE64_STANDARD.encode(content)),
            (RESPONSES, data_url("application/pdf", content)),
            (THREADS, data_url("text/plain", content)),
        ] {
            model.reply([text("It is 4711.")]);
            let parts = json!([text_part(path, "Which code?"), file_part(path, "notes.txt", &data)]);
            let (_, conversation) = ask(&app, path, &request(path, parts)).await;
            let sent = model.requests().pop().unwrap().body_text;
            assert!(sent.contains("The code is 4711.") && sent.contains("attached_file") && sent.contains("notes.txt"), "{sent}");
            assert!(sent.contains("read_file"), "{sent}");
            let file = &app.conversation(&conversation).await["messages"][0]["files"][0];
            assert_eq!((&file["name"], &file["kind"], &file["context"]), (&json!("notes.txt"), &json!("text"), &json!("pages 1–1 of 1")));
        }
    }

    async fn a_response_continues_with_the_images_of_earlier_ones(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        model.reply([text("A picture.")]);
        let first = request(RESPONSES, json!([image_part(RESPONSES, &data_url("image/png", PNG))]));
        let (answer, conversation) = ask(&app, RESPONSES, &first).await;
        assert_eq!(app.conversation(&conversation).await["title"], "image.png");
        model.reply([text("Still a picture.")]);
        ask(&app, RESPONSES, &json!({"input": "And now?", "previous_response_id": answer["id"]})).await;
        let requests = model.requests();
        assert_eq!(images_in(&requests[0].body), images_in(&requests[1].body));
        let with_content = rows!(app, (i64,), "SELECT COUNT(*) FROM responses WHERE input LIKE '%iVBORw0%'");
        assert_eq!(with_content, [(0,)], "the stored input refers to the image");
    }

    async fn a_thread_continues_with_a_file(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        model.reply([text("Hello.")]);
        let (_, thread) = ask(&app, THREADS, &request(THREADS, json!("Hello"))).await;
        model.reply([text("A picture.")]);
        let source = json!({"type": "base64", "media_type": "image/png", "data": BASE64_STANDARD.encode(PNG)});
        let mut next = request(THREADS, json!([{"type": "image", "source": source}]));
        next["thread_id"] = json!(thread);
        ask(&app, THREADS, &next).await;
        assert_eq!(images_in(&model.requests()[1].body).len(), 1);
        assert_eq!(app.conversation(&thread).await["messages"][2]["files"][0]["name"], "image.png");
    }

    async fn a_direct_model_call_sees_images(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        model.reply([text("A picture.")]);
        let mut body = request(CHAT, json!([image_part(CHAT, &data_url("image/png", PNG))]));
        body["model"] = json!("test-model:plain");
        assert_eq!(post(&app, CHAT, &body).await.status(), 200);
        assert_eq!(images_in(&model.requests()[0].body).len(), 1);
    }

    async fn files_of_api_clients_have_the_limits_of_uploads(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let limits = |settings: &mut tallybook::config::Settings| {
            (settings.files.max_file_bytes, settings.files.max_user_bytes) = (20_000, 25_000);
        };
        let app = TestApp::builder(&engine).with_mock(&model).with_settings(limits).spawn().await;
        for path in [CHAT, RESPONSES, THREADS] {
            let place = format!("{}[1]", content_of(path));
            let words = text_part(path, "What is it?");
            for (part, status, code) in [
                (image_part(path, "https://example.org/a.png"), 400, None),
                (image_part(path, "HTTP://example.org/a.png"), 400, None),
                (file_part(path, "a.pdf", "https://example.org/a.pdf"), 400, None),
                (image_part(path, "data:image/png;base64,???"), 400, None),
                (image_part(path, &data_url("image/png", &PNG[..PNG.len() / 2])), 400, Some("file_unreadable")),
                (image_part(path, &data_url("image/png", &[0, 1, 2, 3, 255, 254])), 415, Some("file_type")),
                (file_part(path, "a.txt", &data_url("text/plain", &b"a".repeat(20_001))), 413, Some("file_too_large")),
            ] {
                let refused = refusal(post(&app, path, &request(path, json!([words, part]))).await, status).await;
                assert_eq!((&refused["param"], &refused["code"]), (&json!(place), &json!(code)), "{part}");
            }
            let eleven: Vec<Value> = (0..11).map(|at| file_part(path, &format!("{at}.txt"), "YWJj")).collect();
            assert_eq!(refusal(post(&app, path, &request(path, json!(eleven))).await, 400).await["code"], "invalid_input");
        }
        uploaded(&app, "a.txt", "a".repeat(20_000)).await;
        let part = file_part(CHAT, "b.txt", &data_url("text/plain", &b"b".repeat(10_000)));
        let refused = refusal(post(&app, CHAT, &request(CHAT, json!([part]))).await, 413).await;
        assert_eq!(refused["code"], "storage_full");
        assert!(model.requests().is_empty());
        assert_eq!(conversations(&app).await.len(), 0, "none is stored");
    }

    async fn an_image_of_an_api_client_to_a_model_without_vision_is_refused(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let blind = ModelSettings { quirks: [(Quirk::NoImages, true)].into(), ..Provider::OpenAi.settings(model.url()) };
        let models = vec![entry("Blind", blind, false), entry("Sonnet", Provider::Anthropic.settings(model.url()), true)];
        let app = TestApp::builder(&engine).with_models(models).spawn().await;
        let image = json!({"role": "user", "content": [image_part(CHAT, &data_url("image/png", PNG))]});
        for name in ["Blind", "Blind:plain"] {
            let refused = refusal(post(&app, CHAT, &json!({"model": name, "messages": [image]})).await, 400).await;
            assert_eq!(refused["code"], "model_reads_no_images");
            assert!(refused["message"].as_str().unwrap().contains("Sonnet"), "{refused}");
        }
        assert_eq!(conversations(&app).await.len(), 0);
        // A history with an image is sent without it.
        model.reply([text("I cannot see it.")]);
        let history = json!([image, {"role": "assistant", "content": "A picture."}, {"role": "user", "content": "And you?"}]);
        ask(&app, CHAT, &json!({"model": "Blind", "messages": history})).await;
        let sent = model.requests().pop().unwrap();
        assert!(images_in(&sent.body).is_empty() && sent.body_text.contains("image.png"), "{}", sent.body_text);
    }
}

/// Ten files of 20 MiB at once. Text beside files has the limit of other bodies.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_20_mib_fit_into_requests() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    // Not of any kind that is accepted, so that the content is received and nothing is stored.
    let content = data_url("application/octet-stream", &[0, 1, 2, 3, 255, 254, 0, 1].repeat(20 * 1024 * 1024 / 8));
    let body = request(CHAT, json!([file_part(CHAT, "a.bin", &content)])).to_string();
    let send =
        |body: String| app.client.post(app.url(CHAT)).header("content-type", "application/json").body(body).send();
    for refused in join_all((0..10).map(|_| send(body.clone()))).await {
        assert_eq!(refusal(refused.unwrap(), 415).await["code"], "file_type");
    }
    let words = text_part(CHAT, &"x".repeat(2 * 1024 * 1024));
    let long = request(CHAT, json!([words, image_part(CHAT, &data_url("image/png", PNG))]));
    assert_eq!(refusal(post(&app, CHAT, &long).await, 413).await["code"], "body_too_large");
    let huge = request(CHAT, json!([file_part(CHAT, "a.bin", &"A".repeat(33 * 1024 * 1024))]));
    let answered = send(huge.to_string()).await;
    // The server may close the connection before the client has sent everything.
    if let Ok(refused) = answered {
        assert_eq!(refusal(refused, 413).await["code"], "body_too_large");
    }
}
