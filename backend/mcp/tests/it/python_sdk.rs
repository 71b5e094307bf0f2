//! Tests with a real server: one made with the official Python SDK, behind OAuth client credentials
//! (`mock-mcp/python_sdk_server.py`).

use std::{
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::json;
use tallybook_mcp::OAuthSettings;
use tallybook_tools::{Risk, UserKey};

use crate::support::{call, call_for, connected, failure, progress, settings, start};

/// Environment variable with the path of a Python that has the packages of `mock-mcp/requirements.txt`.
const PYTHON: &str = "TEST_PYTHON";

/// The server, killed when dropped.
struct PythonServer {
    process: Child,
    port: u16,
}

impl PythonServer {
    fn start() -> Self {
        let python = std::env::var(PYTHON).unwrap_or_default();
        let advice = "set TEST_PYTHON to a Python with mock-mcp/requirements.txt, or run `cargo xtask test`";
        assert!(!python.is_empty(), "{advice}");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mock-mcp/python_sdk_server.py");
        let mut command = Command::new(python);
        let process = command.arg(script).arg(port.to_string()).stdout(Stdio::null()).spawn().unwrap();
        Self { process, port }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }
}

impl Drop for PythonServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn a_server_of_the_python_sdk_works_with_expiring_tokens() {
    let python = PythonServer::start();
    let entry = json!({ "url": python.url("mcp"), "requiresAuth": true, "risk": "claimed" });
    let mut settings = settings(&json!({ "mock": entry }));
    settings.oauth = Some(OAuthSettings {
        token_url: python.url("token"),
        client_id_env: "CLIENT_ID".to_owned(),
        client_secret_env: "CLIENT_SECRET".to_owned(),
        scope: Some("tools".to_owned()),
    });
    // The server takes a moment to start; until then, connecting is retried.
    let servers = start(settings);
    let report = connected(&servers).await;
    assert_eq!((report.tools, report.left_out.len()), (4, 0), "{report:?}");
    let risk = |tool: &str| servers.tools().find_spec(&format!("mock__{tool}")).unwrap().risk;
    assert_eq!((risk("shout"), risk("weigh")), (Risk::Low, Risk::High));

    // More calls than one token is valid for.
    for number in 0..25 {
        let said = call(&servers, "shout", &json!({ "text": format!("hello {number}") })).await;
        assert_eq!(said.as_deref(), Ok(&*format!("HELLO {number}")));
    }
    let weight = call(&servers, "weigh", &json!({ "apples": 2, "pears": 1 })).await.unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&weight).unwrap()["grams"], 480);
    assert_eq!(failure(&servers, "fail").await, "tool_error");
    assert_eq!(failure(&servers, "weigh").await, "tool_error", "the server reports missing arguments");

    let (sender, mut heard) = progress();
    let counted = call_for(UserKey(1), &servers, "count", r#"{"to":3}"#, sender).await.unwrap();
    assert_eq!(counted.text, "counted");
    let first = heard.recv().await.unwrap();
    assert_eq!((first.total, first.message.as_deref()), (Some(3.0), Some("at 1")));
    servers.shut_down().await;
}
