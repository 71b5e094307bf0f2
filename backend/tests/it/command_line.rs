//! The program itself: what it prints, and how it refuses bad settings.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tallybook"));
    command.env_clear();
    command
}

#[test]
fn a_bad_setting_stops_the_program_with_a_sentence_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    for (name, value) in [
        ("PORT", "http"),
        ("HOST", "nowhere"),
        ("DATABASE_URL", "postgres://localhost/x"),
        ("LLM_PROVIDER", "hal9000"),
        ("LLM_BASE_URL", "ftp://example.org"),
        ("LLM_MAX_TOKENS", "0"),
        ("LLM_TEMPERATURE", "hot"),
        ("MAX_TOOL_TURNS", "-1"),
        ("SYSTEM_PROMPT_FILE", "/does/not/exist"),
    ] {
        let mut command = program();
        if name == "LLM_BASE_URL" {
            command.env("OPENAI_API_KEY", "sk-test");
        }
        let output = command.env("PORT", "0").env(name, value).current_dir(folder.path()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{name}={value} was accepted");
        assert!(said.contains(name), "{name}={value}: {said}");
    }
}

#[test]
fn help_lists_settings_and_never_their_values() {
    let output = program().arg("--help").env("LLM_API_KEY", "sk-secret").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    for name in ["HOST", "PORT", "DATABASE_URL", "LLM_PROVIDER", "LLM_API_KEY", "TOOL_TIMEOUT_SECS"] {
        assert!(help.contains(name), "{help}");
    }
    assert!(!help.contains("sk-secret"), "{help}");
}

#[test]
fn it_starts_with_nothing_set_and_says_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = program()
        .env("PORT", "0")
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines: Vec<String> = BufReader::new(child.stdout.take().unwrap()).lines().take(3).map(Result::unwrap).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(lines[0].starts_with("Tallybook is ready at http://127.0.0.1:"), "{lines:?}");
    assert!(lines[1].contains("demo"), "{lines:?}");
    assert!(lines[2].contains("data/tallybook.db"), "{lines:?}");
    assert!(folder.path().join("data/tallybook.db").exists());
}
