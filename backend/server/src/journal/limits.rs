//! How much of a turn's record is kept in memory and read at a time.

/// Bytes of past events that a running turn keeps for readers that come back: some seconds of words, each of which takes hundreds of
/// bytes as an event. One that is further behind gets a snapshot.
pub(super) const MAX_BUFFERED_BYTES: usize = 256 * 1024;

/// Events that a reader is handed at a time.
pub(super) const MAX_EVENTS_PER_BATCH: usize = 256;

/// Stored events that are read at a time.
pub(super) const MAX_STORED_EVENTS_PER_READ: u32 = 200;

/// Bytes of stored events that are read at a time, but for one that alone is larger.
pub(super) const MAX_STORED_BYTES_PER_READ: i64 = 1024 * 1024;

/// Bytes of text that one stored event holds: escaped as JSON it still fits into what every database takes at a time.
pub(super) const MAX_STORED_TEXT_BYTES: usize = 256 * 1024;

/// Events that one statement stores, and bytes of them, but for one that alone is larger: what every database takes at a time.
pub(super) const MAX_EVENTS_PER_INSERT: usize = 32;
pub(super) const MAX_BYTES_PER_INSERT: usize = 512 * 1024;
