//! What a client may use up: bytes, time and connections. The limits of a turn are the agent's (`tallybook_agent::Limits`).

use std::{num::NonZeroUsize, thread::available_parallelism, time::Duration};

/// The largest request body, in bytes: a longest message, every character escaped, and some room.
pub(super) const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

/// The largest form, in bytes: a name, a password and an address to go on to.
pub(super) const MAX_FORM_BYTES: usize = 16 * 1024;

/// The longest `X-Request-Id` of a proxy that is noted in the log.
pub(super) const MAX_PROXY_ID_BYTES: usize = 64;

/// How much of a request's path is noted in the log.
pub(super) const MAX_LOGGED_PATH_BYTES: usize = 200;

/// File handles that are kept for everything but clients: the database, the model's connections, files.
const RESERVED_FILES: u64 = 256;

/// How long clients may take and how many there may be. No limit ends an event stream: a sign of life is written to it long
/// before `idle_timeout` is over.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many connections may be open; further ones wait to be accepted.
    pub connections: usize,
    /// Event streams that one user may have open in this process. A browser needs two for each visible window.
    pub streams_per_user: usize,
    /// How long the head of a connection's first request may take.
    pub head: Duration,
    /// How long a request's body may take.
    pub body: Duration,
    /// How long a connection may be open without anything being written to it. Ends what the other limits do not see: a
    /// second head that never ends, a body that nobody reads. Longer than `body` and than any use case takes.
    pub idle_timeout: Duration,
    /// Maximum time without a request on an open connection. Longer than the 60 seconds for which proxies commonly keep theirs
    /// for another request: one that is sent just as the server closes is lost.
    pub keep_alive: Duration,
    /// How long a client may take to close a connection that it was told to close.
    pub disconnect: Duration,
    /// How long a program's answer waits for a person's consent to a tool call.
    pub approval_wait: Duration,
    /// Max-age of `Strict-Transport-Security`; zero sends no such header.
    pub hsts: Duration,
    /// How long requests that are being answered may hold up the end of the server.
    pub shutdown: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 8192,
            streams_per_user: 50,
            head: Duration::from_secs(10),
            body: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(90),
            keep_alive: Duration::from_secs(75),
            disconnect: Duration::from_secs(1),
            approval_wait: Duration::from_mins(5),
            hsts: Duration::ZERO,
            shutdown: Duration::from_secs(5),
        }
    }
}

/// Returns the number of threads that serve connections.
pub(super) fn workers() -> usize {
    available_parallelism().map_or(2, NonZeroUsize::get)
}

/// Returns the number of files that the system allows this process to have open.
#[cfg(unix)]
fn open_files() -> u64 {
    rlimit::Resource::NOFILE.get_soft().unwrap_or(1024)
}

#[cfg(not(unix))]
fn open_files() -> u64 {
    u64::MAX
}

impl Limits {
    /// Returns the number of connections that this process can have open.
    pub(super) fn max_connections(&self) -> usize {
        self.connections_per_worker() * workers()
    }

    /// Returns the number of connections that each worker can have open.
    pub(super) fn connections_per_worker(&self) -> usize {
        self.connections_of_each(workers(), open_files())
    }

    fn connections_of_each(&self, workers: usize, open_files: u64) -> usize {
        let files = open_files.saturating_sub(RESERVED_FILES).max(open_files / 2);
        let connections = usize::try_from(files).unwrap_or(usize::MAX).min(self.connections);
        (connections / workers.max(1)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::Limits;

    #[test]
    fn connections_leave_files_for_the_rest() {
        let limits = Limits { connections: 1000, ..Limits::default() };
        for (open_files, workers, connections) in
            [(u64::MAX, 4, 250), (1024, 2, 384), (300, 2, 75), (64, 8, 4), (1, 2, 1), (1024, 0, 768)]
        {
            assert_eq!(limits.connections_of_each(workers, open_files), connections, "{open_files} {workers}");
        }
    }
}
