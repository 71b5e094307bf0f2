//! `tallybook healthcheck`: asks the server of this machine whether it is alive, for containers that have no other
//! program to do so.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use reqwest::{StatusCode, Url, header::HOST};

/// Maximum duration of a check, below the timeout of the image's `HEALTHCHECK`.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Checks that the server that listens on `address` answers `GET /healthz` with 200.
pub(crate) fn check(address: SocketAddr) -> anyhow::Result<()> {
    let url = Url::parse(&format!("http://{}/healthz", reachable(address)))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // The server accepts the host `localhost` whatever `ALLOWED_HOSTS` is.
    let request = tallybook_http_client::client_for(&url).no_proxy().build()?.get(url).header(HOST, "localhost");
    let status = runtime.block_on(async { request.timeout(TIMEOUT).send().await })?.status();
    anyhow::ensure!(status == StatusCode::OK, "the server answered {status}");
    Ok(())
}

/// Returns an address at which a client of this machine reaches a server that listens on `address`.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::reachable;

    #[test]
    fn a_server_on_all_interfaces_is_asked_at_a_loopback_address() {
        for (listens, asked) in [
            ("0.0.0.0:3000", "127.0.0.1:3000"),
            ("[::]:3000", "[::1]:3000"),
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("192.0.2.1:80", "192.0.2.1:80"),
        ] {
            assert_eq!(reachable(listens.parse().unwrap()), asked.parse().unwrap());
        }
    }
}
