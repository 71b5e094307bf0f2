//! Hosts whose pages models may read without approval: `example.org`, or `*.example.org` for all hosts below it.

use std::{fmt, str::FromStr};

use reqwest::Url;
use url::Host;

/// A host, or all hosts below a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHost {
    /// Host name or address, in ASCII and lower case.
    name: String,
    /// `true` if this covers the hosts below `name`, but not `name` itself.
    below: bool,
}

/// Error of parsing a text that is not a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write a host without scheme, port or path, as in example.org, or *.example.org for the hosts below it")]
pub struct BadHost;

impl FromStr for AllowedHost {
    type Err = BadHost;

    fn from_str(text: &str) -> Result<Self, BadHost> {
        let text = text.trim();
        let (below, name) = text.strip_prefix("*.").map_or((false, text), |name| (true, name));
        let host = Host::parse(name).map_err(|_| BadHost)?;
        let is_name = matches!(host, Host::Domain(_));
        let name = host.to_string().trim_end_matches('.').to_owned();
        // A wildcard covers no addresses, and no whole top-level domain.
        if name.is_empty() || name.contains('*') || below && !(is_name && name.contains('.')) {
            return Err(BadHost);
        }
        Ok(Self { name, below })
    }
}

impl AllowedHost {
    /// Returns `true` if a URL is on this host, on any port.
    pub(crate) fn covers(&self, address: &Url) -> bool {
        let host = address.host_str().unwrap_or_default().trim_end_matches('.');
        if !self.below {
            return host == self.name;
        }
        host.strip_suffix(self.name.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.below { "*." } else { "" }, self.name)
    }
}

#[cfg(test)]
mod tests {
    use reqwest::Url;

    use crate::builtin::fetch_page::allowed_host::{AllowedHost, BadHost};

    #[test]
    fn a_host_covers_itself_and_a_wildcard_its_subdomains() {
        for (allowed, address, is_covered) in [
            ("example.org", "https://example.org/a?b=c", true),
            ("Example.ORG.", "http://EXAMPLE.org.:8080/", true),
            ("example.org", "https://www.example.org/", false),
            ("example.org", "https://example.org.evil.example/", false),
            ("example.org", "https://notexample.org/", false),
            ("*.example.org", "https://www.example.org/", true),
            ("*.example.org", "https://a.b.example.org/", true),
            ("*.example.org", "https://example.org/", false),
            ("*.example.org", "https://notexample.org/", false),
            ("*.example.org", "https://evil.example/?x=.example.org", false),
            ("bücher.example", "https://xn--bcher-kva.example/", true),
            ("192.0.2.1", "http://192.0.2.1/", true),
            ("192.0.2.1", "http://3221225985/", true),
            ("[2001:db8::1]", "http://[2001:DB8::1]/", true),
        ] {
            let allowed: AllowedHost = allowed.parse().unwrap();
            assert_eq!(allowed.covers(&Url::parse(address).unwrap()), is_covered, "{allowed} {address}");
        }
    }

    #[test]
    fn an_invalid_host_is_refused() {
        for text in [
            "",
            "*",
            "*.",
            "*.org",
            "https://example.org",
            "example.org:443",
            "example.org/a",
            "a.*.org",
            "*.192.0.2.1",
        ] {
            assert_eq!(text.parse::<AllowedHost>(), Err(BadHost), "{text}");
        }
    }
}
