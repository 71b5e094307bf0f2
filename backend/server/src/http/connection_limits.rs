//! Limits event streams per user and in total, and connections per address. Without these limits, a single account or
//! client could take every connection and keep all other users from signing in.

use std::{
    collections::HashMap,
    hash::Hash,
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
};

use ipnet::IpNet;
use parking_lot::Mutex;
use tallybook_accounts::UserId;
use tallybook_http_client::is_loopback_address;

use crate::http::{error::ApiError, limits::Limits};

/// One in this many connections is reserved for probes, sign-in, and other short requests; event streams cannot use it.
const SHORT_REQUESTS_SHARE: usize = 8;

/// One address can use one in this many connections.
const ADDRESS_SHARE: usize = 2;

/// Counts the streams and connections that are open in this process.
pub(crate) struct ConnectionLimits {
    streams: Arc<Counts<Option<UserId>>>,
    connections: Arc<Counts<IpAddr>>,
    max_streams: usize,
    max_streams_per_user: usize,
    max_connections_per_address: usize,
    /// Networks of proxies, whose addresses many clients share.
    proxies: Vec<IpNet>,
}

impl ConnectionLimits {
    /// Creates the limits of a process that can have `connections` open connections.
    pub(crate) fn new(limits: &Limits, connections: usize, proxies: Vec<IpNet>) -> Self {
        Self {
            streams: Arc::default(),
            connections: Arc::default(),
            max_streams: (connections - connections / SHORT_REQUESTS_SHARE).max(1),
            max_streams_per_user: limits.streams_per_user,
            max_connections_per_address: (connections / ADDRESS_SHARE).max(1),
            proxies,
        }
    }

    /// Takes a permit for an event stream. `user` is `None` on a server without accounts, where all clients share the
    /// local owner.
    pub(crate) fn stream(&self, user: Option<UserId>) -> Result<StreamPermit, ApiError> {
        let max = if user.is_some() { self.max_streams_per_user } else { self.max_streams };
        let permit = Counts::take(&self.streams, user, max, self.max_streams).map_err(|full| match full {
            LimitReached::Key => ApiError::TooManyStreams(max),
            LimitReached::All => ApiError::TooManyStreamsInAll,
        })?;
        Ok(StreamPermit(Arc::new(permit)))
    }

    /// Takes a permit for a connection. Returns `None` if its address has too many connections. Proxies and local
    /// clients have no limit: a proxy's connections are those of many clients, and a local client has other ways to
    /// harm the server.
    pub(crate) fn connection(&self, address: IpAddr) -> Option<ConnectionPermit> {
        let address = address.to_canonical();
        if is_loopback_address(address) || self.proxies.iter().any(|proxies| proxies.contains(&address)) {
            return Some(ConnectionPermit(None));
        }
        let network = match address {
            IpAddr::V4(_) => address,
            // One client usually has all addresses of a /64 network.
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64))),
        };
        let permit = Counts::take(&self.connections, network, self.max_connections_per_address, usize::MAX);
        permit.ok().map(|permit| ConnectionPermit(Some(permit)))
    }
}

/// An event stream's permit, held until the response's last byte is sent.
#[derive(Clone)]
pub(crate) struct StreamPermit(#[expect(dead_code, reason = "held, not read")] Arc<Permit<Option<UserId>>>);

/// A connection's permit.
pub(crate) struct ConnectionPermit(#[expect(dead_code, reason = "held, not read")] Option<Permit<IpAddr>>);

/// Counts by key.
struct Counts<K>(Mutex<HashMap<K, usize>>);

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// The limit that is reached.
#[derive(Debug, PartialEq, Eq)]
enum LimitReached {
    Key,
    All,
}

impl<K: Copy + Eq + Hash> Counts<K> {
    fn take(counts: &Arc<Self>, key: K, max: usize, max_in_all: usize) -> Result<Permit<K>, LimitReached> {
        let mut taken = counts.0.lock();
        if taken.get(&key).is_some_and(|count| *count >= max) {
            return Err(LimitReached::Key);
        }
        if taken.values().sum::<usize>() >= max_in_all {
            return Err(LimitReached::All);
        }
        *taken.entry(key).or_default() += 1;
        Ok(Permit { counts: Arc::clone(counts), key })
    }
}

/// A permit, which is counted until it is dropped.
struct Permit<K: Eq + Hash> {
    counts: Arc<Counts<K>>,
    key: K,
}

impl<K: Eq + Hash> Drop for Permit<K> {
    fn drop(&mut self) {
        let mut taken = self.counts.0.lock();
        if let Some(count) = taken.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::http::connection_limits::{ApiError, ConnectionLimits, Limits, UserId};

    fn limits() -> ConnectionLimits {
        let limits = Limits { streams_per_user: 2, ..Limits::default() };
        ConnectionLimits::new(&limits, 8, vec!["203.0.113.0/24".parse().unwrap()])
    }

    #[test]
    fn limits_apply_per_user_and_in_total_and_places_are_returned() {
        let limits = limits();
        let [one, other] = [1, 2].map(|id| Some(UserId(id)));
        let mut held = vec![limits.stream(one).unwrap(), limits.stream(one).unwrap()];
        assert!(matches!(limits.stream(one), Err(ApiError::TooManyStreams(2))));
        held.push(limits.stream(other).unwrap());
        held.pop();
        drop(held.pop());
        held.push(limits.stream(one).unwrap());
        // Seven of the eight connections can be event streams.
        for id in 3..8 {
            held.push(limits.stream(Some(UserId(id))).unwrap());
        }
        assert!(matches!(limits.stream(Some(UserId(8))), Err(ApiError::TooManyStreamsInAll)));
        held.clear();
        assert!(limits.stream(None).is_ok());
    }

    #[test]
    fn one_address_cannot_take_every_connection() {
        let limits = limits();
        let address = |text: &str| text.parse().unwrap();
        for client in ["192.0.2.1", "2001:db8::1"] {
            let held: Vec<_> = (0..4).map(|_| limits.connection(address(client)).unwrap()).collect();
            assert!(limits.connection(address(client)).is_none(), "{client}");
            assert!(limits.connection(address("192.0.2.2")).is_some());
            drop(held);
            assert!(limits.connection(address(client)).is_some());
        }
        let neighbors = ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4"];
        let _held = neighbors.map(|neighbor| limits.connection(address(neighbor)).unwrap());
        assert!(limits.connection(address("2001:db8::5")).is_none(), "the same network");
        assert!(limits.connection(address("::ffff:192.0.2.9")).is_some());
        for shared in ["203.0.113.7", "127.0.0.1", "::1"] {
            let held: Vec<_> = (0..20).map_while(|_| limits.connection(address(shared))).collect();
            assert_eq!(held.len(), 20, "{shared}");
        }
    }
}
