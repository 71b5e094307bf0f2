//! Children that misbehave: the parent limits, kills and reaps them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use tallybook_documents::{FileProcessor, ProcessError};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use crate::support::{endless_pdf, process_with, unreadable};

/// A shell script as the child's program. It can write files into its folder, `$here`.
struct Script {
    folder: TempDir,
}

impl Script {
    fn new(commands: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("#!/bin/sh\nhere='{}'\n{commands}\n", folder.path().display());
        let written = folder.path().join("written");
        fs::write(&written, script).unwrap();
        // Copied by another process: a child that another test starts at this moment would inherit the open file, and a
        // program that is open for writing cannot be started.
        let copied = Command::new("install").arg(&written).arg(folder.path().join("program")).status().unwrap();
        assert!(copied.success());
        Self { folder }
    }

    fn processor(&self) -> FileProcessor {
        FileProcessor::new(self.path("program"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }
}

fn is_running(process: &str) -> bool {
    Path::new("/proc").join(process.trim()).exists()
}

/// Waits for the condition, at most ten seconds.
async fn eventually(condition: impl Fn() -> bool) {
    let wait = async {
        while !condition() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(10), wait).await.expect("the condition comes true");
}

#[tokio::test]
async fn a_child_that_is_killed_makes_the_file_unreadable() {
    let script = Script::new("kill -9 $$");
    let reason = unreadable(process_with(&script.processor(), b"x", "x").await);
    assert_eq!(reason, "the file could not be read: the process that read it was killed");
}

#[tokio::test]
async fn a_child_that_hangs_is_killed_and_reaped() {
    let script = Script::new("echo $$ > \"$here/process\"; exec sleep 1000");
    let with_short_timeout = script.processor().with_wall_time(Duration::from_secs(1));
    let reason = unreadable(process_with(&with_short_timeout, b"x", "x").await);
    assert_eq!(reason, "the file is too complex: reading it took longer than 1 seconds");
    let process = script.read("process");
    assert!(!process.is_empty() && !is_running(&process));
}

#[tokio::test]
async fn a_child_that_writes_without_end_is_killed_and_reaped() {
    let script = Script::new("echo $$ > \"$here/process\"; exec yes");
    let reason = unreadable(process_with(&script.processor(), b"x", "x").await);
    assert_eq!(reason, "the file contains too much to be read");
    assert!(!is_running(&script.read("process")));
}

/// Returns commands that write the ID of the process into the file `process`, and then run another program as it.
fn note_process_and_run(program: &str) -> String {
    format!("echo $$ > \"$here/started\"; mv \"$here/started\" \"$here/process\"; exec {program}")
}

/// Lowers the child's limit while it runs, because reading for 20 seconds would take the test as long.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_child_that_computes_for_too_long_is_ended_by_its_limit() {
    let script = Script::new(&note_process_and_run(concat!("'", env!("CARGO_BIN_EXE_documents-child"), "' \"$@\"")));
    let processor = script.processor();
    let request = tokio::spawn(async move { process_with(&processor, &endless_pdf(), "x").await });
    let limit = || {
        let limits = Path::new("/proc").join(script.read("process").trim()).join("limits");
        let limits = fs::read_to_string(limits).unwrap_or_default();
        let line = limits.lines().find_map(|line| line.strip_prefix("Max cpu time")).unwrap_or_default();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    eventually(|| limit() == "20 21 seconds").await;
    let process = format!("--pid={}", script.read("process").trim());
    let lowered = Command::new("prlimit").args([&process, "--cpu=1:21"]).status().unwrap();
    assert!(lowered.success(), "prlimit runs; it is part of util-linux");
    let reason = unreadable(request.await.unwrap());
    assert_eq!(reason, "the file is too complex: reading it takes more than 20 seconds");
    assert!(!is_running(&script.read("process")));
}

#[tokio::test]
async fn a_child_whose_request_is_dropped_is_killed() {
    let script = Script::new(&note_process_and_run("sleep 1000"));
    let processor = script.processor();
    let request = tokio::spawn(async move { process_with(&processor, b"x", "x").await });
    eventually(|| script.path("process").exists()).await;
    request.abort();
    let process = script.read("process");
    eventually(|| !is_running(&process)).await;
}

#[tokio::test]
async fn a_child_with_a_malformed_answer_is_not_blamed_on_the_file() {
    for commands in ["exit 0", "echo nonsense", "printf '\\377\\377\\377\\377'", "exit 3"] {
        let result = process_with(&Script::new(commands).processor(), b"x", "x").await;
        assert!(matches!(result, Err(ProcessError::Unavailable { .. })), "{commands}: {result:?}");
    }
    let missing = FileProcessor::new(PathBuf::from("/nonexistent/program"));
    let result = process_with(&missing, b"x", "x").await;
    assert!(matches!(result, Err(ProcessError::Unavailable { source: Some(_), .. })), "{result:?}");
}

#[tokio::test]
async fn a_child_gets_the_file_as_its_input_and_nothing_of_the_servers_environment() {
    let script = Script::new("cat > \"$here/input\"; env > \"$here/environment\"; echo \"$@\" > \"$here/arguments\"");
    let _ = process_with(&script.processor(), b"the file", "x").await;
    assert_eq!(script.read("input"), "the file");
    assert_eq!(script.read("arguments"), "process-file\n");
    // The shell sets some variables of its own, and the allocator has a setting.
    let environment = script.read("environment");
    let names = environment.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
    assert!(
        names.into_iter().all(|name| ["MIMALLOC_ARENA_RESERVE", "PWD", "OLDPWD", "SHLVL", "_"].contains(&name)),
        "{environment}"
    );
    assert!(std::env::vars_os().count() > 4);
}

#[tokio::test]
async fn at_most_two_children_run_at_once() {
    // Each child occupies one of two places. A third one would find none.
    let script = Script::new(
        "for place in 1 2; do\n\
         if mkdir \"$here/place$place\" 2> /dev/null; then\n\
         echo >> \"$here/done\"; sleep 0.05; rmdir \"$here/place$place\"; exit\n\
         fi\ndone\necho >> \"$here/third\"",
    );
    let processor = script.processor();
    let requests: Vec<_> = (0..8)
        .map(|_| {
            let processor = processor.clone();
            tokio::spawn(async move { process_with(&processor, b"x", "x").await })
        })
        .collect();
    for request in requests {
        let _ = request.await.unwrap();
    }
    assert_eq!((script.read("done").len(), script.path("third").exists()), (8, false));
}
