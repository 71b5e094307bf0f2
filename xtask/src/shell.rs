//! Runs other programs, with errors that a user can act on.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Output, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

use crate::workspace;

/// Returns a command for the cargo that runs this program, in the workspace folder.
pub(crate) fn cargo() -> Command {
    cargo_at(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Returns a command for a cargo program in the workspace folder, with the environment of a manual call.
///
/// `cargo run` describes this program in the environment. Build scripts would see that as a change. Their crates would
/// then be rebuilt each time a user runs cargo both directly and through this program.
pub(crate) fn cargo_at(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(workspace::root());
    let describes_us =
        |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || name == "CARGO_BIN_NAME";
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(describes_us)) {
        command.env_remove(name);
    }
    command
}

/// Looks for a program on `PATH`, and in the folders for system programs, which not every user has on `PATH`.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/usr/local/sbin", "/sbin"].map(PathBuf::from);
    env::split_paths(&path)
        .chain(system)
        .map(|folder| folder.join(name).with_extension(env::consts::EXE_EXTENSION))
        .find(|file| file.is_file())
}

/// Returns `true` if this program runs as root.
pub(crate) fn is_root() -> bool {
    ask(Command::new("id").arg("-u")).as_deref() == Some("0")
}

/// Runs a program with output to this terminal. Returns an error that names the program unless it succeeds.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = status(command)?;
    if !status.success() {
        bail!("`{}` failed ({status})", describe(command));
    }
    Ok(())
}

/// Runs a program with output to this terminal, and returns its exit status.
pub(crate) fn status(command: &mut Command) -> Result<ExitStatus> {
    command.status().with_context(|| format!("cannot start `{}`", describe(command)))
}

/// Runs a program quietly, and returns its output on stdout. `None` if it failed or does not exist.
pub(crate) fn ask(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs a program quietly, and ends it after `limit`. `None` if it could not start or took too long.
pub(crate) fn run_bounded(command: &mut Command, limit: Duration) -> Option<Output> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
    let id = child.id();
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        // After the timeout, the receiver is gone.
        let _ = sender.send(child.wait_with_output());
    });
    if let Ok(output) = receiver.recv_timeout(limit) {
        return output.ok();
    }
    // The standard library cannot end a child that another thread waits for. `kill` exists everywhere except on
    // Windows, where the program is left to end by itself.
    let _ = Command::new("kill").arg(id.to_string()).status();
    None
}

/// Runs a program with output to this terminal, like [`run`], and ends it after `limit`.
pub(crate) fn run_within(command: &mut Command, limit: Duration) -> Result<()> {
    let mut child = command.spawn().with_context(|| format!("cannot start `{}`", describe(command)))?;
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            if !status.success() {
                bail!("`{}` failed ({status})", describe(command));
            }
            return Ok(());
        }
        if began.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            bail!("`{}` took longer than {} s", describe(command), limit.as_secs());
        }
        // The standard library has no wait with a timeout.
        thread::sleep(Duration::from_millis(50));
    }
}

/// Formats the program and its arguments as a command line.
fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words: Vec<_> = [program].into_iter().chain(command.get_args()).map(OsStr::to_string_lossy).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_program_is_named_with_its_arguments() {
        let error = run(Command::new("false").arg("alarm")).unwrap_err();
        assert!(error.to_string().starts_with("`false alarm` failed"), "{error}");
    }

    #[test]
    fn a_program_that_hangs_is_abandoned() {
        assert!(run_bounded(Command::new("sleep").arg("600"), Duration::from_millis(20)).is_none());
    }

    #[test]
    fn a_program_with_a_limit_succeeds_fails_or_is_ended() {
        let seconds = |number| Duration::from_secs(number);
        run_within(&mut Command::new("true"), seconds(60)).unwrap();
        assert!(run_within(&mut Command::new("false"), seconds(60)).is_err());
        let error = run_within(Command::new("sleep").arg("600"), seconds(0)).unwrap_err();
        assert_eq!(error.to_string(), "`sleep 600` took longer than 0 s");
    }

    #[test]
    fn ask_returns_trimmed_output_or_none() {
        assert_eq!(ask(Command::new("echo").arg("hello")).as_deref(), Some("hello"));
        assert_eq!(ask(Command::new("no-such-program-here").arg("hello")), None);
    }
}
