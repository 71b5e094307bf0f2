//! The real program, killed with SIGKILL in the middle of a turn, and started again on what it left.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_protocol::ChatEvent;

use crate::support::{Engine, EventReader, TestApp, eventually, on_every_engine, rows};

struct Program {
    child: Child,
    address: String,
}

impl Program {
    fn start(engine: &Engine, model: &MockLlm) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tallybook"))
            .env_clear()
            .env("PORT", "0")
            .env("DATABASE_URL", &engine.url)
            .env("ANTHROPIC_API_KEY", "sk-test-secret")
            .env("LLM_BASE_URL", model.url())
            .env("LLM_TITLES", "false")
            .env("TURN_LEASE_SECS", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let out = child.stdout.take().expect("its output is ours");
        let line = BufReader::new(out).lines().next().expect("it says where it is").expect("in UTF-8");
        let address = line.rsplit(' ').next().expect("an address").to_owned();
        Self { child, address }
    }

    fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }
}

on_every_engine! {
    /// Whatever was stored is there after a kill: text, finished calls, whole steps; nothing is left open, nothing runs
    /// again by itself, and the conversation goes on.
    async fn a_killed_server_leaves_a_whole_conversation(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let client = reqwest::Client::builder().tls_certs_only([]).no_proxy();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = client.build().unwrap();
        let program = Program::start(&engine, &model);
        let created = client.post(format!("{}/api/conversations", program.address)).json(&json!({})).send().await.unwrap();
        let conversation = created.json::<Value>().await.unwrap()["uuid"].as_str().unwrap().to_owned();
        model.reply([text("Adding. "), tool_call("add", r#"{"a":1,"b":2}"#)]);
        let gate = model.reply_gated([text("It is three. ")], [text("Never sent.")]);
        let path = format!("{}/api/conversations/{conversation}/messages", program.address);
        let sent = client.post(path).json(&json!({"content": "1 + 2?"})).send().await.unwrap();
        let mut turn = EventReader::new(sent);
        turn.until("tool_call_end").await;
        gate.reached().await;
        // The second step's text is stored joined, within a quarter of a second: wait until the database has it.
        eventually("the text is stored", async || {
            let texts = rows!(engine, (String,), "SELECT data FROM journal_events WHERE event = 'content_delta'");
            texts.iter().map(|row| row.0.as_str()).collect::<String>().contains("It is three. ")
        })
        .await;
        program.kill();

        let app = TestApp::spawn(&engine, &model).await;
        let stored = app.idle_conversation(&conversation).await;
        let answer = &stored["messages"][1];
        assert_eq!(answer["status"], "interrupted");
        assert_eq!(answer["content"], "Adding. It is three. ");
        assert_eq!(answer["tool_calls"][0]["status"], "success");
        assert_eq!(answer["tool_calls"][0]["output"], "3");
        let open = rows!(app, (i64,), "SELECT (SELECT COUNT(*) FROM messages WHERE status = 'streaming') \
            + (SELECT COUNT(*) FROM tool_calls WHERE status = 'pending')");
        assert_eq!(open, [(0,)]);
        assert_eq!(model.requests().len(), 2, "nothing runs again by itself");
        model.reply([text("As I said: 3.")]);
        let next = app.send(&conversation, "And?").await.all().await;
        assert!(matches!(next.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "As I said: 3."));
        model.assert_calls_paired();
    }
}
