//! How much may come from a tool server, and how long it is waited for.

use std::time::Duration;

/// Bytes of one message of a server: a line of its output, a body or an event of its HTTP answers.
pub(super) const MAX_MESSAGE_BYTES: usize = 2 * 1024 * 1024;
/// Bytes of an HTTP answer without a readable message that are kept to tell what it was.
pub(super) const MAX_DIAGNOSTIC_BYTES: usize = 1024;
/// Names of tools in one line of the log.
pub(super) const MAX_LOGGED_NAMES: usize = 20;
/// Pages of one list.
pub(super) const MAX_PAGES: usize = 20;
/// Tools of one server.
pub(super) const MAX_TOOLS: usize = 128;
/// Reasons kept for what was left out of a list.
pub(super) const MAX_LEFT_OUT: usize = 128;
/// Bytes of the schema of a tool's arguments, as the server wrote it.
pub(super) const MAX_SCHEMA_BYTES: usize = 64 * 1024;
/// Levels of it.
pub(super) const MAX_SCHEMA_LEVELS: usize = 32;
/// Bytes of it once all references are put in place.
pub(super) const MAX_MENDED_SCHEMA_BYTES: usize = 128 * 1024;
/// Bytes of a description.
pub(super) const MAX_DESCRIPTION_BYTES: usize = 1024;
/// Characters of what a server says of its own failure, or of a progress message.
pub(super) const MAX_MESSAGE_CHARS: usize = 500;
/// Calls that one server has at the same time, half of them of one person at most.
pub(super) const MAX_CONCURRENT_CALLS: usize = 8;
/// Lines of its standard error that are logged in a minute.
pub(super) const MAX_STDERR_LINES: usize = 60;

/// Until there is a connection to a server, or to where its tokens come from.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection is kept on which nothing happens. Many servers close theirs after five seconds, and a request that meets
/// that is lost: nobody knows whether it was done, so it is not made again.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(2);
/// Until both sides know each other's protocol. Servers of the older era may keep silent to the newer one's question, and
/// are asked again in theirs after ten seconds.
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);
/// Limit of a turn's wait for servers that connect for the first time.
pub(super) const FIRST_CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Until all tools are listed.
pub(super) const LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// Until a token is there.
pub(super) const TOKEN_TIMEOUT: Duration = Duration::from_secs(15);
/// For saying good-bye: a cancellation, a session's end, a process asked to leave.
pub(super) const FAREWELL_TIMEOUT: Duration = Duration::from_secs(2);

/// Before a server that failed is tried again: the first pause and the longest. Each is twice as long as the one before, and up to
/// as much again comes on top, so that replicas do not all try at once.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// See [`FIRST_PAUSE`].
pub(super) const MAX_PAUSE: Duration = Duration::from_secs(30);
/// A connection that held this long begins again with the first pause.
pub(super) const SETTLED_AFTER: Duration = Duration::from_mins(1);
/// How often the tools of a connected server are listed anew, which also shows whether it is still there.
pub(super) const REFRESH_EVERY: Duration = Duration::from_mins(1);
/// Between two lists that the server asked for, or that are made since nobody could say which definitions are accepted.
pub(super) const MIN_REFRESH: Duration = Duration::from_secs(1);
