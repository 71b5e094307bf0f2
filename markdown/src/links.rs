//! Decides which addresses in Markdown become links, and finds bare addresses in the text. Only the schemes of an
//! allowlist become links, because browsers may handle other schemes in unknown ways.

use tallybook_nodes::Node;

use crate::elements::link;

/// Allowed prefixes of links, in any case. Browsers ignore white space and control characters in addresses, but none
/// fit into these prefixes.
const ALLOWED: [&str; 3] = ["https://", "http://", "mailto:"];

/// Returns `true` if a link to this address is allowed.
pub(crate) fn may_be_followed(address: &str) -> bool {
    ALLOWED.iter().any(|start| {
        address.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start)) && address.len() > start.len()
    })
}

/// Prefixes of a bare address in a text, in lower case.
const STARTS: [&str; 2] = ["https://", "http://"];

/// Prefix of an address without a scheme.
const WWW: &str = "www";

/// Replaces the web addresses in the text of these nodes with links. Returns the number of added nodes.
pub(crate) fn link_addresses(nodes: &mut Vec<Node>) -> usize {
    let has_address = |node: &Node| matches!(node, Node::Text(text) if find_address(text).is_some());
    if !nodes.iter().any(has_address) {
        return 0;
    }
    let before = nodes.len();
    for node in std::mem::take(nodes) {
        let Node::Text(text) = node else {
            nodes.push(node);
            continue;
        };
        let mut rest = &*text;
        while let Some((start, end)) = find_address(rest) {
            if start > 0 {
                nodes.push(Node::Text(rest[..start].to_owned()));
            }
            let written = &rest[start..end];
            let has_scheme = written.contains("://");
            let address = if has_scheme { written.to_owned() } else { format!("https://{written}") };
            nodes.push(link(address, String::new()).with_text(written).into());
            rest = &rest[end..];
        }
        if !rest.is_empty() {
            nodes.push(Node::Text(rest.to_owned()));
        }
    }
    nodes.len() - before
}

/// Finds the first web address in a text: where it starts and ends, in bytes.
pub(crate) fn find_address(text: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some((start, host)) = find_start(text, from) {
        // The prefix is the end of another word, such as `xhttp://`.
        let is_word = text[..start].chars().next_back().is_some_and(|c| c.is_ascii_alphanumeric());
        if let Some(end) = end_of_address(text, start, host).filter(|_| !is_word) {
            return Some((start, end));
        }
        from = host;
    }
    None
}

/// Finds the next address: returns its start and the start of its host. An address without a scheme starts with its
/// host, `www.`.
fn find_start(text: &str, from: usize) -> Option<(usize, usize)> {
    let mut at = from;
    while let Some(found) = text[at..].find([':', '.']) {
        let mark = at + found;
        at = mark + 1;
        let begins = |end: usize, written: &str| {
            let start = end.checked_sub(written.len()).filter(|start| *start >= from)?;
            text.get(start..end).filter(|found| found.eq_ignore_ascii_case(written)).map(|_| start)
        };
        let host = mark + "://".len();
        if text[mark..].starts_with("://") {
            if let Some(start) = STARTS.into_iter().find_map(|written| begins(host, written)) {
                return Some((start, host));
            }
        } else if text.as_bytes()[mark] == b'.'
            && let Some(start) = begins(mark, WWW)
            && !text[..start].ends_with(['/', '.', '-', '@', '_'])
        {
            return Some((start, at));
        }
    }
    None
}

/// Returns the end of the address whose host starts at `from`. `None` if the host is empty, or if the address contains
/// a user name, which can make one server look like another.
fn end_of_address(text: &str, start: usize, from: usize) -> Option<usize> {
    let host = text[from..].bytes().take_while(|byte| is_host(*byte)).count();
    let after = &text[from + host..];
    let authority = after.split(|c: char| matches!(c, '/' | '?' | '#') || ends_address(c)).next().unwrap_or_default();
    // The host is followed by a port, a path, a query, a fragment, or the end of the address.
    let path =
        if after.starts_with(['/', '?', '#', ':']) { after.find(ends_address).unwrap_or(after.len()) } else { 0 };
    let end = start + without_trailing(&text[start..from + host + path]).len();
    let has_host = host > 0 && end > from && text.as_bytes()[from].is_ascii_alphanumeric();
    // `www.` and a word are not a complete address.
    let has_scheme = text[start..from].contains(':');
    let is_named = || has_scheme || text[from..end].split('/').next().is_some_and(|host| host.contains('.'));
    (has_host && is_named() && !authority.contains('@')).then_some(end)
}

fn is_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-')
}

/// Returns `true` if an address in running text ends before this character. Japanese has no space after an address. So
/// Japanese punctuation and Hiragana, in which particles are written, end an address. Ideographs do not, because they
/// are common within paths.
fn ends_address(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '<' | '>' | '"' | '`' | '“' | '”' | '„' | '«' | '»' | '‹' | '›')
        || matches!(c, '\u{3000}'..='\u{3020}' | '\u{3030}' | '\u{3040}'..='\u{309f}' | '\u{ff01}'..='\u{ff65}')
}

/// Returns the address without trailing punctuation of the surrounding sentence, and without closing brackets that the
/// address does not open.
fn without_trailing(address: &str) -> &str {
    // Number of closing brackets of each kind without an opening one.
    let surplus =
        |open: char, close: char| address.matches(close).count().saturating_sub(address.matches(open).count());
    let mut brackets = [(')', surplus('(', ')')), (']', surplus('[', ']')), ('}', surplus('{', '}'))];
    let mut kept = address;
    while let Some(last) = kept.chars().next_back() {
        if let Some((_, surplus)) = brackets.iter_mut().find(|(close, _)| *close == last) {
            let Some(fewer) = surplus.checked_sub(1) else { break };
            *surplus = fewer;
        } else if !matches!(last, '.' | ',' | ':' | ';' | '!' | '?' | '\'' | '*' | '_' | '~' | '…' | '‘' | '’' | '|')
        {
            break;
        }
        kept = &kept[..kept.len() - last.len_utf8()];
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::{find_address, may_be_followed};

    #[test]
    fn bare_addresses_end_before_surrounding_text() {
        for (text, expected) in [
            ("See https://example.com/a.", "https://example.com/a"),
            ("See https://example.com.", "https://example.com"),
            ("(https://example.com/a)", "https://example.com/a"),
            ("(see https://en.wikipedia.org/wiki/Tally_(x))", "https://en.wikipedia.org/wiki/Tally_(x)"),
            ("[HTTP://EXAMPLE.COM/?a=1&b=2#c]", "HTTP://EXAMPLE.COM/?a=1&b=2#c"),
            ("詳細はhttps://example.com/a。次", "https://example.com/a"),
            ("詳細はhttps://example.comを見る", "https://example.com"),
            ("https://example.com/a（英語）", "https://example.com/a"),
            ("https://example.com/をご覧ください", "https://example.com/"),
            ("https://ja.wikipedia.org/wiki/計算機", "https://ja.wikipedia.org/wiki/計算機"),
            ("「https://example.com/a」", "https://example.com/a"),
            ("\u{201c}https://example.com/a\u{201d}", "https://example.com/a"),
            ("http://localhost:3000/c/1, then", "http://localhost:3000/c/1"),
            ("xhttps://a.b https://c.d", "https://c.d"),
            ("https:// and http://x.y!", "http://x.y"),
            ("https://a.b/c?d=e%20f...", "https://a.b/c?d=e%20f"),
            ("See www.example.com/a_(b).", "www.example.com/a_(b)"),
            ("詳細はWWW.example.co.jpを見る", "WWW.example.co.jp"),
            ("https://www.example.com", "https://www.example.com"),
            ("www.example.com, https://a.b", "www.example.com"),
            ("https://user@a.b/ and https://c.d", "https://c.d"),
        ] {
            assert_eq!(find_address(text).map(|(start, end)| &text[start..end]), Some(expected), "{text}");
        }
        for text in
            ["", "https://", "ftp://example.com", "https://。", "https://.", "https://日本", "a://b", "https://-"]
        {
            assert_eq!(find_address(text), None, "{text}");
        }
        for text in
            ["https://bank.example@evil.example/", "https://a:b@c.d", "ftp://www.a.b", "x.www.a.b", "www.a", "www."]
        {
            assert_eq!(find_address(text), None, "{text}");
        }
    }

    #[test]
    fn only_web_and_mail_addresses_are_allowed() {
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
