//! Limits for API clients, in addition to those for all requests.

/// Maximum length of a client's own conversation id, in characters. The database column has this length.
pub(crate) const MAX_CHAT_ID_CHARS: usize = 200;

/// Maximum number of stop sequences. Every provider accepts this many.
pub(crate) const MAX_STOPS: usize = 4;

/// Maximum length of a stop sequence, in bytes.
pub(crate) const MAX_STOP_BYTES: usize = 1024;

/// Maximum number of messages in a request.
pub(crate) const MAX_MESSAGES: usize = 10_000;

/// Maximum number of client tools in a request, the same as for a tool server.
pub(crate) const MAX_TOOLS: usize = 128;

/// Maximum length of a client tool's description, in bytes.
pub(crate) const MAX_TOOL_DESCRIPTION_BYTES: usize = 16 * 1024;

/// Maximum size of a client tool's JSON schema in bytes, and (`MAX_SCHEMA_LEVELS`) its maximum depth.
pub(crate) const MAX_SCHEMA_BYTES: usize = 64 * 1024;
pub(crate) const MAX_SCHEMA_LEVELS: usize = 32;

/// Maximum length of the input, output or error in a report on one of Tallybook's own tool calls, in bytes.
pub(crate) const MAX_TOOL_EVENT_BYTES: usize = 4 * 1024;
