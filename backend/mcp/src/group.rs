//! The processes of one server, as a group that ends with this process however that ends, `kill -9` included. What runs in
//! it is not known here.

use std::{io, process::Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// Every system has it here, and the commands below are its own.
const SHELL: &str = "/bin/sh";
/// Waits for the end of its input, of which this process alone holds the other end and writes nothing, and then ends its
/// whole group.
const GUARD: &str = "read -r nothing; kill -s KILL 0";

/// A program and all that it starts, unless that leaves the group.
pub(super) struct Group {
    /// Leads the group. Until it is dropped nobody else can be given its number, which is the group's.
    guard: Child,
}

impl Group {
    /// A group with nobody in it but the guard.
    pub(super) fn new() -> io::Result<Self> {
        let guard = Command::new(SHELL)
            .args(["-c", GUARD])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        let unguarded = |error| io::Error::other(format!("{SHELL}, which would end it with Tallybook: {error}"));
        Ok(Self { guard: guard.map_err(unguarded)? })
    }

    /// Starts a program within the group.
    pub(super) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        match self.id() {
            Some(id) => command.process_group(id.as_raw_nonzero().get()).spawn(),
            None => Err(io::Error::other("its process group is gone")),
        }
    }

    /// Ends all that is in it.
    pub(super) fn kill(&self) {
        if let Some(id) = self.id() {
            // Nobody may be left.
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
