//! Limits on what tool servers may send, and timeouts.

use std::time::Duration;

/// Maximum size of one message from a server, in bytes: a line of its output, or a body or an event of its HTTP
/// responses.
pub(crate) const MAX_MESSAGE_BYTES: usize = 2 * 1024 * 1024;
/// Maximum number of bytes kept of an HTTP response that contains no readable message, for the error report.
pub(crate) const MAX_DIAGNOSTIC_BYTES: usize = 1024;
/// Maximum number of tool names in one line of the log.
pub(crate) const MAX_LOGGED_NAMES: usize = 20;
/// Maximum number of pages of one tool list.
pub(crate) const MAX_PAGES: usize = 20;
/// Maximum number of tools of one server.
pub(crate) const MAX_TOOLS: usize = 128;
/// Maximum number of reasons kept for tools that were left out of a list.
pub(crate) const MAX_LEFT_OUT: usize = 128;
/// Maximum size of the schema of a tool's arguments, in bytes, before it is repaired.
pub(crate) const MAX_SCHEMA_BYTES: usize = 64 * 1024;
/// Maximum nesting depth of the schema of a tool's arguments.
pub(crate) const MAX_SCHEMA_LEVELS: usize = 32;
/// Maximum size of the schema of a tool's arguments, in bytes, after each reference is replaced with its target.
pub(crate) const MAX_MENDED_SCHEMA_BYTES: usize = 128 * 1024;
/// Maximum length of a description, in bytes.
pub(crate) const MAX_DESCRIPTION_BYTES: usize = 1024;
/// Maximum length of a server's error or progress message, in characters.
pub(crate) const MAX_MESSAGE_CHARS: usize = 500;
/// Maximum number of concurrent calls to one server. One user has at most half of them.
pub(crate) const MAX_CONCURRENT_CALLS: usize = 8;
/// Maximum number of log lines per minute for a server's standard error. The last one says that more lines are omitted.
pub(crate) const MAX_STDERR_LINES: usize = 60;

/// Timeout for connecting to a server or to a token endpoint, and for writing one message to a program.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time after which an idle connection is closed. Many servers close idle connections after five seconds. A request
/// sent at that moment is lost, and its outcome is unknown, so it is not retried.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(2);
/// Timeout for the handshake, including both eras' requests. Servers of the older era may not answer the newer era's
/// request; after ten seconds without an answer, they get the older era's request.
pub(crate) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time that a turn waits for servers that connect for the first time.
pub(crate) const FIRST_CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for listing all tools of a server.
pub(crate) const LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout for getting a token.
pub(crate) const TOKEN_TIMEOUT: Duration = Duration::from_secs(15);
/// Timeout for each step of an orderly shutdown: sending a cancellation, closing a session, waiting for a process to
/// exit.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// First pause before a failed server is tried again. Each pause is twice as long as the previous one, up to
/// [`MAX_PAUSE`]. A random time of up to the same length is added, so that replicas do not all retry at once.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Maximum pause before a failed server is tried again, including the random time.
pub(crate) const MAX_PAUSE: Duration = Duration::from_secs(30);
/// Duration after which a connection counts as stable: when it fails, the first pause is used again.
pub(crate) const SETTLED_AFTER: Duration = Duration::from_mins(1);
/// Interval at which the tools of a connected server are listed again. This also checks that the server still responds.
pub(crate) const REFRESH_INTERVAL: Duration = Duration::from_mins(1);
/// Minimum time between two lists, if the server reports changes or if the accepted definitions could not be read.
pub(crate) const MIN_REFRESH: Duration = Duration::from_secs(1);
