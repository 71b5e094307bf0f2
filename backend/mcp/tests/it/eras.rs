//! Tests of servers that work correctly, in both eras of the protocol and over both transports.

use serde_json::json;
use tallybook_mcp::ToolServers;
use tallybook_mock_mcp::{Fault, MockMcp};
use tallybook_tools::{Risk, UserKey};

use crate::support::{WAIT_TIMEOUT, call, call_for, connected, over_http, over_stdio, progress, settings, start};

async fn works(servers: &ToolServers) {
    assert_eq!(call(servers, "echo", &json!({ "text": "こんにちは" })).await.unwrap(), "こんにちは");
    assert_eq!(call(servers, "structured", &json!({})).await.unwrap(), r#"{"sum":3}"#);
    let failed = call(servers, "fail", &json!({})).await.unwrap_err();
    assert_eq!((failed.error_type.as_str(), failed.message.as_str()), ("tool_error", "it did not work"));
    let report = servers.reports().remove(0);
    assert_eq!((report.tools, report.left_out.len()), (12, 0));
}

#[tokio::test]
async fn a_server_of_the_newer_era_over_http() {
    let mock = MockMcp::start(&[]).await.unwrap();
    works(&over_http(&mock).await).await;
    assert!(!mock.seen().contains(&"initialize".to_owned()), "{:?}", mock.seen());
}

#[tokio::test]
async fn a_server_of_the_older_era_over_http() {
    let mock = MockMcp::start(&[Fault::OlderEra]).await.unwrap();
    works(&over_http(&mock).await).await;
    mock.has_seen("notifications/initialized").await;
}

#[tokio::test]
async fn a_server_of_the_older_era_that_answers_unknown_methods() {
    let mock = MockMcp::start(&[Fault::AnswersAnything]).await.unwrap();
    works(&over_http(&mock).await).await;
    works(&over_stdio(&["answers-anything"]).await).await;
}

#[tokio::test]
async fn a_server_of_the_newer_era_over_stdio() {
    let servers = over_stdio(&[]).await;
    works(&servers).await;
    let seen = call(&servers, "seen", &json!({})).await.unwrap();
    assert!(seen.starts_with("server/discover ") && !seen.contains("initialize"), "{seen}");
}

#[tokio::test]
async fn a_server_of_the_older_era_over_stdio() {
    works(&over_stdio(&["older-era"]).await).await;
}

#[tokio::test]
async fn a_server_that_writes_other_output_on_its_streams_works() {
    works(&over_stdio(&["older-era", "chatty"]).await).await;
}

/// Tests arguments and results in both eras and over every transport. An empty text next to the result is ignored.
#[tokio::test]
async fn numbers_keep_every_digit_that_was_written() {
    let mock = async |faults: &[Fault]| MockMcp::start(&[faults, &[Fault::RepeatsDigits]].concat()).await.unwrap();
    let newer = mock(&[]).await;
    let older = mock(&[Fault::OlderEra]).await;
    let in_json = mock(&[Fault::AnswersInJson]).await;
    let older_in_json = mock(&[Fault::OlderEra, Fault::AnswersInJson]).await;
    let exact =
        r#"{"a":1e400,"b":[0.1000000000000000055511151231257827,{"c":-0}],"n":12345678901234567890123,"z":1.50}"#;
    // With whitespace, as a model may write it.
    let written = exact.replace(',', " ,\n ");
    for servers in [
        over_http(&newer).await,
        over_http(&older).await,
        over_http(&in_json).await,
        over_http(&older_in_json).await,
        over_stdio(&["repeats-digits"]).await,
        over_stdio(&["repeats-digits", "older-era"]).await,
    ] {
        let called = servers.tools().call("mock__digits", &written);
        let output = tokio::time::timeout(WAIT_TIMEOUT, called).await.expect("a call must end").unwrap();
        assert_eq!(output.text, exact);
    }
    let sent = newer.received().into_iter().find(|message| message.contains("tools/call")).unwrap();
    assert!(sent.contains(&format!(r#""arguments":{exact}"#)) && sent.contains("mcp-name: digits\n"), "{sent}");
}

#[tokio::test]
async fn settings_select_tools_and_decide_whether_annotations_count() {
    let mock = MockMcp::start(&[]).await.unwrap();
    let of = |name: &str, more: serde_json::Value| {
        let mut server = more;
        server["url"] = json!(mock.url());
        json!({ name: server })
    };
    for (more, echo, slow) in [
        (json!({}), (Risk::Low, true), (Risk::High, false)),
        (json!({ "risk": "high" }), (Risk::High, false), (Risk::High, false)),
        (json!({ "risk": "claimed" }), (Risk::Low, true), (Risk::High, false)),
        (json!({ "risk": "low" }), (Risk::Low, false), (Risk::Low, false)),
    ] {
        let servers = start(settings(&of("s", more.clone())));
        connected(&servers).await;
        let tools = servers.tools();
        for (tool, expected) in [("s__echo", echo), ("s__slow", slow)] {
            let spec = tools.find_spec(tool).unwrap();
            assert_eq!((spec.risk, spec.idempotent), expected, "{more} {tool}");
            assert_eq!(spec.server.as_deref(), Some("s"));
        }
    }
    let servers = start(settings(&of("s", json!({ "include": ["s*", "echo"], "exclude": ["s*n"] }))));
    assert_eq!(connected(&servers).await.tools, 3, "echo, slow and structured");
}

#[tokio::test]
async fn progress_is_reported() {
    for servers in [over_stdio(&[]).await, over_http(&MockMcp::start(&[]).await.unwrap()).await] {
        let (sender, mut receiver) = progress();
        let call = tokio::spawn(call_for(UserKey(1), &servers, "slow", "{}", sender));
        let mut last = receiver.recv().await.unwrap();
        while last.progress < 3.0 {
            last = receiver.recv().await.unwrap();
        }
        assert_eq!((last.total, last.message.as_deref()), (Some(4.0), Some("working")));
        call.abort();
    }
}
