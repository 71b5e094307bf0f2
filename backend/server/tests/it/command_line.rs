//! The program's command line: what it prints, and how it rejects invalid settings.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use tallybook_documents::{CHILD_COMMAND, FileProcessor, ProcessError};

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tallybook"));
    command.env_clear();
    command
}

#[test]
fn an_invalid_setting_stops_the_program_with_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    for (name, value) in [
        ("PORT", "http"),
        ("HOST", "nowhere"),
        ("ALLOWED_HOSTS", "chat.example.org:3000"),
        ("ALLOWED_HOSTS", "https://chat.example.org"),
        ("ALLOWED_HOSTS", "chat.example.org, *"),
        ("DATABASE_URL", "postgres://localhost/x"),
        ("LLM_PROVIDER", "hal9000"),
        ("LLM_BASE_URL", "ftp://example.org"),
        ("LLM_MAX_TOKENS", "0"),
        ("LLM_MAX_TOKENS", "many"),
        ("LLM_TEMPERATURE", "hot"),
        ("LLM_TEMPERATURE", "2.1"),
        ("MAX_TOOL_TURNS", "-1"),
        ("KEEP_ALIVE_SECS", "0"),
        ("JOURNAL_RETENTION_DAYS", "-1"),
        ("METRICS_TOKEN", "too short"),
        ("METRICS_TOKEN", "a token with spaces in it"),
        ("RETENTION_DAYS", "-1"),
        ("RETENTION_DAYS", "36501"),
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

#[tokio::test]
async fn the_program_reads_files_as_a_confined_child_of_itself() {
    let processor = FileProcessor::new(PathBuf::from(env!("CARGO_BIN_EXE_tallybook")));
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../documents/tests/fixtures");
    let open = |name: &str| File::open(fixtures.join(name)).unwrap();
    let (document, _) = processor.process(open("90ms-rksj-h.pdf"), "report.pdf").await.unwrap();
    assert!(document.pages[0].contains("吾輩は猫である。"), "{document:?}");
    let (photo, _) = processor.process(open("rotated.jpg"), "photo.jpg").await.unwrap();
    assert_eq!(photo.image.map(|image| (image.width, image.height)), Some((20, 40)));
    let damaged = processor.process(open("password.pdf"), "secret.pdf").await;
    assert!(matches!(damaged, Err(ProcessError::Unreadable { .. })), "{damaged:?}");
    let help = program().arg("--help").output().unwrap();
    assert!(!String::from_utf8(help.stdout).unwrap().contains(CHILD_COMMAND), "users need not know the command");
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
fn completions_the_manual_and_licenses_need_no_valid_settings() {
    let folder = tempfile::tempdir().unwrap();
    let print = |args: &[&str]| {
        let output = program().args(args).env("DATABASE_URL", "nonsense").current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for (shell, expected) in [("bash", "complete -F"), ("zsh", "#compdef tallybook"), ("fish", "complete -c tallybook")]
    {
        let script = print(&["completions", shell]);
        assert!(script.contains(expected) && script.contains("healthcheck"), "{shell}: {script}");
    }
    let manual = print(&["man"]);
    assert!(manual.contains(".TH tallybook 1") && manual.contains("DATABASE_URL"), "{manual}");
}

#[test]
fn the_health_check_fails_unless_the_server_is_alive() {
    let folder = tempfile::tempdir().unwrap();
    let check = |port: &str| program().arg("healthcheck").env("PORT", port).output().unwrap();
    let server = Running::start(program().envs([("HOST", "0.0.0.0"), ("PORT", "0")]).current_dir(folder.path()));
    let port = server.greeting[0].rsplit(':').next().unwrap().to_owned();
    let output = check(&port);
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    drop(server);
    let output = check(&port);
    assert!(!output.status.success() && !output.stderr.is_empty(), "{output:?}");
}

/// A server process, which is killed when the test ends.
pub(crate) struct Running {
    child: Child,
    greeting: Vec<String>,
}

impl Running {
    /// Starts the program and reads the three lines that name its address, its model and its database.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let greeting = lines.take(3).map(Result::unwrap).collect();
        Self { child, greeting }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Errors are ignored: if the process has ended by itself, the test has noticed that already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_program_starts_with_defaults_and_prints_its_address() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(program().env("PORT", "0").current_dir(folder.path()));
    let lines = &server.greeting;
    assert!(lines[0].starts_with("Tallybook is ready at http://127.0.0.1:"), "{lines:?}");
    assert!(lines[1].contains("demo"), "{lines:?}");
    assert!(lines[2].contains("data/tallybook.db"), "{lines:?}");
    assert!(folder.path().join("data/tallybook.db").exists());
}

#[test]
fn blank_variables_count_as_unset() {
    let help = String::from_utf8(program().arg("--help").output().unwrap().stdout).unwrap();
    let names = help.split("[env: ").skip(1).map(|rest| rest.split([']', '=']).next().unwrap());
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 20 && names.contains(&"PORT"), "{help}");
    for blank in ["", " "] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = program();
        command.envs(names.iter().map(|name| (name, blank))).current_dir(folder.path());
        // Set as an option, because `PORT` is blank too, and the test must not take the fixed default port.
        let server = Running::start(command.args(["--port", "0"]));
        let lines = &server.greeting;
        assert!(lines[0].starts_with("Tallybook is ready at http://127.0.0.1:"), "{lines:?}");
        assert!(lines[1].contains("demo"), "{lines:?}");
        assert!(lines[2].contains("data/tallybook.db"), "{lines:?}");
    }
}

/// Orchestrators send health checks to a container's IP address, so that address is the `Host`.
#[test]
fn any_host_is_accepted_when_listening_on_all_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(program().envs([("HOST", "0.0.0.0"), ("PORT", "0")]).current_dir(folder.path()));
    let port = server.greeting[0].rsplit(':').next().unwrap();
    let mut connection = TcpStream::connect(("127.0.0.1", port.parse().unwrap())).unwrap();
    connection.write_all(b"GET /healthz HTTP/1.1\r\nHost: 10.1.2.3:3000\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}
