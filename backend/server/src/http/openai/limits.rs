//! How much programs may send beside what holds for every request.

/// Characters in a program's own id of a conversation; the column holds as many.
pub(super) const MAX_CHAT_ID_CHARS: usize = 200;

/// Texts before which a model is to stop, as many as every provider takes.
pub(super) const MAX_STOPS: usize = 4;

/// Bytes of such a text.
pub(super) const MAX_STOP_BYTES: usize = 1024;

/// Messages in a request.
pub(super) const MAX_MESSAGES: usize = 10_000;

/// Tools of a program's own in a request, as many as of a tool server.
pub(super) const MAX_TOOLS: usize = 128;

/// Bytes of such a tool's description.
pub(super) const MAX_TOOL_DESCRIPTION_BYTES: usize = 16 * 1024;

/// Bytes of the schema of its arguments, and how deep that may be.
pub(super) const MAX_SCHEMA_BYTES: usize = 64 * 1024;
pub(super) const MAX_SCHEMA_LEVELS: usize = 32;

/// Bytes of a call's input, output or error in what is told of our own tools.
pub(super) const MAX_TOOL_EVENT_BYTES: usize = 4 * 1024;
