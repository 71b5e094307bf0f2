//! Refuses link-local addresses. Clouds serve the credentials of a machine at such addresses, and no configured server
//! is at one.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Returns `true` if a URL's host is a link-local address, or the address at which Amazon EC2 serves metadata over
/// IPv6. The client checks the addresses of host names when it connects.
#[must_use]
pub fn is_link_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => is_link_local_ip(ip.into()),
        Some(Host::Ipv6(ip)) => is_link_local_ip(ip.into()),
        Some(Host::Domain(_)) | None => false,
    }
}

fn is_link_local_ip(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => {
            ip.is_unicast_link_local() || ip.octets() == [0xfd, 0, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0x54]
        }
    }
}

/// The system's resolver, without link-local addresses.
pub(crate) struct NoLinkLocal;

impl Resolve for NoLinkLocal {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> = found.filter(|address| !is_link_local_ip(address.ip())).collect();
            if allowed.is_empty() {
                return Err(
                    io::Error::other("the host name resolves to link-local addresses, which are not allowed").into()
                );
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use reqwest::dns::Resolve as _;

    use super::NoLinkLocal;

    #[tokio::test]
    async fn names_that_resolve_to_link_local_addresses_are_refused() {
        for (name, leads_somewhere) in [("169.254.169.254", false), ("fe80::1", false), ("127.0.0.1", true)] {
            assert_eq!(NoLinkLocal.resolve(name.parse().unwrap()).await.is_ok(), leads_somewhere, "{name}");
        }
    }
}
