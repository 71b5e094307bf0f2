//! Tallybook as an MCP server. The clients are Tallybook's own MCP client, requests written by hand in both eras of the
//! protocol, and the official Python SDK (`mcp_program.py`).

use std::{path::Path, process::Stdio};

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use tallybook_mcp::read_servers_file;
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_tools::{Risk, Tool, ToolError, ToolOutput};
use tokio::{process::Command, time::timeout};

use super::{kit::tools, python};
use crate::support::{Engine, NoArgs, Panics, TIMEOUT, TestApp, eventually, on_every_engine, rows};

/// A tool that changes something, so it is not available over MCP.
struct Orders;

impl Tool for Orders {
    type Args = NoArgs;
    const NAME: &'static str = "order";
    const DESCRIPTION: &'static str = "Orders a dish.";
    const RISK: Risk = Risk::High;

    async fn call(&self, _: NoArgs) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("ordered"))
    }
}

async fn send(app: &TestApp, message: &Value) -> Response {
    app.client.post(app.url("/mcp")).json(message).send().await.unwrap()
}

/// Returns a request, without parameters if `params` is null.
fn request(method: &str, params: &Value) -> Value {
    let mut request = json!({"jsonrpc": "2.0", "id": 1, "method": method});
    if !params.is_null() {
        request["params"] = params.clone();
    }
    request
}

/// Returns the HTTP status and the error code of a refusal.
async fn refused(response: Response) -> (u16, i64) {
    let status = response.status().as_u16();
    let body: Value = response.json().await.unwrap();
    (status, body["error"]["code"].as_i64().unwrap_or_else(|| panic!("{body}")))
}

/// Sends a request, and returns its result.
async fn result(app: &TestApp, method: &str, params: Value) -> Value {
    let response = send(app, &json!({"jsonrpc": "2.0", "id": "a", "method": method, "params": params})).await;
    assert_eq!(response.status(), StatusCode::OK);
    let body: Value = response.json().await.unwrap();
    assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &json!("a")), "{body}");
    body.get("result").unwrap_or_else(|| panic!("{body}")).clone()
}

/// Calls a tool. Returns its text, and `true` if the call failed.
async fn call(app: &TestApp, name: &str, arguments: Value) -> (String, bool) {
    let said = result(app, "tools/call", json!({"name": name, "arguments": arguments})).await;
    (said["content"][0]["text"].as_str().unwrap().to_owned(), said["isError"] == true)
}

/// Stores a turn with a tool call.
async fn turn(app: &TestApp, model: &MockLlm, name: &str, input: &str) {
    let conversation = app.create_conversation().await;
    model.reply([tool_call(name, input)]);
    model.reply([text("Done.")]);
    app.send(&conversation, "Go").await.all().await;
}

on_every_engine! {
    /// One server is configured as a tool server of another, whose turn calls its tools.
    async fn tallybooks_own_client_calls_the_tools(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let server = TestApp::spawn(&engine, &model).await;
        turn(&server, &model, "divide", r#"{"a":1,"b":0}"#).await;
        let entry = json!({"mcpServers": {"book": {"url": server.url("/mcp"), "risk": "claimed"}}});
        let settings = read_servers_file(&entry.to_string()).unwrap();
        let client = TestApp::builder(&Engine::sqlite()).with_mock(&model).with_tool_servers(settings).spawn().await;
        let list = async || client.get_json("/api/tools").await;
        eventually("the tool server is connected", async || list().await["servers"][0]["status"] == "connected").await;
        let listed = list().await;
        assert_eq!(listed["servers"][0]["left_out"], json!([]));
        let risks = listed["items"].as_array().unwrap().iter().filter(|tool| tool["server"] == "book");
        assert!(risks.clone().count() > 5 && risks.clone().all(|tool| tool["risk"] == "low"), "{listed}");
        let conversation = client.create_conversation().await;
        model.reply([
            tool_call("book__add", r#"{"a":0.1,"b":0.2}"#),
            tool_call("book__divide", r#"{"a":1,"b":0}"#),
            tool_call("book__search_tool_calls", r#"{"filter":"tool:divide"}"#),
        ]);
        model.reply([text("Called.")]);
        client.send(&conversation, "Go").await.all().await;
        let calls = client.conversation(&conversation).await["messages"][1]["tool_calls"].clone();
        assert_eq!(calls[0]["output"], "0.3");
        assert!(calls[1]["error"].as_str().unwrap().contains("division by zero"), "{calls}");
        let found: Value = serde_json::from_str(calls[2]["output"].as_str().unwrap()).unwrap();
        assert_eq!((&found["tool_calls"][0]["tool"], &found["tool_calls"][0]["status"]), (&json!("divide"), &json!("error")));
        let metrics = server.get("/metrics").await.text().await.unwrap();
        for line in [
            r#"tallybook_tool_calls_total{tool="add",status="success"} 1"#,
            r#"tallybook_tool_calls_total{tool="divide",status="error"} 2"#,
        ] {
            assert!(metrics.contains(line), "{line} is not in {metrics}");
        }
        // These calls belong to no answer, and are not in the tool history.
        assert_eq!(rows!(server, (i64,), "SELECT COUNT(*) FROM tool_calls"), [(1,)]);
        model.assert_calls_paired();
    }

    async fn the_tool_history_can_be_searched_and_read(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        turn(&app, &model, "add", r#"{"a":1,"b":2}"#).await;
        turn(&app, &model, "divide", r#"{"a":7,"b":0}"#).await;
        let found = async |filter: &str| {
            let said = result(&app, "tools/call", json!({"name": "search_tool_calls", "arguments": {"filter": filter}})).await;
            let text: Value = serde_json::from_str(said["content"][0]["text"].as_str().unwrap()).unwrap();
            assert_eq!(text, said["structuredContent"]);
            text["tool_calls"].as_array().unwrap().clone()
        };
        assert_eq!(found("").await.len(), 2);
        let errors = found("status:error zero").await;
        assert_eq!((errors.len(), &errors[0]["tool"], &errors[0]["server"]), (1, &json!("divide"), &json!("built-in")));
        let (whole, failed) = call(&app, "get_tool_call", json!({"id": errors[0]["id"]})).await;
        let whole: Value = serde_json::from_str(&whole).unwrap();
        assert_eq!((&whole["input"], failed), (&json!(r#"{"a":7,"b":0}"#), false));
        assert_eq!((&whole["error"], &whole["output"]), (&json!("invalid_b: division by zero"), &Value::Null));
        for (name, arguments, words) in [
            ("get_tool_call", json!({"id": 999}), "tool call does not exist"),
            ("get_tool_call", json!({}), "missing field `id`"),
            ("get_tool_call", json!({"id": 1, "made_up": 2}), "made_up"),
            ("search_tool_calls", json!({"filter": "colour:red"}), "colour"),
        ] {
            let (said, failed) = call(&app, name, arguments).await;
            assert!(failed && said.contains(words), "{said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_older_era_of_the_protocol_is_supported() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    for (asked, spoken) in [("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")] {
        let hello = result(&app, "initialize", json!({"protocolVersion": asked, "capabilities": {}})).await;
        assert_eq!((&hello["protocolVersion"], &hello["serverInfo"]["name"]), (&json!(spoken), &json!("tallybook")));
    }
    assert_eq!(result(&app, "ping", json!({})).await, json!({}));
    let note = send(&app, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    assert_eq!((note.status(), note.text().await.unwrap()), (StatusCode::ACCEPTED, String::new()));
    for (message, status, code) in [
        (request("resources/list", &Value::Null), 200, -32601),
        (request("server/discover", &json!({})), 200, -32601),
        (request("tools/call", &json!({"name": "nothing"})), 200, -32602),
        (request("tools/call", &json!([1])), 200, -32602),
        (json!([request("ping", &json!({}))]), 400, -32600),
        (json!({"jsonrpc": "1.0", "id": 1, "method": "ping"}), 400, -32600),
        (json!({"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}), 400, -32600),
        (json!({"jsonrpc": "2.0", "id": null, "method": "ping"}), 400, -32600),
        (json!({"jsonrpc": "2.0", "id": "x".repeat(1000), "method": "ping"}), 400, -32600),
        (json!(7), 400, -32600),
    ] {
        assert_eq!(refused(send(&app, &message).await).await, (status, code), "{message}");
    }
    let broken = app.client.post(app.url("/mcp")).header("content-type", "application/json").body("{");
    assert_eq!(refused(broken.send().await.unwrap()).await, (400, -32700));
    for (header, value, code) in [("mcp-protocol-version", "2024-01-01", -32022), ("mcp-method", "ping", -32020)] {
        let list = request("tools/list", &json!({}));
        let response = app.client.post(app.url("/mcp")).header(header, value).json(&list).send().await.unwrap();
        assert_eq!(refused(response).await, (400, code));
    }
}

/// Returns the metadata that a request of the newer era must contain.
fn meta(version: &str) -> Value {
    let (said, can) = ("io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities");
    json!({"_meta": {said: version, can: {}}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_of_the_newer_era_needs_no_session() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let ask = async |headers: &[(&str, &str)], message: Value| {
        let mut asked = app.client.post(app.url("/mcp")).json(&message);
        for (name, value) in headers {
            asked = asked.header(*name, *value);
        }
        asked.send().await.unwrap()
    };
    let now = ("mcp-protocol-version", "2026-07-28");
    let said = meta("2026-07-28");
    let hello = ask(&[now, ("mcp-method", "server/discover")], request("server/discover", &said)).await;
    assert_eq!(hello.json::<Value>().await.unwrap()["result"]["supportedVersions"], json!(["2026-07-28"]));
    let mut sum = said.clone();
    sum["name"] = json!("add");
    sum["arguments"] = json!({"a": 1, "b": 2});
    let call = request("tools/call", &sum);
    let called = ask(&[now, ("mcp-method", "tools/call"), ("mcp-name", "add")], call.clone()).await;
    assert_eq!(called.json::<Value>().await.unwrap()["result"]["content"][0]["text"], "3");
    let list = |params: &Value| request("tools/list", params);
    let method = ("mcp-method", "tools/list");
    let half = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    let (unknown, other) = (("mcp-protocol-version", "2099-01-01"), ("mcp-protocol-version", "2025-11-25"));
    for (headers, message, answer) in [
        // The metadata is absent or incomplete.
        (vec![now, method], list(&json!({})), (400, -32602)),
        (vec![now, method], list(&half), (400, -32602)),
        (vec![now, method], list(&json!({"_meta": 7})), (400, -32602)),
        // The headers must match the body.
        (vec![now], list(&said), (400, -32020)),
        (vec![method], list(&said), (400, -32020)),
        (vec![other, method], list(&said), (400, -32020)),
        (vec![now, ("mcp-method", "TOOLS/LIST")], list(&said), (400, -32020)),
        (vec![now, now, method], list(&said), (400, -32020)),
        (vec![now, ("mcp-method", "tools/call")], call.clone(), (400, -32020)),
        (vec![now, ("mcp-method", "tools/call"), ("mcp-name", "divide")], call, (400, -32020)),
        (vec![unknown, method], list(&meta("2099-01-01")), (400, -32022)),
        // Methods that the newer era does not have.
        (vec![now, ("mcp-method", "ping")], request("ping", &said), (404, -32601)),
        (vec![now, ("mcp-method", "initialize")], request("initialize", &said), (404, -32601)),
    ] {
        assert_eq!(refused(ask(&headers, message.clone()).await).await, answer, "{headers:?} {message}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn get_delete_and_requests_from_other_sites_are_refused() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    for method in [reqwest::Method::GET, reqwest::Method::DELETE] {
        let response = app.client.request(method, app.url("/mcp")).send().await.unwrap();
        assert_eq!((response.status().as_u16(), &response.headers()["allow"]), (405, &"POST".parse().unwrap()));
    }
    let list = request("tools/list", &json!({}));
    let foreign = app.client.post(app.url("/mcp")).header("origin", "https://evil.example").json(&list);
    assert_eq!(foreign.send().await.unwrap().status(), 403);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_low_risk_tools_are_called_and_a_panic_is_contained() {
    let model = MockLlm::start().await.unwrap();
    let registry = tools().with(Orders).unwrap().with(Panics).unwrap();
    let app =
        TestApp::builder(&Engine::sqlite()).with_mock(&model).with_tools(registry).with_settings(|_| {}).spawn().await;
    let listed = result(&app, "tools/list", json!({})).await;
    let names: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"add") && !names.contains(&"order"), "{names:?}");
    let order = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "order"}});
    assert_eq!(send(&app, &order).await.json::<Value>().await.unwrap()["error"]["code"], -32602);
    let (said, failed) = call(&app, "panics", json!({})).await;
    assert!(failed && said.contains("failed unexpectedly"), "{said}");
    assert_eq!(call(&app, "add", json!({"a": 1, "b": 2})).await, ("3".to_owned(), false));
    // Numbers keep all their digits, even if the method's name is written with an escape.
    let exact = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":0.1,"b":0.20000000000000000001}}}"#;
    for body in [exact.to_owned(), exact.replace("tools/call", r"tools\/call")] {
        let sum = app.client.post(app.url("/mcp")).header("content-type", "application/json").body(body);
        let sum: Value = sum.send().await.unwrap().json().await.unwrap();
        assert_eq!(sum["result"]["content"][0]["text"], "0.30000000000000000001");
    }
    let (said, failed) = call(&app, "add", json!({"a": 1})).await;
    assert!(failed && said.contains("missing field `b`"), "{said}");
    assert_eq!(model.requests().len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_python_sdk_calls_the_tools() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    turn(&app, &model, "add", r#"{"a":1,"b":2}"#).await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/api_clients/mcp_program.py");
    let mut command = Command::new(python::program());
    command.arg(script).arg(app.url("/mcp")).stdout(Stdio::piped()).kill_on_drop(true);
    let output = timeout(3 * TIMEOUT, command.output()).await.expect("the script ends").unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    let content: Value = serde_json::from_str(&said).unwrap();
    let expected = json!({"has_add": true, "sum": "0.3", "failed": true, "found": ["add"]});
    assert_eq!(content, expected);
}
