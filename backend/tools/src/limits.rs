//! How much a call may bring, for whoever calls. What one tool takes of it stands with that tool.

/// Bytes of a call's arguments. Longer ones are not read, and the call fails.
pub const MAX_INPUT_BYTES: usize = 1024 * 1024;
