//! Memory use of a running server. The program runs in its own process, because the kernel counts by process.

use futures_util::future::join_all;
use tallybook_mock_llm::{MockLlm, text};

use crate::support::{Engine, Program, RawConnection, TestApp};

const READERS: usize = 20;

/// Maximum number of rounds of requests. Freed memory is returned to the system as other work arrives, after some
/// hundred requests.
const MAX_ROUNDS: usize = 500;
const REQUESTS_AT_ONCE: usize = 20;

/// Tolerance in KB: more than such a server uses beside large answers, and much less than large answers use.
const SLACK_KB: u64 = 48 * 1024;

/// Returns the memory that the program uses, in KB, as the kernel counts it.
fn resident_kb(app: &TestApp) -> u64 {
    app.process().memory_kib("VmRSS")
}

/// The clients request an answer of 7 MB and do not read it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_of_large_answers_is_freed() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let app = TestApp::launch_command(&engine, &mut Program::command(&engine, &model));
    let conversation = app.create_conversation().await;
    let path = format!("/api/conversations/{conversation}");
    model.reply([text("Nothing much.")]);
    app.send(&conversation, "Hello").await.all().await;
    app.get_json(&path).await;
    let before = resident_kb(&app);

    model.reply([text("x".repeat(7_000_000))]);
    app.send(&conversation, "Flood me").await.all().await;
    let mut deaf = Vec::new();
    for _ in 0..READERS {
        let mut connection = RawConnection::open_narrow(&app).await;
        connection.send(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")).await;
        connection.until("\r\n\r\n").await;
        deaf.push(connection);
    }
    assert!(app.get_json(&path).await["messages"].to_string().len() > 7_000_000);
    let most = resident_kb(&app);
    assert!(most > before + SLACK_KB, "the answers use no memory: {before} KB before, {most} KB at most");

    drop(deaf);
    let mut rounds = 0;
    while resident_kb(&app) >= before + SLACK_KB {
        assert!(rounds < MAX_ROUNDS, "{} KB of {most} KB are still in use; {before} KB before", resident_kb(&app));
        rounds += 1;
        let asked = (0..REQUESTS_AT_ONCE).map(|_| app.get_json("/api/conversations"));
        join_all(asked).await;
    }
}
