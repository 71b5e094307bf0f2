//! The time zones of users, as their browsers last sent them, so that prompts have the user's date.

use std::collections::HashMap;

use parking_lot::Mutex;
use tallybook_accounts::UserId;
use tallybook_agent::Zone;

/// Maximum number of users whose zone is remembered. Browsers send the zone again with each message, so losing one
/// costs little.
const MAX_USERS: usize = 10_000;

/// The last known zone of each user. It is kept in memory only: after a restart the date is that of UTC until the
/// user's browser sends its next request.
#[derive(Debug, Default)]
pub(crate) struct TimeZones(Mutex<HashMap<UserId, Zone>>);

impl TimeZones {
    /// Remembers a user's zone by its IANA name. An unknown name changes nothing.
    pub(crate) fn note(&self, user: UserId, name: &str) {
        let mut zones = self.0.lock();
        if zones.get(&user).is_some_and(|zone| zone.name() == name) {
            return;
        }
        let Some(zone) = Zone::named(name) else { return };
        if zones.len() >= MAX_USERS
            && let Some(other) = zones.keys().find(|other| **other != user).copied()
        {
            zones.remove(&other);
        }
        zones.insert(user, zone);
    }

    /// Returns a user's zone, or UTC if it is unknown.
    pub(crate) fn of(&self, user: UserId) -> Zone {
        self.0.lock().get(&user).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use crate::time_zones::{MAX_USERS, TimeZones, UserId};

    #[test]
    fn the_last_zone_counts_and_the_number_of_users_is_limited() {
        let zones = TimeZones::default();
        assert_eq!(zones.of(UserId(1)).name(), "UTC");
        for (name, expected) in
            [("Asia/Tokyo", "Asia/Tokyo"), ("Mars/Olympus", "Asia/Tokyo"), ("Europe/Paris", "Europe/Paris")]
        {
            zones.note(UserId(1), name);
            assert_eq!(zones.of(UserId(1)).name(), expected);
        }
        for user in 2..=i64::try_from(MAX_USERS).unwrap() + 9 {
            zones.note(UserId(user), "Asia/Tokyo");
            assert_eq!(zones.of(UserId(user)).name(), "Asia/Tokyo");
        }
        assert_eq!(zones.0.lock().len(), MAX_USERS);
    }
}
