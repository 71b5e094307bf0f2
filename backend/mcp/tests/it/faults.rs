//! Tests of faults of servers, over HTTP if the transport matters.

use std::{collections::BTreeSet, time::Duration};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tallybook_mcp::Status;
use tallybook_mock_mcp::{Fault, MockMcp};
use tallybook_tools::{ProgressSender, Secrets, UserKey};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::mpsc::unbounded_channel,
    time::{Instant, timeout},
};

use crate::support::{
    Logged, WAIT_TIMEOUT, call, call_for, connected, failed, failure, over_http, over_stdio, settings, start,
    start_hiding, stdio_entry, until,
};

#[tokio::test]
async fn down_at_start() {
    let log = Logged::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let url = format!("http://127.0.0.1:{port}/mcp");
    let servers = start(settings(&json!({ "mock": { "url": url, "risk": "low" } })));
    let report = failed(&servers).await;
    assert!(report.error.unwrap().starts_with("the server is unreachable"));
    assert_eq!(
        servers.tools().specs().len(),
        tallybook_tools::builtin().unwrap().specs().len(),
        "the built-in tools are still available"
    );
    let said =
        "a tool server is unavailable; its tools are not offered server=\"mock\" error=the server is unreachable";
    assert!(log.text().contains(said), "{}", log.text());
    let _mock = MockMcp::on_port(&[], false, port).await.unwrap();
    connected(&servers).await;
    assert_eq!(call(&servers, "echo", &json!({ "text": "back" })).await.unwrap(), "back");
}

/// The error of a call is stored with it, where its user and the model read it.
#[tokio::test]
async fn call_errors_contain_no_address_and_the_log_has_details() {
    let log = Logged::new();
    let mock = MockMcp::start(&[]).await.unwrap();
    let servers = over_http(&mock).await;
    mock.redirect_to("http://10.1.2.3/secret-place");
    let error = call(&servers, "echo", &json!({})).await.unwrap_err();
    assert_eq!(error.message, "the tool server \"mock\" returned an error or an invalid response");
    assert!(
        log.text().contains("a call to a tool server failed server=\"mock\" error=the server returned"),
        "{}",
        log.text()
    );
    drop(mock);
    let lost =
        async || call(&servers, "echo", &json!({})).await.err().filter(|error| error.error_type == "mcp_unavailable");
    let lost = timeout(WAIT_TIMEOUT, async {
        loop {
            if let Some(error) = lost().await {
                return error;
            }
        }
    });
    let message = "the tool server \"mock\" is unreachable; retrying";
    assert_eq!(lost.await.unwrap().message, message);
}

/// A secret of the settings is redacted in every text of a tool.
#[tokio::test]
async fn secrets_are_redacted_in_tool_definitions() {
    let mock = MockMcp::start(&[]).await.unwrap();
    mock.describe_first_tool("Sends canary-5up3r.");
    let property =
        |name: &str| json!({ "properties": { name: { "enum": ["canary-5up3r"], "description": "canary-5up3r" } } });
    mock.change_first_tool("inputSchema", property("name"));
    let entry = || settings(&json!({ "mock": { "url": mock.url() } }));
    let secrets = Secrets::new(["canary-5up3r".to_owned()]);
    let servers = start_hiding(entry(), &secrets);
    connected(&servers).await;
    let tools = servers.tools();
    let spec = tools.find_spec("mock__echo").unwrap();
    assert_eq!(spec.description, "Sends [hidden].");
    let hidden = json!({ "enum": ["[hidden]"], "description": "[hidden]" });
    assert_eq!(spec.input_schema["properties"], json!({ "name": hidden }));

    mock.change_first_tool("inputSchema", property("canary-5up3r"));
    let servers = start_hiding(entry(), &secrets);
    let report = connected(&servers).await;
    assert_eq!(report.left_out[0].reason, "a name in it contains a secret of the settings");
    assert!(servers.tools().find_spec("mock__echo").is_none() && !format!("{report:?}").contains("canary"));
}

#[tokio::test]
async fn dies_in_mid_call_over_http() {
    let mock = MockMcp::start(&[]).await.unwrap();
    let servers = over_http(&mock).await;
    assert_eq!(failure(&servers, "die").await, "mcp_unavailable");
    assert_eq!(call(&servers, "echo", &json!({ "text": "on" })).await.unwrap(), "on");
    assert_eq!(
        mock.seen().iter().filter(|seen| *seen == "tools/call die").count(),
        1,
        "the call is not retried because it may have run"
    );
}

/// A model that knows a tool from earlier still calls it, with the same secrets.
#[tokio::test]
async fn secret_arguments_are_remembered_after_a_server_is_lost() {
    let mock = MockMcp::start(&[Fault::RepeatsSecrets]).await.unwrap();
    let servers = over_http(&mock).await;
    let unavailable = || servers.tools().unavailable_schemas().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(unavailable(), Vec::<String>::new());
    drop(mock);
    // The server takes a moment to stop.
    let is_there = async || call(&servers, "echo", &json!({})).await.is_ok();
    timeout(WAIT_TIMEOUT, async { while is_there().await {} }).await.unwrap();
    failed(&servers).await;
    assert_eq!(unavailable(), ["mock__login"]);
}

/// Most servers close idle connections, and a request sent at that moment is lost.
#[tokio::test]
async fn the_client_closes_an_idle_connection_before_the_server_does() {
    let mock = MockMcp::start(&[]).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (sender, mut closed) = unbounded_channel();
    let port = mock.port();
    // A proxy between client and server forwards everything except the server's closing of a connection.
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            let sender = sender.clone();
            tokio::spawn(async move {
                let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
                    (client.into_split(), server.split());
                let back = async {
                    let _ = tokio::io::copy(&mut from_server, &mut to_client).await;
                    std::future::pending::<()>().await;
                };
                tokio::select! {
                    () = back => {}
                    _ = tokio::io::copy(&mut from_client, &mut to_server) => sender.send(()).unwrap_or_default(),
                }
            });
        }
    });
    let servers = start(settings(&json!({ "mock": { "url": url, "risk": "low" } })));
    connected(&servers).await;
    assert_eq!(call(&servers, "echo", &json!({ "text": "before" })).await.unwrap(), "before");
    timeout(WAIT_TIMEOUT, closed.recv()).await.expect("the client closes its connection").unwrap();
    assert_eq!(call(&servers, "echo", &json!({ "text": "after" })).await.unwrap(), "after");
}

#[tokio::test]
async fn a_server_runs_eight_calls_at_once_and_four_per_user() {
    let mock = MockMcp::start(&[]).await.unwrap();
    let servers = over_http(&mock).await;
    let (sender, mut running_now) = unbounded_channel();
    let call = |whose, number| {
        let sender = sender.clone();
        let progress = ProgressSender::new(move |_| sender.send((whose, number)).unwrap_or_default());
        tokio::spawn(call_for(UserKey(whose), &servers, "slow", "{}", progress))
    };
    let mut running = BTreeSet::new();
    let mut next = async |running: &mut BTreeSet<(i64, usize)>, count| {
        while running.len() < count {
            running.insert(timeout(WAIT_TIMEOUT, running_now.recv()).await.expect("in time").expect("a call"));
        }
    };
    let sent = || mock.seen().iter().filter(|seen| *seen == "tools/call slow").count();
    let anns: Vec<_> = (0..9).map(|number| call(1, number)).collect();
    next(&mut running, 4).await;
    let _bobs: Vec<_> = (0..5).map(|number| call(2, number)).collect();
    next(&mut running, 8).await;
    assert_eq!((sent(), running.iter().filter(|(whose, _)| *whose == 2).count()), (8, 4), "the other calls wait");
    anns[running.first().unwrap().1].abort();
    next(&mut running, 9).await;
    assert_eq!((sent(), running.iter().filter(|(whose, _)| *whose == 2).count()), (9, 4));
}

#[tokio::test]
async fn session_lost() {
    let mock = MockMcp::start(&[Fault::OlderEra]).await.unwrap();
    let servers = over_http(&mock).await;
    mock.lose_sessions();
    assert_eq!(call(&servers, "echo", &json!({ "text": "again" })).await.unwrap(), "again");
    let calls = mock.seen().iter().filter(|seen| *seen == "tools/call echo").count();
    assert_eq!(calls, 1, "only one attempt reached the tool");
}

#[tokio::test]
async fn redirect_elsewhere() {
    let elsewhere = MockMcp::start(&[]).await.unwrap();
    let mock = MockMcp::start(&[]).await.unwrap();
    let servers = over_http(&mock).await;
    mock.redirect_to(&elsewhere.url());
    assert_eq!(failure(&servers, "echo").await, "mcp_protocol");
    assert_eq!(elsewhere.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn endless_cursor() {
    for (fault, tools, pages) in [(Fault::EndlessCursor, 12, 2), (Fault::EndlessPages, 20, 20)] {
        let mock = MockMcp::start(&[fault]).await.unwrap();
        let servers = over_http(&mock).await;
        assert_eq!(servers.reports()[0].tools, tools, "{fault:?}");
        assert_eq!(mock.seen().iter().filter(|seen| *seen == "tools/list").count(), pages, "{fault:?}");
    }
}

#[tokio::test]
async fn one_malformed_tool() {
    let mock = MockMcp::start(&[Fault::MalformedTool]).await.unwrap();
    let servers = over_http(&mock).await;
    let report = servers.reports().remove(0);
    assert_eq!(report.tools, 12);
    let reasons: Vec<_> = report.left_out.iter().map(|left_out| left_out.reason.as_str()).collect();
    assert_eq!(reasons, ["it has no valid name", "it has no input schema"]);
    assert_eq!(call(&servers, "echo", &json!({ "text": "fine" })).await.unwrap(), "fine");
}

#[tokio::test]
async fn oversized_body() {
    let mock = MockMcp::start(&[]).await.unwrap();
    let servers = over_http(&mock).await;
    let error = call(&servers, "big", &json!({})).await.unwrap_err();
    assert!(["mcp_protocol", "mcp_unavailable"].contains(&error.error_type.as_str()), "{error:?}");
    assert_eq!(call(&servers, "echo", &json!({ "text": "on" })).await.unwrap(), "on");
}

#[tokio::test]
async fn an_unsupported_protocol_version_fails_the_server() {
    let mock = MockMcp::start(&[Fault::UnknownVersion]).await.unwrap();
    for entry in [json!({ "url": mock.url() }), stdio_entry(&["unknown-version"])] {
        let servers = start(settings(&json!({ "mock": entry })));
        let error = failed(&servers).await.error.unwrap();
        let said = "the server returned an error or an invalid response: it uses protocol version \"1999-01-01\", but \
                    Tallybook supports 2024-11-05";
        assert!(error.starts_with(said), "{error}");
        assert!(servers.tools().find_spec("mock__echo").is_none());
    }
    assert!(!mock.seen().contains(&"tools/list".to_owned()), "{:?}", mock.seen());
}

#[tokio::test]
async fn oversized_list() {
    let mock = MockMcp::start(&[Fault::OversizedList]).await.unwrap();
    let servers = start(settings(&json!({ "mock": { "url": mock.url() } })));
    let error = failed(&servers).await.error.unwrap();
    assert_eq!(error, "the server returned an error or an invalid response: its response is longer than 2 MiB");
}

#[tokio::test]
async fn two_tools_with_one_sanitized_name_and_one_named_add() {
    let mock = MockMcp::start(&[Fault::NameClash]).await.unwrap();
    let servers = over_http(&mock).await;
    let tools = servers.tools();
    assert_eq!(tools.find_spec("add").unwrap().server, None);
    assert!(tools.find_spec("mock__add").is_some() && tools.find_spec("mock__a_b").is_some());
    let hashed: Vec<_> = tools.specs().iter().filter(|spec| spec.name.starts_with("mock__a_b_")).cloned().collect();
    assert_eq!(hashed.len(), 1);
    assert_eq!(hashed[0].description, "The tool a:b.");
}

#[tokio::test]
async fn tools_of_two_servers_with_one_name_stay_distinct() {
    let mock = MockMcp::start(&[]).await.unwrap();
    let entry = || json!({ "url": mock.url(), "include": ["echo"] });
    // The order of the settings counts, not which server connects first.
    let servers = start(settings(&json!({ "a.b": entry(), "a_b": entry() })));
    until(&servers, |_| servers.reports().iter().all(|report| report.tools == 1)).await;
    let tools = servers.tools();
    let named = |name: &str| tools.find_spec(name).unwrap().server.clone().unwrap();
    // printf 'a_b\0echo' | sha256sum | cut -c -8
    assert_eq!((&*named("a_b__echo"), &*named("a_b__echo_e9288ff0")), ("a.b", "a_b"));
}

#[tokio::test]
async fn stop_in_mid_call_is_seen_as_cancelled() {
    for faults in [vec![], vec![Fault::OlderEra]] {
        let mock = MockMcp::start(&faults).await.unwrap();
        let servers = over_http(&mock).await;
        let call = tokio::spawn(servers.tools().call("mock__slow", "{}"));
        mock.has_seen("tools/call slow").await;
        call.abort();
        mock.has_seen("cancelled").await;
    }
}

#[tokio::test]
async fn input_required_and_unknown_content() {
    for servers in [over_http(&MockMcp::start(&[]).await.unwrap()).await, over_stdio(&["older-era"]).await] {
        assert_eq!(failure(&servers, "ask").await, "input_required");
        let mixed = call(&servers, "mixed", &json!({})).await.unwrap();
        assert_eq!(
            mixed,
            "seen\n[image image/png, 3 B]\n[audio audio/wav, 4 B]\n[content of the unknown kind \"hologram\"]"
        );
    }
}

#[tokio::test]
async fn top_level_one_of() {
    let mock = MockMcp::start(&[Fault::OddSchemas]).await.unwrap();
    let servers = over_http(&mock).await;
    let tools = servers.tools();
    let spec = tools.find_spec("mock__alternatives").unwrap();
    assert_eq!(spec.input_schema, json!({ "type": "object", "properties": {} }));
    assert_eq!(spec.description, "alternatives (Left out here of its arguments' schema: oneOf.)");
    let left_out = &servers.reports()[0].left_out;
    assert_eq!(left_out.len(), 1);
    assert!(left_out[0].name == "elsewhere" && left_out[0].reason.contains("https://example.com/a"), "{left_out:?}");
}

#[tokio::test]
async fn top_level_all_of_any_of_and_schema() {
    let mock = MockMcp::start(&[Fault::OddSchemas]).await.unwrap();
    let servers = over_http(&mock).await;
    let tools = servers.tools();
    let spec = tools.find_spec("mock__composed").unwrap();
    assert_eq!(spec.input_schema, json!({ "type": "object", "properties": {} }));
    let said = "é… (Left out here of its arguments' schema: anyOf, allOf, $schema.)";
    assert!(spec.description.ends_with(said), "{}", spec.description);
    assert!((1000..=1024).contains(&spec.description.len()), "{} bytes in total", spec.description.len());
}

#[tokio::test]
async fn headers_of_the_settings_are_sent_with_every_request() {
    let mock = MockMcp::start(&[]).await.unwrap();
    let headers = json!({ "X-Api-Key": "${SECRET}", "X-Team": "tools" });
    let servers = start(settings(&json!({ "mock": { "url": mock.url(), "headers": headers } })));
    connected(&servers).await;
    call(&servers, "echo", &json!({})).await.unwrap();
    let received = mock.received();
    assert!(received.len() > 2);
    for message in received {
        assert!(message.contains("x-api-key: top secret\n") && message.contains("x-team: tools\n"), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn connecting_times_out_after_ten_seconds() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(0).unwrap();
    let address = full.local_addr().unwrap();
    // Connections after these get no answer.
    let mut queue = Vec::new();
    while let Ok(connection) = timeout(Duration::from_secs(1), TcpStream::connect(address)).await {
        queue.push(connection.unwrap());
    }
    let begun = Instant::now();
    let servers = start(settings(&json!({ "mock": { "url": format!("http://{address}/mcp") } })));
    let error = failed(&servers).await.error.unwrap();
    assert!(error.starts_with("the server is unreachable"), "{error}");
    assert_eq!(begun.elapsed().as_secs(), 10);
}

/// The server accepts the connection and sends nothing.
#[tokio::test(start_paused = true)]
async fn a_silent_server_times_out_and_is_retried() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", silent.local_addr().unwrap());
    let servers = start(settings(&json!({ "mock": { "url": url } })));
    let (mut changes, begun) = (servers.changes(), Instant::now());
    for seconds in [30, 30 + 1 + 30] {
        changes.changed().await.unwrap();
        assert_eq!(begun.elapsed().as_secs(), seconds);
        assert_eq!(servers.reports()[0].error.as_deref(), Some("the server took longer than 30 seconds"));
    }
}

/// After ten seconds, a turn starts without the tools. If the server has failed, the turn starts at once.
#[tokio::test(start_paused = true)]
async fn a_turn_waits_ten_seconds_for_first_connections_but_not_for_failed_servers() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", silent.local_addr().unwrap());
    let servers = start(settings(&json!({ "mock": { "url": url } })));
    let wait = async || {
        let begun = Instant::now();
        servers.first_connections().await;
        begun.elapsed().as_secs()
    };
    assert_eq!(wait().await, 10);
    failed(&servers).await;
    assert_eq!(wait().await, 0);
    let unset = start(settings(&json!({ "unset": { "url": "https://${UNSET}/mcp" } })));
    unset.first_connections().await;
}

#[tokio::test]
async fn invalid_settings_fail_only_their_server() {
    let mock = MockMcp::start(&[]).await.unwrap();
    let unset = json!({ "url": "https://${UNSET}/mcp" });
    let sse = json!({ "type": "sse", "url": "https://example.com/sse" });
    let servers = start(settings(&json!({ "mock": { "url": mock.url() }, "unset": unset, "old": sse })));
    connected(&servers).await;
    let errors: Vec<_> = servers.reports().into_iter().map(|report| (report.status, report.error)).collect();
    assert!(errors.contains(&(Status::Failed, Some("the environment variable UNSET is not set".to_owned()))));
    assert!(
        errors.iter().any(|(_, error)| error.as_deref().is_some_and(|error| error.contains("no longer part of MCP")))
    );
}

#[tokio::test]
async fn a_call_times_out_after_the_configured_time() {
    let mock = MockMcp::start(&[]).await.unwrap();
    let servers = start(settings(&json!({ "mock": { "url": mock.url(), "timeoutSecs": 1 } })));
    connected(&servers).await;
    assert_eq!(failure(&servers, "slow").await, "timeout");
    mock.has_seen("cancelled").await;
    // Waiting for other calls does not count toward a call's timeout: this call waits longer than its timeout.
    let slow: Vec<_> = (0..8).map(|_| failure(&servers, "slow")).collect();
    let arguments = json!({ "text": "at last" });
    let (slow, last) = tokio::join!(join_all(slow), call(&servers, "echo", &arguments));
    assert_eq!((slow, last.as_deref()), (vec!["timeout".to_owned(); 8], Ok("at last")));
}

#[tokio::test]
async fn shutdown_is_quick_and_ends_calls() {
    let mock = MockMcp::start(&[]).await.unwrap();
    let servers = over_http(&mock).await;
    let call = tokio::spawn(servers.tools().call("mock__slow", "{}"));
    mock.has_seen("tools/call slow").await;
    tokio::time::timeout(Duration::from_secs(10), servers.shut_down()).await.unwrap();
    assert_eq!(call.await.unwrap().unwrap_err().error_type, "mcp_unavailable");
    let after = servers.tools().call("mock__echo", &Value::Object(serde_json::Map::new()).to_string()).await;
    assert!(after.is_err());
}
