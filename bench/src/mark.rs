//! The mark of each token: the time at which the model sent it. A reader on the same machine calculates from it how
//! long the token took.
//!
//! A mark is `~` and 16 hexadecimal digits: nanoseconds since 1970. JSON, server-sent events, and Markdown leave it
//! unchanged.

use std::time::{SystemTime, UNIX_EPOCH};

/// Size of a mark, in bytes.
pub(crate) const MARK_BYTES: usize = 17;

/// Returns the nanoseconds since 1970. All processes on a machine share this clock.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Writes a time as a mark.
pub(crate) fn write(nanos: u64) -> String {
    format!("~{nanos:016x}")
}

/// Finds marks in a stream of bytes, including those that are split between two chunks.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// The end of the previous chunk, which may be the start of a mark.
    rest: Vec<u8>,
}

impl Reader {
    /// Calls `found` with the time of each mark that ends in this chunk.
    pub(crate) fn read(&mut self, chunk: &[u8], mut found: impl FnMut(u64)) {
        self.rest.extend_from_slice(chunk);
        let mut at = 0;
        while let Some(start) = find(&self.rest[at..], b'~').map(|offset| at + offset) {
            let Some(digits) = self.rest.get(start + 1..start + MARK_BYTES) else {
                at = start;
                self.rest.drain(..at);
                return;
            };
            match std::str::from_utf8(digits).ok().and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
                Some(nanos) => {
                    found(nanos);
                    at = start + MARK_BYTES;
                }
                None => at = start + 1,
            }
        }
        self.rest.clear();
    }
}

fn find(bytes: &[u8], byte: u8) -> Option<usize> {
    bytes.iter().position(|&other| other == byte)
}

#[cfg(test)]
mod tests {
    use super::{Reader, write};

    #[test]
    fn marks_are_found_wherever_the_stream_is_split() {
        let stream = format!("data: {{\"delta\":\"{} \"}}\n\n~ no ~12 {}{}", write(1), write(u64::MAX), write(7));
        for size in 1..stream.len() {
            let (mut reader, mut seen) = (Reader::default(), Vec::new());
            for chunk in stream.as_bytes().chunks(size) {
                reader.read(chunk, |nanos| seen.push(nanos));
            }
            assert_eq!(seen, [1, u64::MAX, 7], "in pieces of {size}");
        }
    }
}
