//! Re-runs of calls by an admin: their results are shown beside the history, which does not change.

use reqwest::{Method, StatusCode, header::LOCATION};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tallybook_mcp::read_servers_file;
use tallybook_mock_llm::MockLlm;
use tallybook_mock_mcp::MockMcp;
use tallybook_tools::{Risk, Secrets, Tool, ToolError, ToolOutput};

use super::{
    super::kit::{ADMIN, Team, Who, required, with_admin},
    kit::{Call, fill_in, page, runs_ours_alone, say_why, write_call, write_turn},
};
use crate::{
    secrets::assert_not_kept,
    support::{Engine, Hangs, TestApp, eventually, execute, on_every_engine, rows},
};

/// Selects the stored call, without the columns that the tool history fills in later.
const CALL: &str = "SELECT tool_name, input_text, output, error, status, CAST(duration_ms AS CHAR), \
    CAST(started_at AS CHAR), CAST(completed_at AS CHAR), CAST(decided_at AS CHAR) FROM tool_calls WHERE id = 1";

type CallRow = (String, String, Option<String>, Option<String>, String, String, String, Option<String>, Option<String>);

const RERUNS: &str =
    "SELECT tool_call_id, user_id, input_text, output, error, error_type, status FROM tool_reruns ORDER BY id";

type RerunRow = (i64, i64, String, Option<String>, Option<String>, Option<String>, String);

#[derive(Deserialize, JsonSchema)]
struct NoArgs {}

/// A tool that changes something, so its calls cannot be re-run.
struct Pays;

impl Tool for Pays {
    type Args = NoArgs;
    const NAME: &'static str = "pays";
    const DESCRIPTION: &'static str = "Pays.";
    const RISK: Risk = Risk::High;

    async fn call(&self, _: NoArgs) -> Result<ToolOutput, ToolError> {
        panic!("the tool must not run without approval")
    }
}

#[derive(Deserialize, JsonSchema)]
struct Credentials {
    #[schemars(extend("format" = "password"))]
    password: Option<String>,
}

/// A tool with an optional secret argument.
struct Login;

impl Tool for Login {
    type Args = Credentials;
    const NAME: &'static str = "login";
    const DESCRIPTION: &'static str = "Logs in.";

    async fn call(&self, Credentials { password }: Credentials) -> Result<ToolOutput, ToolError> {
        panic!("the tool must not run; it received a password: {}", password.is_some())
    }
}

/// A secret in the settings.
const SECRET: &str = "canary-of-settings";

/// Starts a team whose server has tools that hang, that pay, and that take secrets.
async fn start(engine: &Engine, model: &MockLlm) -> Team {
    let tools = tallybook_tools::builtin().unwrap().with(Hangs).unwrap().with(Pays).unwrap().with(Login).unwrap();
    let app = TestApp::builder(engine)
        .with_mock(model)
        .with_tools(tools)
        .with_settings(|settings| {
            settings.accounts = required();
            settings.secrets = Secrets::new([SECRET.to_owned()]);
        })
        .spawn()
        .await;
    Team::of(app)
}

/// Returns the content of a part of a page.
fn part<'a>(page: &'a str, id: &str) -> &'a str {
    let rest = page.split(&format!("data-testid=\"{id}\"")).nth(1).unwrap_or_else(|| panic!("{id} in {page}"));
    rest.split("</section>").next().unwrap()
}

on_every_engine! {
    async fn a_re_run_does_not_change_the_history(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        with_admin(&engine).await;
        let team = start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, ann_id) = team.user(&admin, "ann").await;
        let db = engine.pool().await;
        write_turn(&db, 1, ann_id, "Small").await;
        write_call(&db, &Call { input: r#"{"a":1,"b":2}"#, ..Call::new(1, 1) }).await;
        let before = rows!(team.app, CallRow, CALL);
        let (address, to) = ("/admin/calls/1", "/admin/calls/1/reruns");

        // Only an admin who has given a reason can re-run a call, and not from another site.
        let refused = fill_in(&team, &ann, to, "input", "{}").await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN);
        let refused = fill_in(&team, &admin, to, "input", "{}").await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN);
        assert!(refused.text().await.unwrap().contains("name=\"reason\""));
        say_why(&team, &admin, address, "ann asked for help").await;
        let foreign = team.request(&admin, Method::POST, to).header("origin", "http://elsewhere.example");
        let foreign = foreign.header("content-type", "application/x-www-form-urlencoded").body("input={}");
        assert_eq!(foreign.send().await.unwrap().status(), StatusCode::FORBIDDEN);
        assert_eq!(rows!(team.app, RerunRow, RERUNS), []);

        let shown = page(&team, &admin, address, StatusCode::OK).await;
        assert!(shown.contains("action=\"/admin/calls/1/reruns\"") && !shown.contains("data-testid=\"again\""), "{shown}");
        let edited = r#"{"a":40,"b":2.5}"#;
        let run = fill_in(&team, &admin, to, "input", edited).await;
        let [(rerun,)] = rows!(team.app, (i64,), "SELECT id FROM tool_reruns")[..] else { panic!("there is one re-run") };
        let shows_it = format!("/admin/calls/1?rerun={rerun}");
        assert_eq!((run.status(), run.headers()[LOCATION].to_str().unwrap()), (StatusCode::SEE_OTHER, &*format!("{shows_it}#reruns")));
        let hostile = "<script>alert(1)</script>";
        fill_in(&team, &admin, to, "input", hostile).await;
        let rows = rows!(team.app, RerunRow, RERUNS);
        let success = (1, 1, edited.to_owned(), Some("42.5".to_owned()), None, None, "success".to_owned());
        assert_eq!(rows[0], success);
        assert_eq!((&*rows[1].2, &*rows[1].6, rows[1].3.as_ref()), (hostile, "error", None));
        assert!(rows[1].4.as_ref().unwrap().starts_with("invalid_arguments"), "{rows:?}");

        let last = page(&team, &admin, address, StatusCode::OK).await;
        assert!(part(&last, "again").contains("invalid_arguments") && runs_ours_alone(&last), "{last}");
        let first = page(&team, &admin, &shows_it, StatusCode::OK).await;
        assert!(part(&first, "then").contains(">3</pre>") && part(&first, "again").contains(">42.5</pre>"), "{first}");
        assert!(first.contains("By root, 20") && first.contains("UTC: done, "), "{first}");
        // A re-run of another call is not shown.
        write_call(&db, &Call::new(2, 1)).await;
        let other = page(&team, &admin, &format!("/admin/calls/2?rerun={rerun}"), StatusCode::OK).await;
        assert!(!other.contains("data-testid=\"again\""), "{other}");

        let long = format!(r#"{{"a":1,"b":{}}}"#, "1".repeat(64 * 1024));
        assert_eq!(fill_in(&team, &admin, to, "input", &long).await.status(), StatusCode::CONFLICT);
        let longer = "%".repeat(70 * 1024);
        assert_eq!(fill_in(&team, &admin, to, "input", &longer).await.status(), StatusCode::BAD_REQUEST);
        assert_eq!(fill_in(&team, &admin, "/admin/calls/9/reruns", "input", "{}").await.status(), StatusCode::NOT_FOUND);
        assert_eq!(rows!(team.app, RerunRow, RERUNS), rows);
        assert_eq!(rows!(team.app, CallRow, CALL), before);
        let metrics = team.get(&admin, "/metrics").await.text().await.unwrap();
        for status in ["success", "error"] {
            let line = format!("tallybook_tool_calls_total{{tool=\"add\",status=\"{status}\"}} 1\n");
            assert!(metrics.contains(&line), "{line} is not in {metrics}");
        }
    }

    async fn calls_that_cannot_be_re_run_show_the_reason(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = { with_admin(&engine).await; start(&engine, &model).await };
        let admin = team.sign_in(ADMIN).await;
        let db = engine.pool().await;
        write_turn(&db, 1, 1, "Small").await;
        let long = "x".repeat(64 * 1024 + 1);
        for call in [
            Call { status: "awaiting_approval", ..Call::new(1, 1) },
            Call { tool: "gone__away", ..Call::new(2, 1) },
            Call { tool: "pays", ..Call::new(3, 1) },
            Call::new(4, 1),
            Call { input: &long, ..Call::new(5, 1) },
            Call { tool: "login", input: "{}", ..Call::new(6, 1) },
            Call { input: r#"{"a":"[hidden]","b":1}"#, ..Call::new(7, 1) },
        ] {
            write_call(&db, &call).await;
        }
        execute!(team.app, "UPDATE tool_calls SET tool_hash = 'of what was asked for' WHERE id = 4");
        for (id, why) in [
            (1, "cannot be re-run yet"),
            (2, "its tool is unavailable"),
            (3, "its tool can make changes"),
            (4, "its tool can make changes"),
            (5, "its input is longer than 64 kB"),
            (6, "which are not stored"),
            (7, "which are not stored"),
        ] {
            let shown = page(&team, &admin, &format!("/admin/calls/{id}"), StatusCode::OK).await;
            assert!(part(&shown, "no-rerun").contains(why) && !shown.contains("/reruns\""), "{id}: {shown}");
            let refused = fill_in(&team, &admin, &format!("/admin/calls/{id}/reruns"), "input", "{}").await;
            assert_eq!(refused.status(), StatusCode::CONFLICT);
            assert!(refused.text().await.unwrap().contains(why), "{id}");
        }
        assert_eq!(rows!(team.app, RerunRow, RERUNS), []);
    }

    /// The tool does not receive the secret either, because it could store it.
    async fn a_secret_of_the_settings_is_redacted_in_an_edited_input(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = { with_admin(&engine).await; start(&engine, &model).await };
        let admin = team.sign_in(ADMIN).await;
        let db = engine.pool().await;
        write_turn(&db, 1, 1, "Small").await;
        write_call(&db, &Call::new(1, 1)).await;
        let run = fill_in(&team, &admin, "/admin/calls/1/reruns", "input", &format!(r#"{{"a":"{SECRET}","b":1}}"#)).await;
        assert_eq!(run.status(), StatusCode::SEE_OTHER);
        let shown = page(&team, &admin, "/admin/calls/1", StatusCode::OK).await;
        assert!(part(&shown, "again").contains("the arguments contain [hidden] in place of a secret"), "{shown}");
        let rows = rows!(team.app, (String, String), "SELECT input_text, error_type FROM tool_reruns");
        assert_eq!(rows, [(r#"{"a":"[hidden]","b":1}"#.to_owned(), "secret_not_kept".to_owned())]);
        assert_not_kept(&engine, SECRET).await;
    }

    /// Four re-runs can run at once. A re-run has an unknown result if its server stopped before the re-run finished.
    async fn a_re_run_that_its_server_lost_has_an_unknown_result(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        with_admin(&engine).await;
        let team = start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let db = engine.pool().await;
        write_turn(&db, 1, 1, "Small").await;
        write_call(&db, &Call { tool: "hangs", ..Call::new(1, 1) }).await;
        let run = async || fill_in(&team, &admin, "/admin/calls/1/reruns", "input", "{}").await;
        let begun = tokio::join!(run(), run(), run(), run());
        assert_eq!(begun.0.status(), StatusCode::SEE_OTHER);
        let refused = run().await;
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        let running = page(&team, &admin, "/admin/calls/1", StatusCode::OK).await;
        assert!(part(&running, "rerun").contains("UTC: running<") && running.contains("Reload this page"), "{running}");
        team.app.shut_down().await;

        let team = start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        execute!(team.app, "UPDATE tool_reruns SET created_at = '2026-01-01 00:00:00'");
        let lost = page(&team, &admin, "/admin/calls/1", StatusCode::OK).await;
        assert!(part(&lost, "rerun").contains("UTC: unknown") && !lost.contains("Reload this page"), "{lost}");
        let statuses = rows!(team.app, (String,), "SELECT status FROM tool_reruns");
        assert_eq!(statuses, vec![("pending".to_owned(),); 4]);
    }

    /// The result of a different tool with the same name would say nothing about the call.
    async fn a_call_of_a_changed_tool_cannot_be_re_run(engine: Engine) {
        let (model, mock) = (MockLlm::start().await.unwrap(), MockMcp::start(&[]).await.unwrap());
        let servers = json!({ "mcpServers": { "mock": { "url": mock.url(), "risk": "claimed" } } });
        let servers = read_servers_file(&servers.to_string()).unwrap();
        let team = Team::of(TestApp::builder(&engine).with_mock(&model).with_tool_servers(servers).spawn().await);
        let is_connected = async || team.app.get_json("/api/tools").await["servers"][0]["status"] == "connected";
        eventually("the tool server is connected", is_connected).await;
        let nobody = Who::default();
        let db = engine.pool().await;
        write_turn(&db, 1, 1, "Small").await;
        write_call(&db, &Call { tool: "mock__echo", ..Call::new(1, 1) }).await;
        let shown = page(&team, &nobody, "/admin/calls/1", StatusCode::OK).await;
        assert!(part(&shown, "no-rerun").contains("has changed since"), "it was first seen after the call: {shown}");
        execute!(team.app, "UPDATE tool_pins SET first_seen_at = '2026-01-01 00:00:00'");
        let run = fill_in(&team, &nobody, "/admin/calls/1/reruns", "input", r#"{"text":"hello"}"#).await;
        assert_eq!(run.status(), StatusCode::SEE_OTHER);
        let statuses = rows!(team.app, (String,), "SELECT status FROM tool_reruns");
        assert_eq!(statuses, [("success".to_owned(),)]);
        execute!(team.app, "UPDATE tool_pins SET hash = 'another'");
        let shown = page(&team, &nobody, "/admin/calls/1", StatusCode::OK).await;
        assert!(part(&shown, "no-rerun").contains("has changed since"), "{shown}");
    }
}
