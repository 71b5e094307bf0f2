//! The settings file: the effect of its settings. `config_mistakes` tests the error messages for mistakes.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// An API key that must not appear in any output.
pub(crate) const KEY: &str = "sk-test-4711";

/// Returns a command that checks the settings in `folder`. Its environment contains only an API key.
pub(crate) fn check(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tallybook"));
    command.env_clear().env("A_KEY", KEY).current_dir(folder).arg("check-config");
    command
}

/// Returns the output: from stdout if the settings are valid, otherwise from stderr. Fails if the other stream is not
/// empty, or if the API key appears in either.
pub(crate) fn said(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!out.contains(KEY) && !err.contains(KEY), "{out}{err}");
    let (said, silent) = if output.status.success() { (out, err) } else { (err, out) };
    assert_eq!(silent, "");
    said.into_owned()
}

pub(crate) fn check_text(text: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tallybook.toml"), text).unwrap();
    check(folder.path()).output().unwrap()
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tallybook.example.toml")
}

#[test]
fn the_example_is_valid_and_has_every_key() {
    let folder = tempfile::tempdir().unwrap();
    let output = check(folder.path()).env("CONFIG_FILE", example()).env("ANTHROPIC_API_KEY", KEY).output().unwrap();
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    let sonnet = "Sonnet (default): anthropic claude-sonnet-5-5, with an API key, tools native if the model's server \
                  supports them, max_tokens = 8192, context_tokens = 200000, reasoning_effort = medium, vision = true, \
                  prices per million tokens: 3 for input, 15 for output";
    for words in [
        sonnet,
        "Local: openai qwen3-30b at http://127.0.0.1:8000/v1, without an API key, tools in the prompt, \
         max_tokens = 4096, context_tokens = 128000, temperature = 0.2, no_stream_options = true\n",
        "Demo: ",
        "docs: https://docs.example.org, with a token, every call needs approval, except of tools that it marks \
         read-only, changed tools are withheld. It cannot be used: the environment variable that client_id_env names \
         is not set\n",
        "memory: Local summarizes conversations longer than 20000 tokens, in 300 characters\n",
        "plan:   Sonnet makes plans, a step of which is tried 2 times, all of them 10 times\n",
        "review: Sonnet, Local advise on high-risk calls, and a person decides; they have 30 seconds\n",
        "everything: the program npx, every call needs approval\n",
        "intern: http://tools.internal:8080, with a token, every call needs approval",
    ] {
        assert!(said.contains(words), "{words} is not in {said}");
    }
    let text = std::fs::read_to_string(example()).unwrap();
    // The error for an unknown key lists the keys that the program accepts.
    for (section, some) in [
        ("[[models]]\nname = \"A\"\nprovider = \"demo\"\n", ["name", "output_price"]),
        ("[tool_servers.a]\n", ["url", "pin"]),
        ("[review]\n", ["models", "timeout_secs"]),
        ("[memory]\n", ["summary_model", "max_chars"]),
        ("[plan]\n", ["planner_model", "max_total_attempts"]),
        ("[tool_servers.a.oauth]\n", ["token_url", "scope"]),
    ] {
        let output = check_text(&format!("{section}anything = 1\n"));
        let refusal = String::from_utf8(output.stderr).unwrap();
        let known: Vec<&str> = refusal.split('`').skip(1).step_by(2).collect();
        assert!(some.iter().all(|key| known.contains(key)), "{refusal}");
        for key in known {
            let is_shown = text.contains(&format!("\n{key} = ")) || text.contains(&format!(".{key}]"));
            assert!(is_shown, "the example lacks {key}");
        }
    }
}

#[test]
fn without_a_file_the_environment_defines_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let output = check(folder.path()).output().unwrap();
    assert!(said(&output).contains("demo (default): the built-in demo model"));
    let output = check(folder.path()).env("OPENAI_API_KEY", KEY).env("LLM_MODEL", "gpt-x").output().unwrap();
    assert!(said(&output).contains("gpt-x (default): openai gpt-x, with an API key"));
    // A file that lists no models does not change that.
    std::fs::write(folder.path().join("tallybook.toml"), "# nothing yet\n").unwrap();
    let output = check(folder.path()).env("OPENAI_API_KEY", KEY).env("LLM_BASE_URL", "ftp://x").output().unwrap();
    let said = said(&output);
    assert!(!output.status.success() && said.contains("LLM_BASE_URL \"x\" must begin with http"), "{said}");
}

#[test]
fn every_setting_of_a_model_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = "[[models]]\nname = \"A\"\nprovider = \"openrouter\"\nmodel = \"m\"\napi_key_env = \"A_KEY\"\n\
                temperature = 0.5\nmax_tokens = 9000\ncontext_tokens = 50000\nthinking_tokens = 2000\nvision = true\n\
                tool_mode = \"prompt\"\ninput_price = 1\noutput_price = 2\n\n[[models]]\nname = \"B\"\n\
                provider = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\nreasoning_effort = \"low\"\n\n\
                [agent]\nmax_tool_turns = 7\n";
    std::fs::write(folder.path().join("tallybook.toml"), file).unwrap();
    let said = said(&check(folder.path()).output().unwrap());
    for line in [
        "A (default): openrouter m, with an API key, tools in the prompt, max_tokens = 9000, context_tokens = 50000, \
         temperature = 0.5, thinking_tokens = 2000, vision = true, prices per million tokens: 1 for input, 2 for output\n",
        "B: openai gpt-5-mini at http://127.0.0.1:1/v1, without an API key, tools native if the model's server supports \
         them, max_tokens = 4096, context_tokens = 128000, reasoning_effort = low\n",
        "  steps:  at most 7 of an answer can call tools\n",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
}

#[test]
fn an_unverified_connection_to_a_database_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    for (url, is_reported) in [
        ("mysql://tally:s3cret@db.example/book", true),
        ("mariadb://tally:s3cret@10.0.0.7:3307/book?charset=utf8mb4", true),
        ("mysql://tally:s3cret@db.example/book?ssl-mode=VERIFY_IDENTITY", false),
        ("mysql://tally:s3cret@db.example/book?charset=utf8mb4&sslmode=preferred", false),
        ("mysql://tally:s3cret@localhost/book", false),
        ("mysql://tally:s3cret@127.0.0.1:3306/book", false),
        ("mysql://tally:s3cret@[::1]/book", false),
        ("sqlite://tallybook.db", false),
    ] {
        let said = said(&check(folder.path()).env("DATABASE_URL", url).output().unwrap());
        assert_eq!(said.contains("does not verify the server's certificate"), is_reported, "{url}: {said}");
        assert_eq!(said.contains("Append ?ssl-mode=VERIFY_IDENTITY"), is_reported, "{url}: {said}");
        assert!(!said.contains("s3cret"), "{said}");
    }
}

#[test]
fn a_providers_key_is_not_for_another_host() {
    let folder = tempfile::tempdir().unwrap();
    let at = |url: &str| {
        let mut command = check(folder.path());
        command.env("OPENAI_API_KEY", KEY).env("LLM_BASE_URL", url);
        command
    };
    let said_elsewhere = said(&at("http://127.0.0.1:1/v1").output().unwrap());
    assert!(said_elsewhere.contains("at http://127.0.0.1:1/v1, without an API key"), "{said_elsewhere}");
    assert!(said_elsewhere.contains("OPENAI_API_KEY is not sent to LLM_BASE_URL"), "{said_elsewhere}");
    assert!(said_elsewhere.contains("set LLM_API_KEY"), "{said_elsewhere}");
    for command in [
        &mut at("https://api.openai.com/v1"),
        at("http://127.0.0.1:1/v1").env("LLM_API_KEY", "sk-another-key"),
        at("http://127.0.0.1:1/v1").env("LLM_API_KEY", "sk-another-key").env("LLM_PROVIDER", "openai"),
    ] {
        let said = said(&command.output().unwrap());
        assert!(said.contains(", with an API key") && !said.contains("is not sent"), "{said}");
    }
}

#[test]
fn environment_variables_are_defaults_for_all_models() {
    let folder = tempfile::tempdir().unwrap();
    let models = "[[models]]\nname = \"A\"\nprovider = \"ollama\"\n\n[[models]]\nname = \"B\"\nprovider = \"ollama\"\n\
                  tool_mode = \"native\"\nmodel = \"small\"\n";
    std::fs::write(folder.path().join("tallybook.toml"), models).unwrap();
    let output = check(folder.path()).env("LLM_TOOL_MODE", "prompt").env("LLM_MODEL", "other").output().unwrap();
    let said = said(&output);
    for words in [
        "A (default): ollama qwen3, without an API key, tools in the prompt, max_tokens = 4096",
        "B: ollama small, without an API key, tools native, max_tokens = 4096",
        "LLM_MODEL has no effect because tallybook.toml lists the models.",
    ] {
        assert!(said.contains(words), "{words} is not in {said}");
    }
}

#[test]
fn the_environment_overrides_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let understood = |text: &str, variables: &[(&str, &str)]| {
        std::fs::write(folder.path().join("tallybook.toml"), text).unwrap();
        said(&check(folder.path()).envs(variables.iter().copied()).output().unwrap())
    };
    let wait = "[consent]\nwait_hours = 1.5\n";
    for (text, variables, words) in [
        ("", &[][..], "approval: calls wait for it without a timeout\n"),
        (wait, &[], "approval: calls wait for it for 1.5 hours and are then denied\n"),
        (wait, &[("CONSENT_WAIT_HOURS", "24")], "approval: calls wait for it for 24 hours and are then denied\n"),
        (wait, &[("CONSENT_WAIT_HOURS", "0")], "approval: calls wait for it without a timeout\n"),
    ] {
        let said = understood(text, variables);
        assert!(said.contains(words), "{words} is not in {said}");
    }
    // The output does not show where tokens come from. But the variable's token endpoint has no client id, and the
    // output reports that.
    let oauth = "[tool_servers.a]\nurl = \"https://x/mcp\"\nrequires_auth = true\n[oauth]\n\
                 token_url = \"https://x/token\"\nclient_id_env = \"A_KEY\"\nclient_secret_env = \"A_KEY\"\n";
    assert!(!understood(oauth, &[]).contains("cannot be used"));
    let variables = [("MCP_OAUTH_TOKEN_URL", "https://y/token")];
    assert!(understood(oauth, &variables).contains("It cannot be used: the environment variable that client_id_env"));
}

#[test]
fn the_file_configures_the_memory() {
    let model = "[[models]]\nname = \"A\"\nprovider = \"ollama\"\n";
    for (text, words) in [
        (
            "",
            "the model that answered summarizes conversations longer than 70 % of the model's context window, in 300 \
             characters",
        ),
        (
            "[memory]\n",
            "the model that answered summarizes conversations longer than 70 % of the model's context window, in 300 \
             characters",
        ),
        (
            "[memory]\nafter_tokens = 0\nmax_chars = 500\n",
            "the model that answered summarizes after every answer, in 500 characters",
        ),
        (
            "[memory]\nsummary_model = \"A\"\nafter_tokens = 9\n",
            "A summarizes conversations longer than 9 tokens, in 300 characters",
        ),
        ("[memory]\nmax_chars = 0\n", "conversations are not summarized"),
    ] {
        let said = said(&check_text(&format!("{model}{text}")));
        assert!(said.contains(&format!("  memory: {words}\n")), "{words} is not in {said}");
    }
}

#[test]
fn the_tool_servers_of_both_files_are_merged() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let section = |name: &str| format!("\n[tool_servers.{name}]\ncommand = \"${{PROGRAM:-x}}\"\nrisk = \"low\"\n");
    write("tallybook.toml", &[section("zoo"), section("ape")].concat());
    write(
        ".mcp_servers",
        r#"{"httpStreamableServers": {"met": {"url": "https://x/mcp?key=hunter2", "requiresAuth": true}}}"#,
    );
    let output = check(folder.path()).env("MCP_OAUTH_TOKEN_URL", "https://x/token").output().unwrap();
    let understood = said(&output);
    let expected = "  tool servers:\n    zoo: the program ${PROGRAM:-x}, no call needs approval\n    ape: the program \
                    ${PROGRAM:-x}, no call needs approval\n    met: https://x, with a token, every call needs \
                    approval, except of tools that it marks read-only. It cannot be used: ";
    assert!(output.status.success() && understood.contains(expected), "{understood}");
    write("tallybook.toml", &[section("ape"), section("met")].concat());
    let output = check(folder.path()).output().unwrap();
    let refused = said(&output);
    let twice = "tallybook: tallybook.toml, line 6: tool_servers.met: two tool servers are named \"met\"; rename one \
                 of them. The other server is in .mcp_servers.\n";
    assert!(!output.status.success() && refused == twice, "{refused}");
}

#[test]
fn a_named_file_must_exist() {
    let folder = tempfile::tempdir().unwrap();
    let output = check(folder.path()).env("CONFIG_FILE", "elsewhere.toml").output().unwrap();
    let said = said(&output);
    assert!(!output.status.success() && said.contains("elsewhere.toml cannot be read"), "{said}");
}

/// A start of the server makes at least the checks of `check-config`.
#[test]
fn the_server_does_not_start_with_an_invalid_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tallybook.toml"), "[[models]]\nname = 1\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tallybook"));
    let output = command.env_clear().env("PORT", "0").current_dir(folder.path()).output().unwrap();
    let said = said(&output);
    assert!(!output.status.success() && said.contains("tallybook.toml, line 2: "), "{said}");
    assert!(!folder.path().join("data").exists());
}
