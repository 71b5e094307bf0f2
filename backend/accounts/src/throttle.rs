//! Calculates delays after failed sign-ins: none for the first few failures, then doubling with each failure. Failures
//! are counted by address, by name and address, and by name alone, whether the name exists or not. A browser with which
//! the user signed in before has its own counter instead. The counts are in the database, so that all replicas apply
//! them.

use std::net::{IpAddr, Ipv6Addr};

use chrono::{DateTime, Duration, Utc};

use super::{UserId, secret::SecretHash};

/// A subject whose attempts are counted, such as a name or an address.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// Identifier in the table `sign_in_attempts`.
    pub(crate) hash: SecretHash,
    /// Number of failures without a delay.
    free: i32,
    /// Maximum delay.
    longest: Duration,
}

impl Subject {
    /// Creates the subject of attempts on a user name from one network.
    pub(crate) fn name_from(name: &str, address: IpAddr) -> Self {
        let hash = SecretHash::of_text(&format!("name:{name} from:{}", network(address)));
        Self { hash, free: 5, longest: Duration::minutes(5) }
    }

    /// Creates the subject of attempts on a user name from anywhere. The delay is short, so that others cannot lock the
    /// user out.
    pub(crate) fn name(name: &str) -> Self {
        Self { hash: SecretHash::of_text(&format!("name:{name}")), free: 100, longest: Duration::seconds(10) }
    }

    /// Creates the subject of attempts from a browser with which the user signed in before.
    pub(crate) fn browser(token: &SecretHash) -> Self {
        let hash = SecretHash::of_text(&format!("browser:{}", token.0));
        Self { hash, free: 5, longest: Duration::minutes(5) }
    }

    /// Creates the subject of a signed-in user's attempts to prove ownership of the account with the password.
    pub(crate) fn confirmation(user: UserId) -> Self {
        let hash = SecretHash::of_text(&format!("confirmation:{}", user.0));
        Self { hash, free: 5, longest: Duration::minutes(5) }
    }

    /// Creates the subject of attempts from a network. It allows more failures than a name, since a whole office may
    /// share one address.
    pub(crate) fn address(address: IpAddr) -> Self {
        let hash = SecretHash::of_text(&format!("address:{}", network(address)));
        Self { hash, free: 20, longest: Duration::hours(1) }
    }

    /// Creates the subject of attempts from a network to create accounts, by invitation or by open sign-up.
    pub(crate) fn sign_up(address: IpAddr) -> Self {
        let hash = SecretHash::of_text(&format!("sign-up:{}", network(address)));
        Self { hash, free: 20, longest: Duration::hours(1) }
    }

    /// Returns the time until which attempts are refused after `failures`, the last of them at `now`. Returns `None` if
    /// there is no delay yet.
    pub(crate) fn blocked_until(&self, failures: i32, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let doublings = u32::try_from(failures - self.free - 1).ok()?;
        let seconds = 1_i64.checked_shl(doublings.min(30)).unwrap_or(i64::MAX);
        Some(now + Duration::seconds(seconds).min(self.longest))
    }
}

/// Returns the network that one user controls: an IPv4 address itself, or the /64 of an IPv6 address.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use chrono::{Duration, Utc};

    use super::Subject;

    #[test]
    fn the_wait_doubles_up_to_a_limit() {
        let (name, now) = (Subject::name_from("alice", "192.0.2.1".parse().unwrap()), Utc::now());
        for (failures, seconds) in
            [(1, None), (5, None), (6, Some(1)), (7, Some(2)), (10, Some(16)), (2_000, Some(300))]
        {
            let expected = seconds.map(|seconds| now + Duration::seconds(seconds));
            assert_eq!(name.blocked_until(failures, now), expected, "{failures}");
        }
    }

    #[test]
    fn failures_of_other_clients_delay_a_user_by_seconds() {
        let (name, now) = (Subject::name("alice"), Utc::now());
        assert_eq!(name.blocked_until(100, now), None);
        assert_eq!(name.blocked_until(1_000_000, now), Some(now + Duration::seconds(10)));
    }

    #[test]
    fn addresses_of_one_network_count_together() {
        let of = |address: &str| Subject::address(address.parse().unwrap()).hash;
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
