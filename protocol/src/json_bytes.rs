//! Calculates the length of a text as JSON, the format in which texts are stored and sent (RFC 8259, section 7, as
//! serde writes it).

/// Returns the length of a text as JSON, in bytes, without its quotation marks.
pub fn json_bytes(text: &str) -> usize {
    text.bytes().map(escaped_bytes).sum()
}

/// Returns the longest beginning of a text that has at most `limit` bytes as JSON.
pub fn beginning_within(text: &str, limit: usize) -> &str {
    let mut bytes = 0;
    let fitting = text.bytes().take_while(|byte| {
        bytes += escaped_bytes(*byte);
        bytes <= limit
    });
    &text[..text.floor_char_boundary(fitting.count())]
}

fn escaped_bytes(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..0x20 => 6,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{beginning_within, json_bytes};

    proptest! {
        #[test]
        fn the_bytes_are_those_that_serde_writes(text in "[a\"\\\\\n\r\t\u{0}-\u{1f}\u{7f}計🙂]{0,20}", limit in 0usize..60) {
            prop_assert_eq!(json_bytes(&text) + 2, serde_json::to_string(&text).unwrap().len());
            let beginning = beginning_within(&text, limit);
            prop_assert!(text.starts_with(beginning) && json_bytes(beginning) <= limit);
            let next: String = text.chars().take(beginning.chars().count() + 1).collect();
            prop_assert!(next == text && beginning == text || json_bytes(&next) > limit || next == beginning);
        }
    }
}
