//! Builds the server's HTTP clients: for models, tool servers, identity providers, pages and traces.

mod link_local;

use std::{error::Error, net::IpAddr, sync::Arc};

use reqwest::{Client, ClientBuilder, redirect};
use url::{Host, Url};

use crate::link_local::NoLinkLocal;
pub use crate::link_local::is_link_local;

/// Starts a client for one configured server. The client follows no redirects, because a redirect would carry keys and
/// conversations to a server that the operator has not configured. It connects to no link-local address.
pub fn client_for(server: &Url) -> ClientBuilder {
    let mut builder = client().dns_resolver(Arc::new(NoLinkLocal));
    if server.scheme() == "http" {
        // Plain HTTP has no certificates to verify, and a small container may lack root certificates.
        builder = builder.tls_certs_only([]);
    }
    if is_loopback(server) {
        // Bypasses the proxy, which cannot reach this machine's loopback addresses.
        builder = builder.no_proxy();
    }
    builder
}

/// Starts a client that follows no redirects.
pub fn client() -> ClientBuilder {
    install_crypto_provider();
    Client::builder().user_agent(concat!("tallybook/", env!("CARGO_PKG_VERSION"))).redirect(redirect::Policy::none())
}

/// Sets the process's provider of cryptography for TLS. reqwest requires one even for plain HTTP.
pub fn install_crypto_provider() {
    // Fails only if a provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Returns `true` if a URL's host is this machine: a loopback address, `localhost`, or a name below it
/// (<https://www.rfc-editor.org/rfc/rfc6761#section-6.3>).
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    url.host().is_some_and(|host| is_loopback_host(&host))
}

/// Returns `true` if a host is this machine, by the rules of [`is_loopback`].
#[must_use]
pub fn is_loopback_host<S: AsRef<str>>(host: &Host<S>) -> bool {
    match host {
        Host::Domain(name) => name.as_ref() == "localhost" || name.as_ref().ends_with(".localhost"),
        Host::Ipv4(address) => is_loopback_address((*address).into()),
        Host::Ipv6(address) => is_loopback_address((*address).into()),
    }
}

/// Returns `true` if an address is a loopback address, also if it is an IPv4 address written as IPv6.
#[must_use]
pub fn is_loopback_address(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Returns the message of an error's innermost cause. In errors of HTTP clients, only that message says what happened;
/// the outer ones name the step.
#[must_use]
pub fn root_cause(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

/// Returns the messages of an error and its causes, joined by ": ".
#[must_use]
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_hosts_are_recognized() {
        for (url, expected) in [
            ("http://localhost:1", true),
            ("http://LOCALHOST", true),
            ("http://app.localhost", true),
            ("http://127.1.2.3", true),
            ("http://[::1]", true),
            ("http://[::ffff:127.0.0.1]", true),
            ("http://localhost.example", false),
            ("http://notlocalhost", false),
            ("http://128.0.0.1", false),
            ("http://[::2]", false),
            ("unix:/run/socket", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[derive(Debug)]
    struct Failed(std::fmt::Error);

    impl std::fmt::Display for Failed {
        fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("the request failed")
        }
    }

    impl Error for Failed {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn errors_are_described_with_their_causes() {
        let cause = std::fmt::Error.to_string();
        assert_eq!(root_cause(&Failed(std::fmt::Error)), cause);
        assert_eq!(error_chain(&Failed(std::fmt::Error)), format!("the request failed: {cause}"));
    }
}
