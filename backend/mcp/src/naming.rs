//! Names servers' tools so that no two tools share a name and every provider accepts it.

use sha2::{Digest, Sha256};

/// Maximum length of a name that every provider accepts, in characters.
const MAX_NAME: usize = 64;
/// Number of characters kept of a name that gets a hash.
const KEPT: usize = 55;

/// Returns `<server>__<tool>`, with `_` for every character that is not allowed. If that name is too long or
/// `is_taken`, returns its beginning and eight hex digits of the SHA-256 of server, NUL byte and tool. Returns `None`
/// if that name is taken too.
pub(crate) fn tool_name(server: &str, tool: &str, is_taken: impl Fn(&str) -> bool) -> Option<String> {
    let plain = plain_name(server, tool);
    if plain.len() <= MAX_NAME && !is_taken(&plain) {
        return Some(plain);
    }
    let digest = Sha256::digest(format!("{server}\0{tool}"));
    let hash = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
    let hashed = format!("{}_{hash:08x}", &plain[..plain.len().min(KEPT)]);
    (!is_taken(&hashed)).then_some(hashed)
}

/// Returns `true` if a tool with this name may be one of the server's.
pub fn is_of_server(name: &str, server: &str) -> bool {
    let beginning = plain_name(server, "");
    name.starts_with(&beginning[..beginning.len().min(KEPT)])
}

fn plain_name(server: &str, tool: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    format!("{server}__{tool}").chars().map(allowed).collect()
}

#[cfg(test)]
mod tests {
    use super::{is_of_server, tool_name};

    #[test]
    fn a_name_says_which_server_a_tool_is_of() {
        for server in ["docs", "my docs", &"d".repeat(80)] {
            let name = tool_name(server, "read", |_| false).unwrap();
            assert!(is_of_server(&name, server), "{name}");
            assert!(!is_of_server(&name, "doc") && !is_of_server("add", server), "{name}");
        }
    }

    #[test]
    fn names_are_hashed_only_if_needed() {
        assert_eq!(tool_name("docs", "search.pages", |_| false).unwrap(), "docs__search_pages");
        // printf 'docs\0search.pages' | sha256sum | cut -c -8
        let clash = tool_name("docs", "search.pages", |name| name == "docs__search_pages").unwrap();
        assert_eq!(clash, "docs__search_pages_23d16669");
        let long = tool_name("docs", &"長".repeat(100), |_| false).unwrap();
        assert_eq!(long, format!("docs__{}_52770076", "_".repeat(49)));
        assert_eq!(long.len(), 64);
        assert_eq!(tool_name("docs", "x", |_| true), None);
    }
}
