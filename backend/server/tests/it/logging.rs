//! The program's log.

#![cfg(unix)]

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use reqwest::Method;
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call};

use crate::{
    accounts::kit::{PASSWORD, Team},
    added_models::request,
    endings::refuse_ends,
    support::{Engine, Program, TestApp, eventually, on_every_engine},
};

/// A program that logs to a file.
struct Logged {
    app: TestApp,
    folder: tempfile::TempDir,
}

impl Logged {
    fn start(engine: &Engine, model: &MockLlm, filter: &str) -> Self {
        Self::start_as("text", engine, model, filter)
    }

    fn start_as(format: &str, engine: &Engine, model: &MockLlm, filter: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut command = Program::command_after(&format!("exec 2>'{}'", log.display()), engine, model);
        Self { app: TestApp::launch_command(engine, command.env("RUST_LOG", filter).env("LOG_FORMAT", format)), folder }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

/// The log has all causes why a tool server is unreachable, once, and nothing of the client library. Users see neither
/// addresses nor causes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_has_the_causes_of_a_failing_tool_server() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let folder = tempfile::tempdir().unwrap();
    let (log, servers) = (folder.path().join("log"), folder.path().join("servers"));
    let entry = json!({ "mcpServers": { "docs": { "url": "http://127.0.0.1:1/mcp" } } });
    std::fs::write(&servers, entry.to_string()).unwrap();
    let mut command = Program::command_after(&format!("exec 2>'{}'", log.display()), &engine, &model);
    let app = TestApp::launch_command(&engine, command.env("MCP_SERVERS_FILE", &servers));
    let log = || std::fs::read_to_string(&log).unwrap();
    eventually("the failure is logged", async || log().contains("a tool server is unavailable")).await;
    let causes = "the server is unreachable: client error (Connect): tcp connect error: Connection refused";
    assert!(log().contains(causes), "{}", log());
    assert!(!log().contains("rmcp") && !log().contains("ERROR"), "{}", log());
    let error = app.get_json("/api/tools").await["servers"][0]["error"].clone();
    assert!(error.as_str().unwrap().starts_with(causes), "{error}");
}

on_every_engine! {
    async fn the_start_names_entries_and_settings_of_the_page_that_the_file_replaces(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::launch(&engine, &model);
        let (url, base_url) = ("http://127.0.0.1:9/mcp", model.url());
        for (kind, entry) in [
            ("models", json!({"name": "Opal", "provider": "openai", "base_url": base_url})),
            ("models", json!({"name": "Ruby", "provider": "openai", "base_url": base_url})),
            ("tool-servers", json!({"name": "files", "url": url})),
            ("tool-servers", json!({"name": "notes", "url": url})),
        ] {
            let added = request(&app, Method::POST, &format!("/api/admin/{kind}"), entry).await;
            assert_eq!(added.status(), 201, "{}", added.text().await.unwrap());
        }
        let changed = request(&app, Method::PATCH, "/api/admin/settings", json!({"sharing": true, "retention_days": 9})).await;
        assert_eq!(changed.status(), 200, "{}", changed.text().await.unwrap());
        app.kill();

        let folder = tempfile::tempdir().unwrap();
        let (log, servers) = (folder.path().join("log"), folder.path().join("servers"));
        std::fs::write(&servers, json!({"mcpServers": {"files": {"url": url}}}).to_string()).unwrap();
        let mut command = Program::command_after(&format!("exec 2>'{}'", log.display()), &engine, &model);
        command.env("LLM_MODEL", "Opal").env("MCP_SERVERS_FILE", &servers).env("SHARING", "off");
        let app = TestApp::launch_command(&engine, &mut command);
        let origins = |list: &Value| {
            let items = list["items"].as_array().unwrap().iter();
            items.map(|item| format!("{} {}", item["name"], item["origin"])).collect::<Vec<_>>()
        };
        for (kind, [hidden, used]) in [("models", ["Opal", "Ruby"]), ("tool-servers", ["files", "notes"])] {
            let listed = origins(&app.get_json(&format!("/api/admin/{kind}")).await);
            let of = |name: &str, origin: &str| format!("\"{name}\" \"{origin}\"");
            assert_eq!(listed, [of(hidden, "file"), of(hidden, "page"), of(used, "page")]);
        }
        let warned = |kind: &str, name: &str| {
            let log = std::fs::read_to_string(&log).unwrap();
            let of_entry = format!("kind={kind} name=\"{name}\"");
            let is_named = |line: &&str| line.contains("WARN") && line.contains(&of_entry) && line.contains("is used instead");
            log.lines().filter(is_named).count()
        };
        eventually("the start names them", async || warned("model", "Opal") + warned("tool server", "files") == 2).await;
        assert_eq!(warned("model", "Ruby") + warned("tool server", "notes"), 0);
        let log = std::fs::read_to_string(&log).unwrap();
        let settings: Vec<&str> = log.lines().filter(|line| line.contains("changed in the page has no effect")).collect();
        let [setting] = settings[..] else { panic!("{log}") };
        assert!(setting.contains("WARN") && setting.contains("sharing is set in the settings file"), "{setting}");
    }
}

/// The server is meant to be not ready while it shuts down.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_planned_shutdown_logs_no_error() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let server = Logged::start(&engine, &model, "info");
    let conversation = server.app.create_conversation().await;
    let gate = model.reply_gated([text("Long ")], [text("enough.")]);
    let mut turn = server.app.send(&conversation, "How long?").await;
    turn.until("content_delta").await;
    server.app.process().signal("TERM");
    eventually("the server is stopping", async || server.app.get("/readyz").await.status() == 503).await;
    assert_eq!(server.app.get("/readyz").await.status(), 503);
    gate.open();
    turn.all().await;
    let log = server.log();
    assert!(log.contains("shutting down") && !log.contains("ERROR"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_file_is_plain_and_omits_client_errors() {
    let model = MockLlm::start().await.unwrap();
    for filter in ["", "debug"] {
        let server = Logged::start(&Engine::sqlite(), &model, filter);
        let address = server.app.address.trim_start_matches("http://").to_owned();
        let malformed = ["\x16\x03\x01\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /\0 HTTP/1.1\r\n\r\n"];
        tokio::task::spawn_blocking(move || {
            for request in malformed {
                let mut connection = TcpStream::connect(&address).unwrap();
                connection.write_all(request.as_bytes()).unwrap();
                // The server may answer or close the connection. Either way, it has finished with the request.
                let _ = connection.read_to_string(&mut String::new());
            }
        })
        .await
        .unwrap();
        eventually("the log is not empty", async || server.log().contains("INFO")).await;
        if filter == "debug" {
            eventually("client errors are logged", async || server.log().matches("was aborted").count() == 3).await;
        }
        let log = server.log();
        // A statement that was slow on this machine is not a mistake.
        let mut ours = log.lines().filter(|line| !line.contains(" sqlx::"));
        assert!(ours.all(|line| !line.contains("ERROR") && !line.contains("WARN")), "{log}");
        assert!(!log.contains('\x1b'), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_lines_have_the_request_id() {
    let model = MockLlm::start().await.unwrap();
    let server = Logged::start(&Engine::sqlite(), &model, "debug");
    let ask = |id: &str| server.app.client.get(server.app.url("/api/conversations")).header("x-request-id", id).send();
    for (theirs, noted) in [("edge-7_a.b", true), ("a b", false), (&*"x".repeat(65), false)] {
        let answer = ask(theirs).await.unwrap();
        let id = answer.headers()["x-request-id"].to_str().unwrap().to_owned();
        assert_ne!(id, theirs);
        // The use case runs in a different task than the request. The database's log lines show its statements there.
        eventually("the log has the statement under the request's id", async || {
            let log = server.log();
            let mut lines = log.lines().filter(|line| line.contains(&id) && line.contains("sqlx::query"));
            lines.any(|line| line.contains(theirs) == noted)
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_lines_of_a_turn_have_its_user() {
    let model = MockLlm::start().await.unwrap();
    let server = Logged::start(&Engine::sqlite(), &model, "debug");
    let conversation = server.app.create_conversation().await;
    model.reply([text("A secret answer.")]);
    server.app.send(&conversation, "A secret question").await.all().await;
    eventually("the log has the stored turn and its user", async || {
        let log = server.log();
        let is_turn = |line: &&str| line.contains("turn{message_id=2 user=1}") && line.contains(" user=1}:turn{");
        log.lines().filter(is_turn).any(|line| line.contains("sqlx::query"))
    })
    .await;
    let log = server.log();
    assert!(!log.contains("A secret"), "the log contains no user or model text: {log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finished_turn_is_one_log_line() {
    let model = MockLlm::start().await.unwrap();
    let engine = Engine::sqlite();
    let server = Logged::start(&engine, &model, "info");
    let conversation = server.app.create_conversation().await;
    model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
    model.reply([text("A secret answer.")]);
    server.app.send(&conversation, "A secret question").await.all().await;
    model.fail(400, "{}");
    server.app.send(&conversation, "Another secret").await.all().await;
    // The log shows the stored status, not the one that the database rejected.
    refuse_ends(&engine, "'complete'").await;
    model.reply([text("A secret that is not stored whole.")]);
    server.app.send(&conversation, "A last secret").await.all().await;
    let ended =
        || server.log().lines().filter(|line| line.contains("a turn ended")).map(str::to_owned).collect::<Vec<_>>();
    eventually("all turns are logged", async || ended().len() == 3).await;
    let ended = ended();
    for (line, fields) in ended.iter().zip([["complete", "2", "1"], ["failed", "1", "0"], ["failed", "1", "0"]]) {
        let [status, steps, calls] = fields;
        for field in [format!("status=\"{status}\""), format!(" steps={steps} "), format!(" calls={calls} ")] {
            assert!(line.contains(&field), "{field}: {line}");
        }
        assert!(line.contains(" model=") && line.contains(" output_tokens=") && line.contains(" ms="), "{line}");
    }
    assert!(!server.log().contains("secret"), "{}", server.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_public_link_is_logged() {
    let model = MockLlm::start().await.unwrap();
    let server = Logged::start(&Engine::sqlite(), &model, "warn");
    let conversation = server.app.create_conversation().await;
    model.reply([text("An answer.")]);
    server.app.send(&conversation, "A question").await.all().await;
    let shared = server.app.post(&format!("/api/conversations/{conversation}/shares"), json!({})).await;
    assert_eq!(shared.status(), 201);
    let is_logged = async || {
        server
            .log()
            .lines()
            .any(|line| line.contains("a public link to a conversation was created") && line.contains(&conversation))
    };
    eventually("the link is logged", is_logged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_sign_ins_and_refused_requests_are_warnings() {
    let (engine, model, folder) = (Engine::sqlite(), MockLlm::start().await.unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("log");
    let mut command = Program::command_after(&format!("exec 2>'{}'", path.display()), &engine, &model);
    let team = Team::of(TestApp::launch_command(&engine, command.env("ACCOUNTS", "on").env("RUST_LOG", "info")));
    let admin = team.sign_up(&team.app.process().setup_link(), "root", PASSWORD).await;
    let (ann, id) = team.user(&admin, "ann").await;
    let warnings = async |text: &str| {
        let log = std::fs::read_to_string(&path).unwrap();
        log.lines().filter(|line| line.contains("WARN") && line.contains(text)).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(team.try_sign_in("ann", "not her password").await.status(), 401);
    assert_eq!(team.get(&ann, "/api/users").await.status(), 403);
    eventually("both are logged", async || {
        let (failed, refused) = (warnings("sign-in failed").await, warnings("request refused").await);
        failed.len() == 1 && refused.len() == 1
    })
    .await;
    assert!(warnings("sign-in failed").await[0].contains(&format!("user={id} address=\"127.0.0.1\"")));
    assert!(warnings("request refused").await[0].contains(&format!("user={id} request=\"GET /api/users\"")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_admin_is_logged_once() {
    let (engine, model, folder) = (Engine::sqlite(), MockLlm::start().await.unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("log");
    let mut command = Program::command_after(&format!("exec 2>'{}'", path.display()), &engine, &model);
    let app = TestApp::launch_command(&engine, command.env("ACCOUNTS", "on").env("RUST_LOG", "info"));
    for _ in 0..3 {
        assert_eq!(app.get("/readyz").await.status(), 503);
    }
    let log = std::fs::read_to_string(&path).unwrap();
    assert_eq!(log.matches("no admin").count(), 1, "{log}");
    assert!(!log.contains("ERROR"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_json_log_has_one_object_per_line_with_span_ids() {
    let model = MockLlm::start().await.unwrap();
    let server = Logged::start_as("JSON", &Engine::sqlite(), &model, "debug");
    let conversation = server.app.create_conversation().await;
    model.reply([text("A secret answer.")]);
    let path = format!("/api/conversations/{conversation}/messages");
    let answer = server.app.post(&path, json!({"content": "A secret \"question\""})).await;
    let request = answer.headers()["x-request-id"].to_str().unwrap().to_owned();
    answer.text().await.unwrap();
    let span = |entry: &Value, name: &str| {
        entry["spans"].as_array().and_then(|spans| spans.iter().find(|span| span["name"] == name).cloned())
    };
    // The last line may be incomplete.
    let entries = || {
        let log = server.log();
        let whole = log.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let read = |line: &str| serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        whole.lines().map(read).collect::<Vec<_>>()
    };
    eventually("the log has the stored turn, its user and its request", async || {
        entries().iter().any(|entry| {
            let (Some(asked), Some(turn)) = (span(entry, "request"), span(entry, "turn")) else { return false };
            asked["id"] == *request && turn["message_id"] == 2 && turn["user"] == 1 && entry["target"] == "sqlx::query"
        })
    })
    .await;
    // A client cannot fill the log with what it names a request by.
    let method = Method::from_bytes("X".repeat(500).as_bytes()).unwrap();
    server.app.client.request(method, server.app.url("/api/health")).send().await.unwrap();
    let is_logged = |entry: &Value| {
        span(entry, "request")
            .is_some_and(|request| request["method"].as_str().is_some_and(|method| method == "X".repeat(32)))
    };
    eventually("the method is logged, truncated", async || entries().iter().any(is_logged)).await;
    let has_text = |key: &str| entries().iter().all(|entry| entry[key].is_string());
    assert!(has_text("timestamp") && has_text("level") && has_text("target"), "{}", server.log());
    assert!(!server.log().contains("A secret"), "the log contains no user or model text: {}", server.log());
}
