//! Images that tools return: stored with the call, sent to clients and to models that read images.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tallybook_files::{Files, FilesSettings};
use tallybook_llm::{ModelSettings, Quirk};
use tallybook_mcp::{ToolServersSettings, read_servers_file};
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_mock_mcp::{Fault, MockMcp};
use tallybook_protocol::{ChatEvent, MessageFile};

use crate::{
    files::{PNG, base64_in, images_in},
    support::{Engine, Provider, TestApp, eventually, execute, on_every_engine, rows},
};

fn servers(mock: &MockMcp) -> ToolServersSettings {
    let servers = json!({"mcpServers": {"mock": {"url": mock.url(), "risk": "low"}}});
    read_servers_file(&servers.to_string()).unwrap()
}

async fn connected(app: &TestApp) {
    let is_connected = async || app.get_json("/api/tools").await["servers"][0]["status"] == "connected";
    eventually("the tool server is connected", is_connected).await;
}

fn image(media_type: &str, content: &[u8]) -> Value {
    json!({"type": "image", "mimeType": media_type, "data": BASE64_STANDARD.encode(content)})
}

/// Sends a question whose answer calls a tool that returns this content. Returns the files in the event of the call's
/// end.
async fn ask(app: &TestApp, model: &MockLlm, conversation: &str, content: Value) -> Vec<MessageFile> {
    model.reply([tool_call("mock__content", json!({"content": content}).to_string())]);
    model.reply([text("I looked.")]);
    let events = app.send(conversation, "Look").await.all().await;
    assert!(matches!(events.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "I looked."), "{events:?}");
    let files = events.into_iter().find_map(|event| match event {
        ChatEvent::ToolCallEnd(end) => Some(end.files),
        _ => None,
    });
    files.expect("the call ended")
}

/// Returns the calls of an answer as the API returns them.
async fn call_of(app: &TestApp, conversation: &str) -> Value {
    app.conversation(conversation).await["messages"][1]["tool_calls"][0].clone()
}

on_every_engine! {
    async fn images_of_tools_are_files_of_the_call_and_reach_models_in_both_formats(engine: Engine) {
        for provider in Provider::ALL {
            let (mock, model) = (MockMcp::start(&[Fault::RepeatsContent]).await.unwrap(), MockLlm::start().await.unwrap());
            let settings = provider.settings(model.url());
            let app = TestApp::builder(&engine).with_model(settings).with_tool_servers(servers(&mock)).spawn().await;
            connected(&app).await;
            let conversation = app.create_conversation().await;
            let blob = json!({"uri": "x:y", "mimeType": "image/png", "blob": BASE64_STANDARD.encode(PNG)});
            let content = json!([{"type": "text", "text": "Two pictures:"}, image("image/png", PNG), {"type": "resource", "resource": blob}]);
            let files = ask(&app, &model, &conversation, content).await;
            assert_eq!(files.len(), 2, "{files:?}");
            let call = call_of(&app, &conversation).await;
            assert_eq!(call["files"], serde_json::to_value(&files).unwrap(), "{call}");
            let id = call["tool_call_id"].as_i64().unwrap();
            assert_eq!(app.get_json(&format!("/api/tool-calls/{id}")).await["files"], call["files"]);
            assert!(call["output"].as_str().unwrap().starts_with("Two pictures:\n[image image/png"), "{call}");
            let content = app.get(&format!("/api/files/{}/content", files[0].id)).await;
            assert_eq!(content.bytes().await.unwrap(), PNG);
            let markdown = app.get(&format!("/api/conversations/{conversation}/export?format=markdown")).await.text().await.unwrap();
            let returned = format!("- Returned: image.png (image/png, {} bytes)\n", PNG.len());
            assert_eq!(markdown.matches(&returned).count(), 2, "{markdown}");
            let archive = app.get(&format!("/api/conversations/{conversation}/export?format=zip")).await.bytes().await.unwrap();
            let mut archive = zip::ZipArchive::new(std::io::Cursor::new(archive)).unwrap();
            let entry = archive.by_name("files/01-image.png").expect("the export contains images of tools");
            assert!(entry.last_modified().is_some_and(|at| at.year() > 2025), "the time of the export");
            // After the result, in this turn and in the next one.
            model.reply([text("As before.")]);
            app.send(&conversation, "And now?").await.all().await;
            let requests = model.requests();
            let (seen, again) = (&requests[1].body, &requests[2].body);
            assert_eq!(images_in(seen).len(), 2, "{seen}");
            assert_eq!(images_in(seen), images_in(again), "the same bytes");
            let variant = app.get(&format!("/api/files/{}/content?variant=model", files[0].id)).await;
            assert_eq!(BASE64_STANDARD.decode(base64_in(&images_in(seen))).unwrap(), variant.bytes().await.unwrap());
            // In both requests the images follow the result, and in the second one the next question follows them.
            for request in [seen, again] {
                let sent = request["messages"].to_string();
                let images = sent.find("The images that the tools returned").unwrap();
                assert!(sent.find("Two pictures:").unwrap() < images, "{sent}");
                assert!(sent.find("And now?").is_none_or(|question| sent.rfind("base64").unwrap() < question), "{sent}");
            }
            model.assert_calls_paired();
        }
    }

    async fn images_that_cannot_be_stored_are_notes_in_the_output(engine: Engine) {
        let (mock, model) = (MockMcp::start(&[Fault::RepeatsContent]).await.unwrap(), MockLlm::start().await.unwrap());
        let limit = |settings: &mut tallybook::config::Settings| settings.files.max_file_bytes = 500;
        let app = TestApp::builder(&engine).with_mock(&model).with_tool_servers(servers(&mock)).with_settings(limit).spawn().await;
        connected(&app).await;
        for (content, expected) in [
            (json!([image("image/png", &[7; 501])]), "The file is too large"),
            (json!([image("image/png", &PNG[..PNG.len() / 2])]), "An image was left out"),
            (json!([image("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")]), "An image was left out"),
            (json!([{"type": "image", "mimeType": "image/png", "data": "???"}]), "not valid base64"),
        ] {
            let conversation = app.create_conversation().await;
            assert_eq!(ask(&app, &model, &conversation, content).await, []);
            let call = call_of(&app, &conversation).await;
            assert!(call["output"].as_str().unwrap().contains(expected), "{expected}: {call}");
            assert!(call.get("files").is_none() && call["status"] == "success", "{call}");
        }
        let conversation = app.create_conversation().await;
        let nine: Vec<Value> = (0..9).map(|_| image("image/png", PNG)).collect();
        assert_eq!(ask(&app, &model, &conversation, json!(nine)).await.len(), 8);
        let output = call_of(&app, &conversation).await["output"].clone();
        assert!(output.as_str().unwrap().contains("1 images were left out"), "{output}");
    }

    async fn a_model_without_vision_receives_only_the_text_of_the_result(engine: Engine) {
        let (mock, model) = (MockMcp::start(&[Fault::RepeatsContent]).await.unwrap(), MockLlm::start().await.unwrap());
        let blind = ModelSettings { quirks: [(Quirk::NoImages, true)].into(), ..Provider::OpenAi.settings(model.url()) };
        let app = TestApp::builder(&engine).with_model(blind).with_tool_servers(servers(&mock)).spawn().await;
        connected(&app).await;
        let conversation = app.create_conversation().await;
        assert_eq!(ask(&app, &model, &conversation, json!([image("image/png", PNG)])).await.len(), 1);
        let sent = model.requests().pop().unwrap();
        assert!(images_in(&sent.body).is_empty() && sent.body_text.contains("[image image/png"), "{}", sent.body_text);
    }

    async fn files_of_calls_are_kept_while_the_call_exists(engine: Engine) {
        let (mock, model) = (MockMcp::start(&[Fault::RepeatsContent]).await.unwrap(), MockLlm::start().await.unwrap());
        let app = TestApp::builder(&engine).with_mock(&model).with_tool_servers(servers(&mock)).spawn().await;
        connected(&app).await;
        let conversation = app.create_conversation().await;
        let file = ask(&app, &model, &conversation, json!([image("image/png", PNG)])).await.remove(0);
        let path = format!("/api/files/{}", file.id);
        let refused = app.client.delete(app.url(&path)).send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::CONFLICT);
        let files = Files::new(app.database().await, FilesSettings::with_program("none".into())).unwrap();
        let purge = async || {
            execute!(app, "UPDATE files SET created_at = '2026-01-01 00:00:00'");
            execute!(app, "UPDATE blobs SET used_at = '2026-01-01 00:00:00'");
            files.purge_unused().await.unwrap();
            rows!(app, (i64, i64), "SELECT (SELECT COUNT(*) FROM files), (SELECT COUNT(*) FROM tool_call_files)")
        };
        assert_eq!(purge().await, [(1, 1)]);
        assert_eq!(app.get(&format!("{path}/content")).await.status(), StatusCode::OK);
        execute!(app, "DELETE FROM tool_calls");
        assert_eq!(purge().await, [(0, 0)]);
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM blobs"), [(0,)]);
    }
}
