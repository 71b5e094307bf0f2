//! Limits on what a file may contain, and on what the child process that reads it may use.

use std::time::Duration;

/// Maximum size of a file, in bytes. The child holds the whole file in memory.
pub(crate) const MAX_FILE_BYTES: u64 = 128 * 1024 * 1024;
/// Maximum length of the text of all pages, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of pages.
pub(crate) const MAX_PAGES: usize = 10_000;
/// Length of a page of a document that has no pages of its own, in characters.
pub(crate) const PAGE_CHARS: usize = 4_000;
/// Maximum length of a page of a document that has pages of its own, in characters. Longer pages are split, so that a
/// model can read each page with one tool call, whose result has at most 64 KiB.
pub(crate) const MAX_PAGE_CHARS: usize = 16_000;
/// Maximum size of the XML that is unpacked from one Office file, in bytes.
pub(crate) const MAX_UNPACKED_BYTES: u64 = 128 * 1024 * 1024;
/// Maximum number of files in a ZIP container.
pub(crate) const MAX_PARTS: usize = 10_000;

/// Maximum number of pixels of an image.
pub(crate) const MAX_PIXELS: u64 = 50_000_000;
/// Maximum size of a decoded image, in bytes. With 16 bits per channel, 50 million pixels would not fit the child's
/// memory.
pub(crate) const MAX_DECODED_BYTES: u64 = 256 * 1024 * 1024;
/// Maximum width and height of the image that models receive, in pixels.
pub(crate) const MODEL_SIDE: u32 = 1568;
/// Maximum width and height of the thumbnail, in pixels.
pub(crate) const THUMB_SIDE: u32 = 320;
/// Size above which the image for models is stored as JPEG instead of PNG, in bytes.
pub(crate) const MAX_MODEL_PNG_BYTES: usize = 2 * 1024 * 1024;
/// Size above which the thumbnail is stored as JPEG instead of PNG, in bytes.
pub(crate) const MAX_THUMB_PNG_BYTES: usize = 128 * 1024;

/// Maximum number of child processes at once.
pub(crate) const MAX_CHILDREN: usize = 2;
/// Maximum time for which a file waits for a child process.
pub(crate) const QUEUE_TIMEOUT: Duration = Duration::from_mins(10);
/// Maximum time for which a child process runs.
pub(crate) const WALL_TIME: Duration = Duration::from_mins(1);
/// Maximum time between killing a child process and its end.
pub(crate) const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// Address space of the child process, in bytes.
pub(crate) const MEMORY_BYTES: u64 = 512 * 1024 * 1024;
/// Processor time of the child process, in seconds.
pub(crate) const CPU_SECS: u64 = 20;
/// Size of the stack on which files are read, in bytes.
pub(crate) const STACK_BYTES: usize = 32 * 1024 * 1024;

/// Maximum size of the head of the child's answer, in bytes.
pub(crate) const MAX_HEAD_BYTES: usize = 512 * 1024;
/// Maximum size of one encoded image in the child's answer, in bytes.
pub(crate) const MAX_IMAGE_BYTES: usize = 8 * 1024 * 1024;
