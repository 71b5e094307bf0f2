//! Limits that apply to calls of all tools. The limits of a single tool are in its file.

/// Maximum length of a call's arguments, in bytes. A call with longer arguments fails before they are parsed.
pub const MAX_INPUT_BYTES: usize = 1024 * 1024;
