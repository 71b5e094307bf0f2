//! Host names that the server answers to. Names are compared as browsers do: in ASCII and lower case, addresses in any
//! notation and with or without brackets, domain names with or without the final dot.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
    str::FromStr,
    sync::Arc,
};

use tallybook_http_client::is_loopback_address;
use url::Host;

/// The name or the IP address of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostName(Host);

/// The error for a host name that cannot match any request. Its message describes the valid format.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("write only the host name or address, such as chat.example.org, without https://, port, path or \"*\"")]
pub struct HostNameError;

impl FromStr for HostName {
    type Err = HostNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            return Ok(Self(Host::Ipv6(address)));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        if name.contains('*') || name.ends_with('.') {
            return Err(HostNameError);
        }
        Host::parse(name).map(Self).map_err(|_| HostNameError)
    }
}

impl HostName {
    /// Returns `true` for a localhost name or a loopback address, which mean the client's own machine.
    pub(crate) fn is_local(&self) -> bool {
        tallybook_http_client::is_loopback_host(&self.0)
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The host names that the server answers to.
#[derive(Clone, Debug)]
pub enum Hosts {
    /// All names. Used if the server does not listen on a loopback address and the operator configured no names.
    Any,
    /// Only localhost names and these names.
    Only(Arc<[HostName]>),
}

impl Hosts {
    /// Returns the host names of a server that listens on `address`, given the names that its operator allows.
    pub fn new(address: IpAddr, allowed: Vec<HostName>) -> Self {
        if allowed.is_empty() && !is_loopback_address(address) { Self::Any } else { Self::Only(allowed.into()) }
    }

    /// Returns `true` if the server answers a request that names this host, or no host.
    pub(crate) fn include(&self, name: Option<&str>) -> bool {
        let Self::Only(allowed) = self else { return true };
        let name = name.and_then(|name| name.parse::<HostName>().ok());
        name.is_some_and(|name| name.is_local() || allowed.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::{HostName, Hosts};

    #[test]
    fn names_match_in_every_notation() {
        for (allowed, asked) in [
            ("chat.example.org", "Chat.Example.ORG"),
            ("Chat.example.org.", "chat.example.org"),
            ("chat.example.org", "chat.example.org."),
            ("bücher.example", "xn--bcher-kva.example"),
            ("日本.example", "xn--wgv71a.example"),
            ("xn--bcher-kva.example", "XN--BCHER-KVA.example"),
            ("192.168.0.7", "192.168.0.7"),
            ("fd00::7", "[fd00::7]"),
            ("[fd00:0:0::7]", "[FD00::7]"),
            ("my_host", "my_host"),
        ] {
            let hosts = Hosts::Only([allowed.parse().unwrap()].into());
            assert!(hosts.include(Some(asked)), "{allowed} {asked}");
            assert!(!hosts.include(Some("chat.example.com")), "{allowed}");
        }
    }

    #[test]
    fn names_that_can_never_match_are_refused() {
        for text in [
            "",
            ".",
            "*",
            "*.example.org",
            "chat.example.org:3000",
            "https://chat.example.org",
            "chat.example.org/",
            "user@chat.example.org",
            "chat example",
            "chat.example.org..",
            "[fd00::7]:3000",
            "[fd00::7",
            "fd00::7]",
            "256.1.1.1",
        ] {
            assert!(text.parse::<HostName>().is_err(), "{text:?}");
        }
    }
}
