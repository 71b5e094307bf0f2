//! Limits on how much of a turn's record is buffered, read, and stored at a time.

/// Maximum size of the past events that a running turn buffers for reconnecting subscribers, in bytes. This holds a few seconds
/// of text, since each delta takes hundreds of bytes as an event. A subscriber that is further behind gets a snapshot.
pub(crate) const MAX_BUFFERED_BYTES: usize = 256 * 1024;

/// Maximum number of events that a subscriber gets in one batch.
pub(crate) const MAX_EVENTS_PER_BATCH: usize = 256;

/// Maximum number of stored events per read.
pub(crate) const MAX_STORED_EVENTS_PER_READ: u32 = 200;

/// Maximum size of the stored events in one read, in bytes. A single larger event is read alone.
pub(crate) const MAX_STORED_BYTES_PER_READ: i64 = 1024 * 1024;

/// Maximum length of the text in one stored event, in bytes. Even when escaped as JSON, this fits into one statement on
/// every supported database.
pub(crate) const MAX_STORED_TEXT_BYTES: usize = 256 * 1024;

/// Maximum number of events, and bytes, per INSERT; every supported database accepts this much. A single larger event is
/// inserted alone.
pub(crate) const MAX_EVENTS_PER_INSERT: usize = 32;
pub(crate) const MAX_BYTES_PER_INSERT: usize = 512 * 1024;
