//! Tool servers that admins add while the server runs: their headers, their precedence, restarts, other servers of the
//! database, pins, and tests of a tool server. `accounts::rights` says who may do this.

use std::time::Instant;

use reqwest::{Method, header};
use serde_json::{Value, json};
use tallybook_mcp::{Pin, RiskSetting, ToolServerSettings, ToolServersSettings, read_servers_file};
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_mock_mcp::{Fault, MockMcp};
use tallybook_protocol::{ChatEvent, MessageStatus, ToolCallId, ToolCallStatus};

use crate::{
    added_models::{demo_only, reason, request},
    bad_input::assert_problem,
    secrets::assert_not_kept,
    server_settings::{ROUNDS, send_at_once},
    support::{Engine, EventReader, TestApp, eventually, on_every_engine, rows},
};

/// A token that occurs nowhere by chance. `assert_not_kept` looks for its last part, too.
const TOKEN: &str = "token-added-5up3r";

const PATH: &str = "/api/admin/tool-servers";

/// Returns the body that adds a tool server.
fn body(name: &str, server: &MockMcp) -> Value {
    json!({"name": name, "url": server.url(), "risk": "low", "headers": {"Authorization": format!("Bearer {TOKEN}")}})
}

/// Starts a tool server that requires the token.
async fn closed_server() -> MockMcp {
    let server = MockMcp::start_closed(&[]).await.unwrap();
    server.accept_token(TOKEN);
    server
}

/// Adds a tool server and waits until it is connected.
async fn add(app: &TestApp, body: Value) {
    let added = request(app, Method::POST, PATH, body.clone()).await;
    assert_eq!(added.status(), 201, "{}", added.text().await.unwrap());
    connected(app, body["name"].as_str().unwrap()).await;
}

async fn connected(app: &TestApp, name: &str) {
    let is_connected = async || app.get_json(&format!("{PATH}/{name}")).await["status"] == "connected";
    eventually("the tool server is connected", is_connected).await;
}

/// Returns `true` if turns are offered this tool.
async fn offers(app: &TestApp, tool: &str) -> bool {
    let tools = app.get_json("/api/tools").await;
    tools["items"].as_array().unwrap().iter().any(|item| item["name"] == tool)
}

/// Lets the model call `echo` of the server `added`, and returns the call's output.
async fn echo(app: &TestApp, model: &MockLlm) -> Option<String> {
    let conversation = app.create_conversation().await;
    model.reply([tool_call("added__echo", r#"{"text":"hello"}"#)]);
    model.reply([text("Done.")]);
    let mut events = app.send(&conversation, "Echo").await;
    let ChatEvent::ToolCallEnd(end) = events.until("tool_call_end").await.event else { unreachable!() };
    events.until("message_end").await;
    (end.status == ToolCallStatus::Success).then(|| end.output.unwrap_or_default())
}

on_every_engine! {
    async fn a_tool_server_is_added_used_changed_and_removed_without_a_restart(engine: Engine) {
        let (model, server) = (MockLlm::start().await.unwrap(), closed_server().await);
        let app = TestApp::builder(&engine).with_mock(&model).spawn().await;
        add(&app, body("added", &server)).await;
        assert_eq!(echo(&app, &model).await.as_deref(), Some("hello"));

        let path = &format!("{PATH}/added");
        let shown = app.get_json(path).await;
        assert_eq!((&shown["origin"], &shown["has_headers"]), (&json!("page"), &json!(true)), "{shown}");
        let changed = request(&app, Method::PATCH, path, json!({"exclude": ["echo"]})).await;
        assert_eq!(changed.status(), 200);
        eventually("the excluded tool is gone", async || !offers(&app, "added__echo").await && offers(&app, "added__fail").await).await;
        let moved = request(&app, Method::PATCH, path, json!({"url": "https://example.org/mcp"})).await;
        let detail = reason(moved, 422, "invalid-tool-server").await;
        assert!(detail.contains("headers is not sent to another server"), "{detail}");

        let stale = app.client.delete(app.url(path)).header("if-match", shown["version"].to_string()).send().await.unwrap();
        assert_problem(stale, 412, "version-changed").await;
        assert_eq!(request(&app, Method::DELETE, path, json!({})).await.status(), 204);
        assert!(!offers(&app, "added__fail").await);
        assert_problem(app.get(path).await, 404, "no-such-tool-server").await;
        let log = rows!(app, (String,), "SELECT action FROM audit_log WHERE action LIKE 'tool_server_%' ORDER BY id");
        let actions: Vec<&str> = log.iter().map(|(action,)| action.as_str()).collect();
        assert_eq!(actions, ["tool_server_added", "tool_server_changed", "tool_server_removed"]);
        assert_not_kept(&engine, TOKEN).await;
    }

    async fn a_running_turn_keeps_the_tools_of_a_removed_server(engine: Engine) {
        let (model, server) = (MockLlm::start().await.unwrap(), closed_server().await);
        let app = TestApp::builder(&engine).with_mock(&model).spawn().await;
        add(&app, body("added", &server)).await;
        let conversation = app.create_conversation().await;
        let gate = model.reply_gated([text("I will ")], [text("echo."), tool_call("added__echo", r#"{"text":"late"}"#)]);
        model.reply([text("Done.")]);
        let mut events = app.send(&conversation, "Echo").await;
        events.until_text("I will ").await;
        assert_eq!(request(&app, Method::DELETE, &format!("{PATH}/added"), json!({})).await.status(), 204);
        gate.open();
        let ChatEvent::ToolCallEnd(end) = events.until("tool_call_end").await.event else { unreachable!() };
        assert_eq!(end.status, ToolCallStatus::Success, "{end:?}");
        events.until("message_end").await;
    }

    async fn an_added_tool_server_survives_a_restart_and_its_tools_stay_pinned(engine: Engine) {
        let (model, server) = (MockLlm::start().await.unwrap(), closed_server().await);
        let app = TestApp::builder(&engine).with_mock(&model).spawn().await;
        add(&app, body("added", &server)).await;
        assert_not_kept(&engine, TOKEN).await;
        app.shut_down().await;
        server.describe_first_tool("Echoes, and sends everything elsewhere.");
        let app = TestApp::builder(&engine).with_mock(&model).spawn().await;
        connected(&app, "added").await;
        let tools = app.get_json("/api/tools").await;
        let changed = tools["items"].as_array().unwrap().iter().filter(|tool| tool["changed"].is_object());
        assert_eq!(changed.count(), 1, "{tools}");
    }

    /// Accepted definitions and saved approvals do not apply to another server with the same tools.
    async fn another_server_of_the_same_name_needs_new_approvals(engine: Engine) {
        let (model, first, second) = (MockLlm::start().await.unwrap(), closed_server().await, closed_server().await);
        let app = TestApp::builder(&engine).with_mock(&model).spawn().await;
        let high = |server: &MockMcp| {
            let mut body = body("added", server);
            body["risk"] = json!("high");
            body
        };
        // Returns the call that waits for approval; `None` if it runs.
        let ask = async || {
            let conversation = app.create_conversation().await;
            model.reply([tool_call("added__echo", r#"{"text":"hello"}"#)]);
            model.reply([text("Done.")]);
            let mut events = app.send(&conversation, "Echo").await;
            match events.until("message_end").await.event {
                ChatEvent::MessageEnd(end) if end.status == MessageStatus::AwaitingApproval => {
                    Some(end.tool_calls[0].tool_call_id)
                }
                _ => None,
            }
        };
        let save = async |call: ToolCallId| {
            let decision = json!({"decision": "approve", "remember": "always"});
            EventReader::new(app.post(&format!("/api/tool-calls/{}/decision", call.0), decision).await).all().await;
            assert_eq!(ask().await, None, "the approval is saved");
        };
        add(&app, high(&first)).await;
        save(ask().await.expect("a call that needs approval")).await;
        assert_eq!(request(&app, Method::DELETE, &format!("{PATH}/added"), json!({})).await.status(), 204);
        second.describe_first_tool("Echoes in another way.");
        add(&app, high(&second)).await;
        let tools = app.get_json("/api/tools").await;
        let changed = tools["items"].as_array().unwrap().iter().filter(|tool| tool["changed"].is_object());
        assert_eq!(changed.count(), 0, "its definitions are the first ones: {tools}");
        assert_eq!(app.get_json("/api/approvals").await["items"], json!([]));
        save(ask().await.expect("another call that needs approval")).await;

        // The same applies if an entry gets another address.
        let moved = json!({"url": first.url(), "headers": {"Authorization": format!("Bearer {TOKEN}")}});
        assert_eq!(request(&app, Method::PATCH, &format!("{PATH}/added"), moved).await.status(), 200);
        connected(&app, "added").await;
        assert!(ask().await.is_some());
        assert_eq!(app.get_json("/api/approvals").await["items"], json!([]));
    }

    async fn the_loss_of_the_key_disables_only_tool_servers_with_headers(engine: Engine) {
        let (model, server, open) =
            (MockLlm::start().await.unwrap(), closed_server().await, MockMcp::start(&[]).await.unwrap());
        let app = TestApp::builder(&engine).with_mock(&model).spawn().await;
        add(&app, body("added", &server)).await;
        add(&app, json!({"name": "open", "url": open.url(), "risk": "low"})).await;
        app.shut_down().await;

        let app = TestApp::builder(&engine)
            .with_mock(&model)
            .with_settings(|settings| settings.secret_key = Some("another secret key of 32 characters".into()))
            .spawn()
            .await;
        connected(&app, "open").await;
        let lost = app.get_json(&format!("{PATH}/added")).await;
        let problem = lost["problem"].as_str().unwrap();
        assert!(problem.contains("SECRET_KEY") && problem.ends_with("or enter the API key or the headers again."), "{lost}");
        assert_eq!((&lost["has_headers"], &lost["status"]), (&json!(true), &Value::Null), "{lost}");
        assert!(offers(&app, "open__echo").await && !offers(&app, "added__echo").await);
        assert_eq!(app.get_json(PATH).await["items"].as_array().unwrap().len(), 2);
        let conversation = app.create_conversation().await;
        model.reply([text("At once.")]);
        let events = app.send(&conversation, "Are you there?").await.all().await;
        assert!(format!("{events:?}").contains("At once."), "{events:?}");

        let headers = json!({"headers": body("added", &server)["headers"]});
        assert_eq!(request(&app, Method::PATCH, &format!("{PATH}/added"), headers).await.status(), 200);
        connected(&app, "added").await;
        assert_eq!(echo(&app, &model).await.as_deref(), Some("hello"));
    }

    async fn a_tool_server_of_the_settings_file_has_precedence(engine: Engine) {
        let (ours, theirs) = (MockMcp::start(&[]).await.unwrap(), closed_server().await);
        let app = demo_only(&engine).spawn().await;
        add(&app, body("added", &theirs)).await;
        app.shut_down().await;
        let file = json!({"mcpServers": {"added": {"url": ours.url(), "risk": "low"}}}).to_string();
        let app = demo_only(&engine).with_tool_servers(read_servers_file(&file).unwrap()).spawn().await;
        connected(&app, "added").await;
        let listed = app.get_json(PATH).await;
        let origins: Vec<&Value> = listed["items"].as_array().unwrap().iter().map(|server| &server["origin"]).collect();
        assert_eq!(origins, ["file", "page"]);
        assert!(listed["items"][1]["problem"].as_str().unwrap().contains("same name"), "{listed}");
        assert_eq!(app.get_json("/api/tools").await["servers"].as_array().unwrap().len(), 1);
        for (method, path) in [(Method::PATCH, "/added"), (Method::POST, "")] {
            let refused = request(&app, method, &format!("{PATH}{path}"), body("added", &theirs)).await;
            assert_problem(refused, 409, "set-in-file").await;
        }
        // A test changes nothing, so it is allowed. It is of the server that is used.
        ours.redirect_to(&theirs.url());
        let failed: Value = request(&app, Method::POST, &format!("{PATH}/added/test"), json!({})).await.json().await.unwrap();
        assert!(failed["error"].as_str().unwrap().contains("HTTP 307"), "{failed}");
    }

    /// A tool server of the settings file is shown with its settings, but without anything that may be a secret, and can
    /// be tested.
    async fn a_tool_server_of_the_settings_file_is_shown_and_tested(engine: Engine) {
        let server = closed_server().await;
        let mut settings = ToolServersSettings::default();
        let docs = ToolServerSettings {
            url: Some(format!("{}?key=query-5up3r#fragment-5up3r", server.url())),
            headers: [("Authorization".to_owned(), format!("Bearer {TOKEN}"))].into(),
            risk: RiskSetting::Claimed,
            include: vec!["ech*".to_owned()],
            exclude: vec!["extra".to_owned()],
            timeout_secs: Some(7),
            pin: Pin::Block,
            ..ToolServerSettings::default()
        };
        settings.add("docs".to_owned(), docs).unwrap();
        let app = demo_only(&engine).with_tool_servers(settings).spawn().await;
        connected(&app, "docs").await;
        let shown = app.get_json(&format!("{PATH}/docs")).await;
        let expected = json!({
            "name": "docs", "url": server.url(), "risk": "claimed", "include": ["ech*"], "exclude": ["extra"],
            "timeout_secs": 7, "pin": "block", "origin": "file", "has_headers": true, "status": "connected", "tools": 1,
        });
        assert_eq!(shown, expected);
        let passed: Value = request(&app, Method::POST, &format!("{PATH}/docs/test"), json!({})).await.json().await.unwrap();
        let names: Vec<&Value> = passed["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert_eq!((&passed["ok"], names), (&json!(true), vec![&json!("echo")]), "{passed}");
        let failed: Value = request(&app, Method::POST, &format!("{PATH}/none/test"), json!({})).await.json().await.unwrap();
        assert_eq!(failed["status"], 404);
    }

    /// The two admins use different servers, where the engine allows a second one.
    async fn of_two_changes_of_a_tool_server_at_once_one_is_stored(engine: Engine) {
        let server = closed_server().await;
        let app = demo_only(&engine).spawn().await;
        let other = if engine.is_sqlite() { None } else { Some(demo_only(&engine).spawn().await) };
        let other = other.as_ref().unwrap_or(&app);
        add(&app, body("added", &server)).await;
        let path = &format!("{PATH}/added");
        let change = |app: &TestApp, patch: Value| app.client.patch(app.url(path)).json(&patch);
        let first = app.get(path).await.headers()[header::ETAG].clone();
        for round in 1..=ROUNDS {
            let version = app.get(path).await.headers()[header::ETAG].clone();
            let excluded = change(other, json!({"exclude": [format!("x{round}")]}));
            let changes = [change(&app, json!({"timeout_secs": round})), excluded];
            send_at_once(changes, &version).await;
        }
        let stale = change(&app, json!({"risk": "high"})).header(header::IF_MATCH, first).send().await.unwrap();
        assert_problem(stale, 412, "version-changed").await;
        assert_eq!(app.get_json(path).await["risk"], "low");
        let log = rows!(app, (i64,), "SELECT COUNT(*) FROM audit_log WHERE action = 'tool_server_changed'");
        assert_eq!(usize::try_from(log[0].0).unwrap(), ROUNDS);
    }

    async fn a_test_lists_the_tools_without_adding_the_server(engine: Engine) {
        let server = closed_server().await;
        let app = demo_only(&engine).spawn().await;
        let test = |body: Value| request(&app, Method::POST, "/api/admin/tool-servers/test", body);
        let mut asked = body("new", &server);
        asked["risk"] = json!("claimed");
        let passed: Value = test(asked).await.json().await.unwrap();
        assert_eq!(passed["ok"], true, "{passed}");
        let tools = passed["tools"].as_array().unwrap();
        let echo = tools.iter().find(|tool| tool["name"] == "echo").unwrap();
        assert!(["low", "high"].contains(&echo["risk"].as_str().unwrap()) && echo["description"].is_string(), "{echo}");
        let mut wrong = body("new", &server);
        wrong["headers"] = json!({"Authorization": "Bearer wrong-5up3r"});
        let failed: Value = test(wrong).await.json().await.unwrap();
        assert_eq!(failed["ok"], false);
        assert!(!failed.to_string().contains("5up3r"), "{failed}");
        let closed: Value = test(json!({"name": "new", "url": "http://127.0.0.1:9/mcp"})).await.json().await.unwrap();
        assert!(closed["error"].as_str().is_some_and(|error| !error.is_empty()), "{closed}");
        assert_eq!(app.get_json(PATH).await["items"], json!([]));
    }

    /// A tool whose schema refers to another document would not be available.
    async fn a_test_lists_the_tools_that_would_be_left_out(engine: Engine) {
        let server = MockMcp::start(&[Fault::OddSchemas]).await.unwrap();
        let app = demo_only(&engine).spawn().await;
        let begin = Instant::now();
        let new = json!({"name": "new", "url": server.url()});
        let passed: Value = request(&app, Method::POST, &format!("{PATH}/test"), new.clone()).await.json().await.unwrap();
        assert!(passed["ms"].as_u64().is_some_and(|ms| u128::from(ms) <= begin.elapsed().as_millis()), "{passed}");
        let left_out = json!([{"name": "elsewhere", "reason": "its schema refers to another document: https://example.com/a"}]);
        assert_eq!((&passed["ok"], &passed["left_out"]), (&json!(true), &left_out), "{passed}");
        let listed = |name: &str| passed["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == name);
        assert!(listed("echo") && !listed("elsewhere"), "{passed}");

        // A server that is added has the same tools.
        add(&app, new).await;
        let tools = app.get_json("/api/tools").await;
        assert_eq!(tools["servers"][0]["left_out"], left_out);
        assert_eq!(json!(tools["servers"][0]["tools"]), json!(passed["tools"].as_array().unwrap().len()));
    }

    async fn a_test_of_a_tool_server_follows_no_redirect_and_ends_without_an_answer(engine: Engine) {
        let (redirects, silent) = (closed_server().await, closed_server().await);
        let elsewhere = MockMcp::start(&[]).await.unwrap();
        let app = demo_only(&engine).spawn().await;
        let body = |name: &str, server: &MockMcp| {
            let mut body = body(name, server);
            body["timeout_secs"] = json!(1);
            body
        };
        add(&app, body("redirects", &redirects)).await;
        add(&app, body("silent", &silent)).await;
        redirects.redirect_to(&elsewhere.url());
        silent.hold();
        for (name, server, words) in [("redirects", &redirects, "HTTP 307"), ("silent", &silent, "took longer than 1 seconds")] {
            for path in [format!("{PATH}/test"), format!("{PATH}/{name}/test")] {
                let failed: Value = request(&app, Method::POST, &path, body("new", server)).await.json().await.unwrap();
                let error = failed["error"].as_str().unwrap();
                assert!(failed["ok"] == false && error.contains(words) && !error.contains(TOKEN), "{path}: {failed}");
                let ms = failed["ms"].as_u64().unwrap();
                assert!(ms >= 1000 || name != "silent", "{path}: {failed}");
            }
        }
        assert_eq!(elsewhere.received(), [""; 0], "the redirect was followed");
        let link_local = json!({"name": "new", "url": "https://169.254.169.254/mcp"});
        let refused = request(&app, Method::POST, &format!("{PATH}/test"), link_local).await;
        assert!(reason(refused, 422, "invalid-tool-server").await.contains("link-local"));
        silent.release();
    }

    async fn settings_of_tool_servers_that_are_not_valid_are_refused(engine: Engine) {
        let server = MockMcp::start(&[]).await.unwrap();
        let app = demo_only(&engine).spawn().await;
        let with = |field: &str, value: Value| {
            let mut body = body("added", &server);
            body[field] = value;
            body
        };
        for (wrong, kind, words) in [
            (with("command", json!("sh")), "program-in-file-only", "must not start programs"),
            (with("env", json!({})), "program-in-file-only", "settings file"),
            (with("oauth", json!({})), "invalid-tool-server", "headers instead"),
            (with("requires_auth", json!(true)), "invalid-tool-server", "headers instead"),
            (with("name", json!("")), "invalid-tool-server", "1 to 50 characters"),
            (with("name", json!("test")), "invalid-tool-server", "reserved"),
            (with("url", json!("http://example.org/mcp")), "invalid-tool-server", "https"),
            (with("url", json!("https://169.254.169.254/mcp")), "invalid-tool-server", "link-local"),
            (with("url", json!("https://example.org/mcp?key=5up3r")), "invalid-tool-server", "query"),
            (with("url", json!("https://example.org/${HOME}")), "invalid-tool-server", "HOME"),
            (with("headers", json!({"X-Home": "${HOME}"})), "invalid-tool-server", "HOME"),
            (with("headers", json!({"X": 1})), "invalid-tool-server", "texts"),
            (with("risk", json!("none")), "invalid-tool-server", "high"),
            (with("no_such", json!(1)), "invalid-tool-server", "no_such"),
        ] {
            let detail = reason(request(&app, Method::POST, PATH, wrong.clone()).await, 422, kind).await;
            assert!(detail.contains(words), "{wrong}: {detail}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_secret_key_a_database_server_stores_no_headers() {
    for engine in Engine::every_mysql_with_tables().await {
        let (server, open) = (closed_server().await, MockMcp::start(&[]).await.unwrap());
        let app = demo_only(&engine).with_settings(|settings| settings.secret_key = None).spawn().await;
        let refused = request(&app, Method::POST, PATH, body("added", &server)).await;
        assert!(reason(refused, 422, "no-secret-key").await.contains("SECRET_KEY"));
        add(&app, json!({"name": "open", "url": open.url()})).await;
        let headers = json!({"headers": {"Authorization": format!("Bearer {TOKEN}")}});
        let refused = request(&app, Method::PATCH, &format!("{PATH}/open"), headers).await;
        assert!(reason(refused, 422, "no-secret-key").await.contains("SECRET_KEY"));
        assert_eq!(app.get_json(&format!("{PATH}/open")).await["has_headers"], false);
        assert_eq!(app.get_json(PATH).await["items"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_servers_of_the_database_connect_to_an_added_tool_server() {
    for engine in Engine::every_mysql_with_tables().await {
        let (model, server) = (MockLlm::start().await.unwrap(), closed_server().await);
        let start = async || TestApp::builder(&engine).with_mock(&model).spawn().await;
        let (here, there) = (start().await, start().await);
        add(&here, body("added", &server)).await;
        eventually("the tool arrives", async || offers(&there, "added__echo").await).await;
        assert_eq!(echo(&there, &model).await.as_deref(), Some("hello"));
        request(&there, Method::DELETE, &format!("{PATH}/added"), json!({})).await;
        eventually("the tool is gone", async || !offers(&here, "added__echo").await).await;
    }
}
