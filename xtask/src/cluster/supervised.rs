//! A supervised process: it ends with this program, no matter how that ends, and it can be killed on purpose before.

use std::{
    ffi::OsStr,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

use crate::shell;

/// Script of the supervising shell. It prints the ID of the process, waits for its end, and kills it at the end of its
/// own input. The input ends when this program closes it or ends. Ctrl-C reaches the shell, too.
const KEEPER: &str = r#"trap '' INT HUP
exec 3<&0
log=$1; shift
"$@" >>"$log" 2>&1 3<&- &
pid=$!
echo $pid
{ read -r _; kill -9 $pid; } <&3 >/dev/null 2>&1 &
exec >&- 3<&- 2>/dev/null
wait $pid"#;

/// A running process.
pub(super) struct Supervised {
    name: String,
    keeper: Child,
    id: String,
}

impl Supervised {
    /// Starts a process. Its output is appended to `log`.
    pub(super) fn start(name: &str, command: &Command, log: &Path) -> Result<Self> {
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "keeper"]).arg(log).arg(command.get_program()).args(command.get_args());
        keeper.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = command.get_current_dir() {
            keeper.current_dir(folder);
        }
        let mut keeper = keeper.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start a shell")?;
        let mut id = String::new();
        BufReader::new(keeper.stdout.take().context("the shell has no output")?).read_line(&mut id)?;
        Ok(Self { name: name.to_owned(), keeper, id: id.trim().to_owned() })
    }

    /// Sends a signal to the process: `KILL`, `TERM`.
    pub(super) fn signal(&self, signal: &str) -> Result<()> {
        shell::run(Command::new("kill").args([OsStr::new("-s"), signal.as_ref(), self.id.as_ref()]))
    }

    /// Returns `true` if the process is still running.
    pub(super) fn runs(&mut self) -> Result<bool> {
        Ok(self.keeper.try_wait()?.is_none())
    }

    /// Waits for the end of the process. Returns an error after `limit`.
    pub(super) fn wait(mut self, limit: Duration) -> Result<()> {
        let began = Instant::now();
        while self.runs()? {
            if began.elapsed() > limit {
                bail!("{} does not end", self.name);
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // The process is no longer needed, so its exit status does not matter.
        let _ = self.keeper.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_killed_on_request_or_when_it_is_dropped() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let start = || Supervised::start("sleep", Command::new("sleep").arg("600"), &folder.path().join("log"));
        let killed = start()?;
        killed.signal("KILL")?;
        killed.wait(Duration::from_mins(1))?;
        let mut left = start()?;
        assert!(left.runs()?);
        let id = left.id.clone();
        drop(left);
        let began = Instant::now();
        while Path::new("/proc").join(&id).exists() {
            assert!(began.elapsed() < Duration::from_mins(1), "the process runs");
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}
