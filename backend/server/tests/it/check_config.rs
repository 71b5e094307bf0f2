//! `check-config --database`: the settings of the file, the environment and the database, merged into one list.

use std::process::Command;

use reqwest::Method;
use serde_json::json;
use tallybook_mock_llm::MockLlm;

use crate::{
    accounts::{
        groups::group,
        kit::{ADMIN, Team, with_admin},
    },
    operator_commands::said,
    support::{Engine, Program, TestApp, on_every_engine},
};

/// Address of the tool servers, at which nothing listens.
const TOOL_SERVER: &str = "http://127.0.0.1:9/mcp";

/// Returns the command that runs the program with this secret key.
fn program(engine: &Engine, model: &MockLlm, secret_key: &str) -> Command {
    let mut command = Program::command(engine, model);
    command.env("SECRET_KEY", secret_key).env("ACCOUNTS", "on");
    command
}

/// Returns the output of `check-config --database`, for a file and an environment that replace some of what the page
/// has added.
fn check(engine: &Engine, model: &MockLlm, secret_key: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let servers = folder.path().join("servers");
    std::fs::write(&servers, json!({"mcpServers": {"files": {"url": TOOL_SERVER, "risk": "low"}}}).to_string())
        .unwrap();
    let mut command = program(engine, model, secret_key);
    command.args(["check-config", "--database"]).env("LLM_MODEL", "Opal").env("SHARING", "off");
    let (is_done, words) = said(&command.env("MCP_SERVERS_FILE", &servers).output().unwrap());
    assert!(is_done && !words.contains("5up3r"), "{words}");
    words
}

/// Fails unless the output has each of these lines once.
fn assert_lines(words: &str, lines: &[String]) {
    for line in lines {
        assert_eq!(words.lines().filter(|found| found.trim_start() == line).count(), 1, "{line}\n{words}");
    }
}

on_every_engine! {
    async fn each_setting_is_printed_once_with_its_origin(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        with_admin(&engine).await;
        let (first_key, other_key) = ("the first secret key of 32 characters", "another secret key of 32 characters");
        let team = Team::of(TestApp::launch_command(&engine, &mut program(&engine, &model, first_key)));
        let admin = team.sign_in(ADMIN).await;
        let (_, ann) = team.user(&admin, "ann").await;
        let added = |name: &str, model_name: &str| {
            json!({"name": name, "provider": "openai", "model": model_name, "base_url": model.url(), "api_key": "sk-5up3r"})
        };
        let server = |name: &str| json!({"name": name, "url": TOOL_SERVER, "headers": {"X-Key": "header-5up3r"}});
        for (path, body) in [
            ("models", added("Opal", "maker/opal")),
            ("models", added("Ruby", "maker/ruby")),
            ("tool-servers", server("files")),
            ("tool-servers", server("notes")),
        ] {
            team.json(&admin, Method::POST, &format!("/api/admin/{path}"), body, 201).await;
        }
        let crew = group(&team, &admin, "Crew", &["model:Ruby", "upload"], &[ann]).await;
        let budgets = json!([
            {"principal": "all", "period": "month", "cost_nanos": 1_500_000_000},
            {"principal": format!("group:{crew}"), "period": "day", "tokens": 1000, "cost_nanos": 50_000_000_000_i64, "warn_at": 0.5},
            {"principal": format!("user:{ann}"), "period": "day", "tokens": 200},
        ]);
        team.json(&admin, Method::PUT, "/api/admin/budgets", budgets, 200).await;
        let patch = json!({"default_model": "Ruby", "retention_days": 9, "sharing": true});
        team.json(&admin, Method::PATCH, "/api/admin/settings", patch, 200).await;
        team.app.kill();

        let words = check(&engine, &model, first_key);
        let starts = |line: &str| words.lines().filter(|found| found.trim_start().starts_with(line)).count();
        let url = model.url();
        for line in [
            format!("Opal (file or environment): anthropic Opal at {url}, with an API key"),
            format!("Ruby (added in the page, default): openai maker/ruby at {url}, with an API key"),
            format!("Opal (added in the page): openai maker/opal at {url}, with an API key"),
        ] {
            assert_eq!(starts(&line), 1, "{line}\n{words}");
        }
        let replaced = |kind: &str| {
            format!("It is not used: The settings file or the environment has a {kind} of the same name, which is used instead.")
        };
        assert_eq!(words.matches(&replaced("model")).count(), 1, "{words}");
        assert_lines(&words, &[
            "files (file or environment): http://127.0.0.1:9, no call needs approval".to_owned(),
            format!("files (added in the page): http://127.0.0.1:9, every call needs approval. {}", replaced("tool server")),
            "notes (added in the page): http://127.0.0.1:9, every call needs approval".to_owned(),
            r#""Crew" (page, 1 member) is granted model:Ruby, upload"#.to_owned(),
            "all users together, each month: 1.5 in the currency of the prices, with a warning at 80 %".to_owned(),
            r#"the group "Crew", each day: 1000 tokens and 50 in the currency of the prices, with a warning at 50 %"#.to_owned(),
            r#"the user "ann", each day: 200 tokens, with a warning at 80 %"#.to_owned(),
            r#"default_model = "Ruby" (changed in the page)"#.to_owned(),
            "retention_days = 9.0 (changed in the page)".to_owned(),
            "sharing = false (file or environment)".to_owned(),
            "review = null (default)".to_owned(),
        ]);
        assert_eq!(starts("sharing is set in the settings file or the environment"), 1, "{words}");
        for printed_elsewhere in ["approval:", "memory:", "plan:"] {
            assert_eq!(starts(printed_elsewhere), 0, "{printed_elsewhere}\n{words}");
        }

        // With another key, the entries with a secret are not used, so another model is the default.
        let words = check(&engine, &model, other_key);
        let lost = |name: &str, about: &str| {
            let start = format!("{name} (added in the page): {about}");
            let is_lost = |line: &&str| line.trim_start().starts_with(&start) && line.contains("(SECRET_KEY");
            words.lines().filter(is_lost).count()
        };
        assert_eq!(lost("Ruby", "openai"), 1, "{words}");
        assert_eq!(lost("notes", TOOL_SERVER), 1, "{words}");
        assert!(words.contains("Opal (file or environment, default)"), "{words}");
        assert!(words.contains(r#"default_model names the model "Ruby", which is not available."#), "{words}");
    }
}
