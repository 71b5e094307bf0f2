//! Metrics for monitoring.

use reqwest::StatusCode;
use serde_json::{Value, json};
use tallybook::http::MetricsToken;
use tallybook_mcp::read_servers_file;
use tallybook_mock_llm::{MockLlm, Reply, text, tool_call};
use tallybook_mock_mcp::MockMcp;
use tallybook_protocol::Prices;

use crate::{
    accounts::kit::with_admin,
    support::{Engine, TestApp, eventually, execute, on_every_engine},
};

/// Returns the metrics. Fails unless they contain all of `lines`.
async fn assert_reported(app: &TestApp, lines: &[&str]) -> String {
    let metrics = app.get("/metrics").await.text().await.unwrap();
    for line in lines {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
    metrics
}

/// Monitoring reads the metrics with a token that opens nothing else, at the address of the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_opens_only_the_metrics_at_any_host() {
    const TOKEN: &str = "a-token-for-monitoring";
    let model = MockLlm::start().await.unwrap();
    for with_accounts in [true, false] {
        let engine = Engine::sqlite();
        if with_accounts {
            with_admin(&engine).await;
        }
        let app = TestApp::builder(&engine)
            .with_mock(&model)
            .with_settings(|settings| {
                settings.metrics_token = Some(MetricsToken::new(TOKEN).unwrap());
                settings.accounts.required = with_accounts;
            })
            .spawn()
            .await;
        let ask = async |path: &str, token: &str| {
            let request = app.client.get(app.url(path)).header("host", "10.1.2.3:3000");
            let request = if token.is_empty() { request } else { request.bearer_auth(token) };
            request.send().await.unwrap()
        };
        let read = ask("/metrics", TOKEN).await;
        assert_eq!(read.status(), StatusCode::OK, "{with_accounts}");
        assert!(read.text().await.unwrap().contains("tallybook_turns_started_total"));
        for wrong in ["", "a-token-for-monitorinG", "a-token-for-monitoring-"] {
            assert_eq!(ask("/metrics", wrong).await.status(), StatusCode::UNAUTHORIZED, "{with_accounts} {wrong}");
        }
        for path in ["/healthz", "/readyz"] {
            assert_eq!(ask(path, "").await.status(), StatusCode::OK, "{path}");
        }
        for path in ["/api/models", "/v1/models", "/"] {
            assert_eq!(ask(path, TOKEN).await.status(), StatusCode::FORBIDDEN, "{path}");
        }
        let elsewhere = app.client.get(app.url("/api/me")).bearer_auth(TOKEN).send().await.unwrap();
        assert_eq!(elsewhere.status() == StatusCode::UNAUTHORIZED, with_accounts);
    }
    // Without a credential, a page of another site must not reach the metrics by a name of its own.
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let foreign = app.client.get(app.url("/metrics")).header("host", "evil.example").send().await.unwrap();
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN);
    assert_eq!(app.get("/metrics").await.status(), StatusCode::OK);
}

on_every_engine! {
    async fn turns_are_counted_by_final_status(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        assert_reported(&app, &[
            "tallybook_turns_started_total 0\n",
            "tallybook_turns_ended_total{status=\"complete\"} 0\n",
            "tallybook_turns_ended_total{status=\"interrupted\"} 0\n",
        ]).await;

        let conversation = app.create_conversation().await;
        for _ in 0..2 {
            model.reply([text("Yes.")]);
            app.send(&conversation, "Well?").await.all().await;
        }
        model.reply(Reply::fail(400, "no"));
        app.send(&conversation, "Badly?").await.all().await;
        let _gate = model.reply_gated([text("For ever ")], [text("and ever.")]);
        let mut turn = app.send(&conversation, "How long?").await;
        turn.until("content_delta").await;
        assert_reported(&app, &["tallybook_turns_started_total 4\n", "tallybook_turns_running 1\n"]).await;
        app.post(&format!("/api/conversations/{conversation}/stop"), json!(null)).await;
        turn.until("message_end").await;
        // Resuming a turn counts as another start.
        model.reply([text("and ever.")]);
        app.continue_turn(&conversation).await.all().await;
        assert_reported(&app, &[
            "tallybook_turns_started_total 5\n",
            "tallybook_turns_ended_total{status=\"complete\"} 3\n",
            "tallybook_turns_ended_total{status=\"failed\"} 1\n",
            "tallybook_turns_ended_total{status=\"stopped\"} 1\n",
            "tallybook_turns_ended_total{status=\"interrupted\"} 0\n",
        ]).await;

        // The process that closes turns which another process left behind counts their ends.
        app.shut_down().await;
        execute!(engine, "UPDATE messages SET status = 'streaming', lease_until = NULL WHERE content = 'Yes.'");
        let app = TestApp::spawn(&engine, &model).await;
        eventually("both are closed and counted", async || {
            let metrics = app.get("/metrics").await.text().await.unwrap();
            metrics.contains("tallybook_turns_ended_total{status=\"interrupted\"} 2\n")
        }).await;
        assert_reported(&app, &["tallybook_turns_started_total 0\n"]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_counted_by_route_and_status() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let conversation = app.create_conversation().await;
    app.get(&format!("/api/conversations/{conversation}")).await;
    app.get("/api/conversations/nonsense").await;
    app.get("/api/nowhere").await;
    app.get("/c/nonsense").await;
    let media_type = app.get("/metrics").await.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(media_type.starts_with("application/openmetrics-text"), "{media_type}");
    let metrics = assert_reported(
        &app,
        &[
            r#"tallybook_info{version=""#,
            "tallybook_turns_running 0\n",
            "tallybook_http_connections ",
            r#"tallybook_http_requests_total{method="POST",route="/api/conversations",status="201"} 1"#,
            r#"tallybook_http_requests_total{method="GET",route="/api/conversations/{uuid}",status="200"} 1"#,
            r#"tallybook_http_requests_total{method="GET",route="/api/conversations/{uuid}",status="404"} 1"#,
            r#"tallybook_http_requests_total{method="GET",route="other",status="404"} 2"#,
        ],
    )
    .await;
    assert!(!metrics.contains(&conversation) && metrics.ends_with("# EOF\n"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_calls_tokens_and_streams_are_counted() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    assert_reported(&app, &["tallybook_steps_total 0\n", "tallybook_http_streams 0\n"]).await;
    let conversation = app.create_conversation().await;
    model.reply([tool_call("add", r#"{"a":1,"b":2}"#), tool_call("divide", r#"{"a":1,"b":0}"#)]);
    let gate = model.reply_gated([text("The sum ")], [text("is 3.")]);
    let mut turn = app.send(&conversation, "What is the sum?").await;
    turn.until("content_delta").await;
    assert_reported(&app, &["tallybook_http_streams 1\n"]).await;
    gate.open();
    turn.until("message_end").await;
    let metrics = assert_reported(
        &app,
        &[
            "tallybook_steps_total 2\n",
            r#"tallybook_tool_calls_total{tool="add",status="success"} 1"#,
            r#"tallybook_tool_calls_total{tool="divide",status="error"} 1"#,
            r#"tallybook_tool_call_duration_seconds_count{tool="add"} 1"#,
            "tallybook_turn_duration_seconds_count 1\n",
            r#"tallybook_model_call_duration_seconds_count{model="test-model",purpose="answer",outcome="answered"} 2"#,
            r#"tallybook_tokens_total{model="test-model",kind="input"} "#,
            r#"tallybook_database_connections{state="idle"} "#,
        ],
    )
    .await;
    let tokens = metrics.lines().find(|line| line.starts_with("tallybook_tokens_total") && line.contains("output"));
    assert_ne!(tokens.unwrap().rsplit(' ').next(), Some("0"), "{metrics}");
    drop(turn);
    eventually("the stream is over", async || {
        app.get("/metrics").await.text().await.unwrap().contains("tallybook_http_streams 0\n")
    })
    .await;
}

/// A tool name that a model invents is not a label. Otherwise any user could fill the server's memory with metrics.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_tools_share_one_label() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let conversation = app.create_conversation().await;
    let invented = (0..200).map(|number| tool_call(format!("invented_{number}"), "{}"));
    model.reply(invented.collect::<Vec<_>>());
    model.reply([text("There is no such tool.")]);
    app.send(&conversation, "Which tools are there?").await.all().await;
    let metrics = assert_reported(&app, &[r#"tallybook_tool_calls_total{tool="other",status="error"} 200"#]).await;
    assert!(!metrics.contains("invented"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn costs_and_tool_servers_are_reported() {
    let (model, mock) = (MockLlm::start().await.unwrap(), MockMcp::start(&[]).await.unwrap());
    let servers =
        json!({ "mcpServers": { "there": { "url": mock.url() }, "unset": { "url": "https://${UNSET_HERE}/" } } });
    let tools = tallybook_tools::builtin().unwrap();
    let app = TestApp::builder(&Engine::sqlite())
        .with_mock(&model)
        .with_tools(tools)
        .with_settings(|settings| {
            settings.tool_servers = read_servers_file(&servers.to_string()).unwrap();
            // Prices are per million tokens: an input token costs 0.1, and output costs nothing.
            settings.models[0].prices = Some(Prices { input: 100_000.0, output: 0.0 });
        })
        .spawn()
        .await;
    eventually("the tool server is connected", async || {
        app.get("/metrics").await.text().await.unwrap().contains("tallybook_tool_server_up{server=\"there\"} 1\n")
    })
    .await;
    let conversation = app.create_conversation().await;
    model.reply([text("Yes.")]);
    app.send(&conversation, "Well?").await.all().await;
    let metrics = assert_reported(&app, &["tallybook_tool_server_up{server=\"unset\"} 0\n"]).await;
    let cost = metrics.lines().find_map(|line| line.strip_prefix("tallybook_cost_total{model=\"test-model\"} "));
    let input = metrics
        .lines()
        .find_map(|line| line.strip_prefix("tallybook_tokens_total{model=\"test-model\",kind=\"input\"} "));
    let (cost, input): (f64, f64) = (cost.expect(&metrics).parse().unwrap(), input.expect(&metrics).parse().unwrap());
    assert!(input > 0.0 && (cost - input / 10.0).abs() < 1e-6, "{cost} for {input} tokens");
}

/// Returns the names of metrics in the expressions of the dashboard.
fn metrics_of_dashboard() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(include_str!("../../../../infra/grafana/tallybook.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let mut names: Vec<String> = targets
        .map(|target| target["expr"].as_str().unwrap())
        .chain([dashboard["templating"]["list"][1]["definition"].as_str().unwrap()])
        .flat_map(|expression| expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .filter(|word| word.starts_with("tallybook_"))
        .map(str::to_owned)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_dashboard_and_the_metrics_have_the_same_names() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let app = TestApp::spawn(&engine, &model).await;
    let metrics = app.get("/metrics").await.text().await.unwrap();
    let types = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let types: Vec<(&str, &str)> = types.collect();
    let shown = metrics_of_dashboard();
    for (name, kind) in &types {
        let samples: &[&str] = match *kind {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_count"],
            "info" => &["_info"],
            _ => &[""],
        };
        let is_shown = samples.iter().any(|suffix| shown.contains(&format!("{name}{suffix}")));
        assert!(is_shown, "the dashboard does not show {name}");
    }
    // A metric with labels is reported only once it has a value, so the guide has more names than this server reports.
    let guide = include_str!("../../../../docs/how-to/operate.md");
    for (name, _) in &types {
        assert!(guide.contains(&format!("`{name}")), "the guide lacks {name}");
    }
    for name in &shown {
        let ends = ["", "_total", "_bucket", "_count", "_info"];
        let is_known =
            ends.iter().any(|end| name.strip_suffix(end).is_some_and(|name| guide.contains(&format!("`{name}"))));
        assert!(is_known, "the guide has no metric {name}");
    }
}
