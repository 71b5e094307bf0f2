//! Which addresses in Markdown may be followed. A list of what is allowed: what browsers do with the rest is their secret.

/// What a link may begin with, in any case. White space and control characters, which browsers skip in addresses, find
/// no place before the colon of these.
const ALLOWED: [&str; 3] = ["https://", "http://", "mailto:"];

/// Whether a reader may follow a link to this address.
pub(crate) fn may_be_followed(address: &str) -> bool {
    ALLOWED.iter().any(|start| {
        address.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start)) && address.len() > start.len()
    })
}

#[cfg(test)]
mod tests {
    use super::may_be_followed;

    #[test]
    fn only_the_web_and_mail() {
        for address in ["https://example.com/a?b#c", "HTTP://EXAMPLE.COM", "mailto:someone@example.com"] {
            assert!(may_be_followed(address), "{address}");
        }
        for address in [
            "",
            "https://",
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            " javascript:alert(1)",
            "java\tscript:alert(1)",
            "\u{1}javascript:alert(1)",
            "data:text/html,<script>alert(1)</script>",
            "vbscript:x",
            "file:///etc/passwd",
            "blob:https://example.com/1",
            "//example.com",
            "/c/1",
            "#x",
            "計算計算計算",
        ] {
            assert!(!may_be_followed(address), "{address}");
        }
    }
}
