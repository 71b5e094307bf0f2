//! Tests of servers that run as child processes.

use std::path::Path;

use serde_json::json;
use tallybook_mcp::Status;
use tallybook_tools::UserKey;
use tokio::time::{Duration, Instant, sleep, timeout};

use crate::support::{
    Logged, WAIT_TIMEOUT, call, call_for, connected, failure, over_stdio, progress, settings, start, stdio_entry, until,
};

#[tokio::test]
async fn a_program_that_dies_during_a_call_is_restarted() {
    let servers = over_stdio(&[]).await;
    assert_eq!(failure(&servers, "die").await, "mcp_unavailable");
    until(&servers, |report| report.status == Status::Failed).await;
    connected(&servers).await;
    assert_eq!(call(&servers, "echo", &json!({ "text": "back" })).await.unwrap(), "back");
}

#[tokio::test(start_paused = true)]
async fn a_program_is_restarted_with_increasing_delays() {
    let servers = start(settings(&json!({ "mock": { "command": "/nonexistent/program" } })));
    let mut changes = servers.changes();
    let mut failed_at = Vec::new();
    while failed_at.len() < 8 {
        changes.changed().await.unwrap();
        failed_at.push(Instant::now());
    }
    let pauses: Vec<u64> = failed_at.windows(2).map(|pair| (pair[1] - pair[0]).as_secs()).collect();
    // Chance adds up to the same time to each pause, but no pause is longer than 30 seconds.
    for (pause, least) in pauses.iter().zip([1, 2, 4, 8, 16, 30, 30]) {
        assert!((least..=30.min(2 * least)).contains(pause), "{pauses:?}");
    }
}

#[tokio::test]
async fn oversized_line() {
    let servers = over_stdio(&["older-era"]).await;
    let error = call(&servers, "big", &json!({})).await.unwrap_err();
    assert_eq!(error.error_type, "mcp_protocol");
    assert!(error.message.contains("longer than 2 MiB"), "{error}");
    assert_eq!(call(&servers, "echo", &json!({ "text": "on" })).await.unwrap(), "on");
}

#[tokio::test]
async fn environment_read_by_a_read_only_tool() {
    let mut entry = stdio_entry(&[]);
    entry["env"]["GIVEN"] = json!("${SECRET}");
    entry["env"]["LITERAL"] = json!("a ${NONE:-b}");
    let servers = start(settings(&json!({ "mock": entry })));
    connected(&servers).await;
    let seen = call(&servers, "env", &json!({})).await.unwrap();
    let mut names: Vec<_> = seen.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    names.sort_unstable();
    assert_eq!(names, ["GIVEN", "LITERAL", "MOCK_MCP_SERVE", "PATH"]);
    assert!(seen.contains("LITERAL=a b") && seen.contains("GIVEN=top secret"), "{seen}");
}

#[tokio::test]
async fn grandchild_left_alive() {
    for is_shut_down in [true, false] {
        let servers = over_stdio(&[]).await;
        let grandchild = call(&servers, "spawn", &json!({})).await.unwrap();
        let process = format!("/proc/{grandchild}/stat");
        assert!(is_alive(&process));
        if is_shut_down {
            servers.shut_down().await;
        } else {
            assert_eq!(failure(&servers, "die").await, "mcp_unavailable");
        }
        let gone = timeout(WAIT_TIMEOUT, async {
            while is_alive(&process) {
                sleep(Duration::from_millis(20)).await;
            }
        });
        gone.await.expect("a server's child processes end with it");
    }
}

#[tokio::test]
async fn stderr_of_a_server_is_logged_up_to_a_limit() {
    let log = Logged::new();
    let servers = over_stdio(&["chatty"]).await;
    let flooded = timeout(WAIT_TIMEOUT, async {
        while !call(&servers, "seen", &json!({})).await.unwrap().contains("flooded") {}
    });
    flooded.await.expect("the server can write all its lines");
    let log = log.text();
    // The server wrote ten thousand lines. A test that takes longer than a minute sees as many lines again from the
    // next minute.
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("stderr of a tool server ")).collect();
    let (said, more): (Vec<&str>, Vec<&str>) = lines.into_iter().partition(|line| line.contains("xxxx"));
    assert!((59..200).contains(&said.len()) && (1..4).contains(&more.len()), "{}, {more:?}", said.len());
    assert!(said.iter().all(|line| line.len() < 1000), "each line is truncated: {}", said[0]);
}

/// Returns `true` if a process exists and is not a zombie.
fn is_alive(stat: &str) -> bool {
    Path::new(stat).exists()
        && std::fs::read_to_string(stat)
            .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
}

#[tokio::test]
async fn stopping_a_call_cancels_it_on_a_server_over_stdio() {
    for faults in [&[][..], &["older-era"]] {
        let servers = over_stdio(faults).await;
        let (sender, mut receiver) = progress();
        let slow = tokio::spawn(call_for(UserKey(1), &servers, "slow", "{}", sender));
        receiver.recv().await.unwrap();
        slow.abort();
        let seen = timeout(WAIT_TIMEOUT, async {
            loop {
                let seen = call(&servers, "seen", &json!({})).await.unwrap();
                if seen.contains(" cancelled") {
                    return seen;
                }
            }
        });
        assert!(seen.await.unwrap().contains("notifications/cancelled"));
    }
}

#[tokio::test]
async fn a_missing_program_is_reported() {
    let servers = start(settings(&json!({ "mock": { "command": "/nonexistent/program" } })));
    let report = until(&servers, |report| report.status == Status::Failed).await;
    assert!(report.error.unwrap().contains("its program cannot be started"));
}
