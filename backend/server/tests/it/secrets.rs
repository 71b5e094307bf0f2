//! Secret arguments, which a tool's schema marks: they reach their tool, and appear in no event, row, page, export or
//! log. Secrets in the settings and of users are tested in `accounts::canaries`.

#![cfg(unix)]

use std::sync::Arc;

use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_mock_mcp::Program as ToolServer;
use tallybook_protocol::ChatEvent;
use tallybook_tools::{Risk, Tool, ToolError, ToolOutput, ToolRegistry};

use crate::support::{Engine, Program, TestApp, eventually, on_every_engine, rows};

/// A secret that is so odd that it does not appear anywhere by chance.
const CANARY: &str = "canary \"Ω\" 5up3r";

#[derive(Deserialize, JsonSchema)]
struct Credentials {
    user: String,
    #[schemars(extend("format" = "password"))]
    password: String,
}

/// A tool that takes a password and repeats it in its output or in its error.
#[derive(Clone, Default)]
struct Login<const RISKY: bool>(Arc<Mutex<Vec<String>>>);

impl<const RISKY: bool> Tool for Login<RISKY> {
    type Args = Credentials;
    const NAME: &'static str = if RISKY { "login_and_pay" } else { "login" };
    const DESCRIPTION: &'static str = "Logs in.";
    const RISK: Risk = if RISKY { Risk::High } else { Risk::Low };

    async fn call(&self, Credentials { user, password }: Credentials) -> Result<ToolOutput, ToolError> {
        self.0.lock().push(password.clone());
        if user == "ann" {
            return Ok(ToolOutput::text(format!("ann:{password} is in")));
        }
        Err(ToolError::other("refused", format!("{password} is not the password of {user}")))
    }
}

#[derive(Deserialize, JsonSchema)]
struct Payment {
    amount: u32,
    #[schemars(extend("writeOnly" = true))]
    pin: Option<String>,
}

/// A tool that pays. The PIN is optional, because small amounts need none.
struct Pay;

impl Tool for Pay {
    type Args = Payment;
    const NAME: &'static str = "pay";
    const DESCRIPTION: &'static str = "Pays.";
    const RISK: Risk = Risk::High;

    async fn call(&self, Payment { amount, pin }: Payment) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(format!("paid {amount} {}", pin.is_some())))
    }
}

fn login(tool: &str, user: &str, password: &str) -> tallybook_mock_llm::Part {
    tool_call(tool, json!({ "user": user, "password": password }).to_string())
}

/// Fails if any column of any table contains the words, as they are or as part of JSON.
pub(crate) async fn assert_not_kept(engine: &Engine, words: &str) {
    let columns: Vec<(String, String)> = if engine.is_sqlite() {
        rows!(
            engine,
            (String, String),
            "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'"
        )
    } else {
        rows!(
            engine,
            (String, String),
            "SELECT CAST(table_name AS CHAR), CAST(column_name AS CHAR) FROM information_schema.columns \
             WHERE table_schema = DATABASE()"
        )
    };
    assert!(columns.len() > 100, "{columns:?}");
    let in_json = json!(words).to_string();
    let backslash = if engine.is_sqlite() { "\\" } else { "\\\\" };
    let needles = [words, in_json.trim_matches('"'), "5up3r"].map(|needle| needle.replace('\\', backslash));
    let selects = columns.iter().map(|(table, column)| {
        let holds = needles.each_ref().map(|needle| format!("INSTR(CAST(`{column}` AS CHAR), '{needle}') > 0"));
        format!("SELECT '{table}.{column}' FROM {table} WHERE {}", holds.join(" OR "))
    });
    let sql = selects.collect::<Vec<_>>().join(" UNION ALL ");
    let found = rows!(engine, (String,), sqlx::AssertSqlSafe(sql.as_str()));
    assert!(found.is_empty(), "{found:?}");
}

on_every_engine! {
    async fn a_secret_argument_reaches_only_its_tool(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let tool = Login::<false>::default();
        let tools = ToolRegistry::default().with(tool.clone()).unwrap();
        let app = TestApp::builder(&engine).with_mock(&model).with_tools(tools).spawn().await;
        let conversation = app.create_conversation().await;
        model.reply([login("login", "ann", CANARY), login("login", "bob", CANARY), tool_call("login", format!(r#"{{"password":"{CANARY}"#))]);
        model.reply([text("Done.")]);
        let events = app.send(&conversation, "Log in").await.all().await;
        let text = format!("{events:?}");
        assert!(!text.contains("5up3r") && text.contains("[hidden]"), "{text}");
        assert_eq!(*tool.0.lock(), [CANARY, CANARY], "the tool received the secret");
        assert!(!model.requests()[1].body_text.contains("5up3r"), "the prompt does not contain the secret again");
        assert_not_kept(&engine, CANARY).await;
        let rows = rows!(
            app,
            (String, Option<String>, Option<String>, String),
            "SELECT input_text, output, error, status FROM tool_calls ORDER BY position"
        );
        let (input, output, error) = (|n: usize| rows[n].0.as_str(), rows[0].1.as_deref(), rows[1].2.as_deref());
        assert_eq!([input(0), input(1), input(2)], [
            r#"{"password":"[hidden]","user":"ann"}"#,
            r#"{"password":"[hidden]","user":"bob"}"#,
            r#""[hidden]""#,
        ]);
        assert_eq!((output, error), (Some("ann:[hidden] is in"), Some("[hidden] is not the password of bob")));
        for address in [format!("/c/{conversation}"), format!("/api/conversations/{conversation}/export?format=json")] {
            let shown = app.get(&address).await.text().await.unwrap();
            assert!(!shown.contains("5up3r") && shown.contains("[hidden]"), "{address}: {shown}");
        }
    }

    /// A turn that waits keeps nothing in memory, and its secret is stored nowhere, so the call cannot wait for
    /// approval.
    async fn a_call_with_a_secret_cannot_wait_for_approval(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let tool = Login::<true>::default();
        let tools = ToolRegistry::default().with(tool.clone()).unwrap();
        let app = TestApp::builder(&engine).with_mock(&model).with_tools(tools).spawn().await;
        let conversation = app.create_conversation().await;
        model.reply([login("login_and_pay", "ann", CANARY)]);
        model.reply([text("I may not.")]);
        let events = app.send(&conversation, "Pay").await.all().await;
        assert!(matches!(events.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "I may not."), "{events:?}");
        assert!(tool.0.lock().is_empty());
        let rows = rows!(app, (String, String), "SELECT status, error_type FROM tool_calls");
        assert_eq!(rows, [("error".to_owned(), "secret_cannot_wait".to_owned())]);
        assert_not_kept(&engine, CANARY).await;
    }

    /// An edited input is stored before it runs, so it must not contain a secret.
    async fn a_secret_in_an_edited_input_is_refused(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let tools = ToolRegistry::default().with(Pay).unwrap();
        let app = TestApp::builder(&engine).with_mock(&model).with_tools(tools).spawn().await;
        let conversation = app.create_conversation().await;
        // A missing PIN is not a secret, so the call may wait.
        model.reply([tool_call("pay", r#"{"amount":1,"pin":null}"#)]);
        let events = app.send(&conversation, "Pay").await.all().await;
        let asked = events.iter().find_map(|event| match event {
            ChatEvent::ApprovalRequested(asked) => Some(asked.tool_call_id.0),
            _ => None,
        });
        let address = format!("/api/tool-calls/{}/decision", asked.unwrap());
        let edited = |input: serde_json::Value| json!({ "decision": "approve", "input": input });
        let refused = app.post(&address, edited(json!({ "amount": 2, "pin": CANARY }))).await;
        assert_eq!(refused.status(), 422);
        assert_not_kept(&engine, CANARY).await;
        model.reply([text("Paid.")]);
        let rest = app.post(&address, edited(json!({ "amount": 2, "pin": null }))).await.text().await.unwrap();
        assert!(rest.contains("paid 2 false"), "{rest}");
    }

    /// A stored call has `[hidden]` in place of its secrets. A model that reads its own history may copy this
    /// placeholder into a call. That call fails with an error, and the tool does not run.
    async fn a_call_with_the_placeholder_of_a_secret_fails(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let tool = Login::<false>::default();
        let tools = ToolRegistry::default().with(tool.clone()).unwrap();
        let app = TestApp::builder(&engine).with_mock(&model).with_tools(tools).spawn().await;
        let conversation = app.create_conversation().await;
        model.reply([login("login", "ann", "[hidden]")]);
        model.reply([text("Which password?")]);
        app.send(&conversation, "Log in again").await.all().await;
        assert!(tool.0.lock().is_empty());
        let rows = rows!(app, (String, String), "SELECT status, error_type FROM tool_calls");
        assert_eq!(rows, [("error".to_owned(), "secret_not_kept".to_owned())]);
    }

    /// A model that calls a tool that is turned off writes the same secret arguments as before.
    async fn a_secret_for_a_disabled_tool_is_redacted_too(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let tool = Login::<false>::default();
        let tools = ToolRegistry::default().with(tool.clone()).unwrap();
        let app = TestApp::builder(&engine).with_mock(&model).with_tools(tools).spawn().await;
        let conversation = app.create_conversation().await;
        let switches = app.client.put(app.url(&format!("/api/conversations/{conversation}/tools")));
        let off = switches.json(&json!({ "disabled": ["login"] })).send().await.unwrap();
        assert_eq!(off.status(), 200);
        model.reply([login("login", "ann", CANARY)]);
        model.reply([text("It is off.")]);
        let text = format!("{:?}", app.send(&conversation, "Log in").await.all().await);
        assert!(!text.contains("5up3r") && text.contains("[hidden]"), "{text}");
        assert!(tool.0.lock().is_empty());
        assert_not_kept(&engine, CANARY).await;
        let rows = rows!(app, (String, String), "SELECT input_text, error_type FROM tool_calls");
        assert_eq!(rows, [(r#"{"password":"[hidden]","user":"ann"}"#.to_owned(), "tool_disabled".to_owned())]);
    }

    /// A tool server can write anything beside its responses, mainly to standard error. Such text does not belong to a
    /// known call.
    async fn a_secret_that_a_tool_server_repeats_is_redacted(engine: Engine) {
        let secret = "canary-argument-5up3r";
        let model = MockLlm::start().await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (log, servers) = (folder.path().join("log"), folder.path().join("servers.json"));
        let local = ToolServer::of_test("tool_servers::tool_server_process", &["repeats-secrets"]);
        let local = json!({ "command": local.command, "args": local.args, "env": local.env, "risk": "low" });
        std::fs::write(&servers, json!({ "mcpServers": { "local": local } }).to_string()).unwrap();
        let mut command = Program::command_after(&format!("exec 2>'{}'", log.display()), &engine, &model);
        let app = TestApp::launch_command(&engine, command.env("RUST_LOG", "trace").env("MCP_SERVERS_FILE", &servers));
        eventually("the tool server is connected", async || {
            app.get_json("/api/tools").await["servers"][0]["status"] == "connected"
        })
        .await;
        let conversation = app.create_conversation().await;
        model.reply([tool_call("local__login", json!({ "password": secret }).to_string())]);
        model.reply([text("No.")]);
        let events = format!("{:?}", app.send(&conversation, "Log in").await.all().await);
        assert!(events.contains("[hidden] is not the password") && !events.contains("5up3r"), "{events}");
        assert_not_kept(&engine, secret).await;
        let read = || std::fs::read_to_string(&log).unwrap();
        eventually("the tool server's text is in the log", async || read().contains("stderr of a tool server")).await;
        let log = read();
        let line = |word: &str| log.lines().find(|line| line.contains(word)).unwrap_or_default().to_owned();
        assert!(line("stderr of a tool server").contains("[hidden] is not the password"), "{}", line("stderr of a tool server"));
        assert!(!log.contains("5up3r"), "{}", line("5up3r"));
    }
}
