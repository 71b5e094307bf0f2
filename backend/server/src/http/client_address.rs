//! Determines the client address of a request. Because any client can send `X-Forwarded-For`, the address is normally
//! that of the connection's peer. If the peer is a trusted proxy, the address is the last one in `X-Forwarded-For` that
//! does not belong to a trusted proxy.

use std::net::{IpAddr, Ipv4Addr};

use actix_web::HttpRequest;
use ipnet::IpNet;

const X_FORWARDED_FOR: &str = "x-forwarded-for";

/// Returns the client address of a request.
pub(crate) fn of(request: &HttpRequest, trusted: &[IpNet]) -> IpAddr {
    // If the peer has closed the connection, there is no peer address.
    let peer = request.peer_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip().to_canonical());
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(&address));
    let headers: Vec<&str> =
        request.headers().get_all(X_FORWARDED_FOR).filter_map(|value| value.to_str().ok()).collect();
    let mut hops = headers.iter().rev().flat_map(|header| header.rsplit(','));
    let mut address = peer;
    while is_trusted(address) {
        let Some(Ok(before)) = hops.next().map(|hop| hop.trim().parse::<IpAddr>()) else { break };
        address = before.to_canonical();
    }
    address
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use actix_web::test::TestRequest;

    use super::of;

    #[test]
    fn only_trusted_proxies_set_the_client_address() {
        for (peer, trusted, forwarded, address) in [
            ("192.0.2.1", "", "198.51.100.7", "192.0.2.1"),
            ("192.0.2.1", "192.0.2.1/32", "198.51.100.7", "198.51.100.7"),
            ("192.0.2.9", "192.0.2.1/32", "198.51.100.7", "192.0.2.9"),
            ("::ffff:192.0.2.1", "192.0.2.1/32", "198.51.100.7", "198.51.100.7"),
            // Addresses that the client wrote itself come before the address that the proxy appended.
            ("192.0.2.1", "192.0.2.0/24", "203.0.113.66, 198.51.100.7", "198.51.100.7"),
            ("192.0.2.1", "192.0.2.0/24", "203.0.113.66, 198.51.100.7, 192.0.2.2", "198.51.100.7"),
            ("192.0.2.1", "192.0.2.0/24", "203.0.113.66, nonsense", "192.0.2.1"),
            ("192.0.2.1", "192.0.2.0/24", "", "192.0.2.1"),
            ("192.0.2.1", "192.0.2.0/24", "192.0.2.3", "192.0.2.3"),
        ] {
            let trusted: Vec<_> = trusted.split_terminator(' ').map(|network| network.parse().unwrap()).collect();
            let peer = std::net::SocketAddr::new(peer.parse().unwrap(), 1);
            let request = TestRequest::default().peer_addr(peer).insert_header(("x-forwarded-for", forwarded));
            assert_eq!(of(&request.to_http_request(), &trusted), address.parse::<IpAddr>().unwrap(), "{forwarded}");
        }
    }
}
