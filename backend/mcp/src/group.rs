//! Process group of one server. The group is killed when Tallybook ends, even by `kill -9`. This module does not know
//! which programs run in the group.

use std::{io, process::Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// Shell that runs the guard. Every supported system has it at this path, and the guard uses only its built-in
/// commands.
const SHELL: &str = "/bin/sh";
/// Script of the guard: waits for the end of its input, then kills its whole group. Only Tallybook holds the other end
/// of that input, and writes nothing to it.
const GUARD: &str = "read -r nothing; kill -s KILL 0";

/// A program and all processes that it starts, except those that leave the group.
pub(crate) struct Group {
    /// Leader of the group. Until it is dropped, no other process can get its process ID, which is also the ID of the
    /// group.
    guard: Child,
}

impl Group {
    /// Creates a group that contains only the guard.
    pub(crate) fn new() -> io::Result<Self> {
        let guard = Command::new(SHELL)
            .args(["-c", GUARD])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        let unguarded = |error| {
            io::Error::other(format!("cannot start {SHELL}, which stops the program together with Tallybook: {error}"))
        };
        Ok(Self { guard: guard.map_err(unguarded)? })
    }

    /// Starts a program in the group.
    pub(crate) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        match self.id() {
            Some(id) => command.process_group(id.as_raw_nonzero().get()).spawn(),
            None => Err(io::Error::other("its process group is gone")),
        }
    }

    /// Kills all processes in the group.
    pub(crate) fn kill(&self) {
        if let Some(id) = self.id() {
            // The group may be empty already.
            let _ = kill_process_group(id, Signal::KILL);
        }
    }

    fn id(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.guard.id()?).ok()?)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
