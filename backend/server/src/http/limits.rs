//! Limits for clients: bytes, time, and connections. The limits of a turn are in `tallybook_agent::Limits`.

use std::{num::NonZeroUsize, thread::available_parallelism, time::Duration};

/// Maximum size of a request body, in bytes. Fits the longest message with every character escaped.
pub(crate) const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

/// Maximum size of a request body that may contain files as base64, in bytes. Fits a file of 20 MiB, and text. Without
/// the files, `MAX_BODY_BYTES` applies.
pub(crate) const MAX_LARGE_BODY_BYTES: usize = 32 * 1024 * 1024;

/// Maximum size of a form, in bytes. Fits a name, a password, and the address to redirect to.
pub(crate) const MAX_FORM_BYTES: usize = 16 * 1024;

/// Maximum length of a proxy's `X-Request-Id`, in bytes. A longer one is not logged.
pub(crate) const MAX_PROXY_ID_BYTES: usize = 64;

/// Maximum length of a request's path in the log, in bytes.
pub(crate) const MAX_LOGGED_PATH_BYTES: usize = 200;

/// Maximum length of a logged method, in bytes. A client can send any word as the method.
pub(crate) const MAX_LOGGED_METHOD_BYTES: usize = 32;

/// Number of file handles reserved for uses other than clients: the database, connections to models, files.
const RESERVED_FILES: u64 = 256;

/// Limits on the time and the number of clients. None of them ends an event stream: the server writes a keep-alive to
/// it long before `idle_timeout` expires.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of open connections; further ones wait to be accepted.
    pub connections: usize,
    /// Maximum number of event streams that one user may have open in this process. A browser needs two for each
    /// visible window.
    pub streams_per_user: usize,
    /// Timeout for the head of a connection's first request.
    pub head: Duration,
    /// Timeout for a request's body.
    pub body: Duration,
    /// Timeout for the body of an upload of a file.
    pub upload: Duration,
    /// Maximum time for which a connection may be open without anything being written to it. Ends what the other limits
    /// miss: a second request head that never ends, and a body that is never read. Longer than `body`, and longer than
    /// any use case takes.
    pub idle_timeout: Duration,
    /// Maximum time without a request on an open connection. Longer than the 60 seconds for which proxies commonly keep
    /// an idle connection: a request that is sent just as the server closes the connection is lost.
    pub keep_alive: Duration,
    /// Timeout for the client to close a connection that the server has ended.
    pub disconnect: Duration,
    /// Maximum time for which an API client's response waits for the approval of a tool call.
    pub approval_wait: Duration,
    /// `max-age` of `Strict-Transport-Security`; zero sends no such header.
    pub hsts: Duration,
    /// Maximum time for which running requests may delay the server's shutdown.
    pub shutdown: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 8192,
            streams_per_user: 50,
            head: Duration::from_secs(10),
            body: Duration::from_secs(30),
            upload: Duration::from_mins(10),
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
pub(crate) fn workers() -> usize {
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
    pub(crate) fn max_connections(&self) -> usize {
        self.connections_per_worker() * workers()
    }

    /// Returns the number of connections that each worker can have open.
    pub(crate) fn connections_per_worker(&self) -> usize {
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
    fn connections_leave_file_handles_for_other_uses() {
        let limits = Limits { connections: 1000, ..Limits::default() };
        for (open_files, workers, connections) in
            [(u64::MAX, 4, 250), (1024, 2, 384), (300, 2, 75), (64, 8, 4), (1, 2, 1), (1024, 0, 768)]
        {
            assert_eq!(limits.connections_of_each(workers, open_files), connections, "{open_files} {workers}");
        }
    }
}
