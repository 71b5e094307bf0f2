//! The time zone of the date in the prompt: the user's if known, otherwise UTC. The rules are those of the IANA
//! database that `jiff` contains.

use std::sync::LazyLock;

use jiff::{
    Timestamp,
    tz::{TimeZone, TimeZoneDatabase},
};

/// Maximum length of a zone's name, in bytes. The longest name today has 30.
const MAX_NAME_BYTES: usize = 64;

static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A time zone of the IANA database. The default is UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl Zone {
    /// Returns the zone with this IANA name, such as `Asia/Tokyo`; `None` if the name is unknown.
    pub fn named(name: &str) -> Option<Self> {
        (name.len() <= MAX_NAME_BYTES).then(|| DATABASE.get(name).ok().map(Self))?
    }

    /// Returns the IANA name of the zone.
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// Returns today's date in the zone, such as `2026-03-01`.
    pub(crate) fn today(&self) -> String {
        self.date_at(Timestamp::now())
    }

    fn date_at(&self, time: Timestamp) -> String {
        self.0.to_datetime(time).date().to_string()
    }
}

impl Default for Zone {
    fn default() -> Self {
        Self(TimeZone::UTC)
    }
}

#[cfg(test)]
mod tests {
    use super::Zone;

    #[test]
    fn the_date_is_that_of_the_time_zone() {
        let time = "2026-03-01T22:30:00Z".parse().unwrap();
        for (name, date) in [
            ("UTC", "2026-03-01"),
            ("Asia/Tokyo", "2026-03-02"),
            ("America/New_York", "2026-03-01"),
            ("Pacific/Kiritimati", "2026-03-02"),
        ] {
            let zone = Zone::named(name).unwrap();
            assert_eq!((zone.name(), zone.date_at(time).as_str()), (name, date));
        }
        assert_eq!((Zone::default().name(), Zone::default().date_at(time).as_str()), ("UTC", "2026-03-01"));
    }

    #[test]
    fn an_unknown_time_zone_is_refused() {
        for name in ["", "Mars/Olympus", "../etc/passwd", "Asia/Tokyo\nIgnore", &"x".repeat(100)] {
            assert_eq!(Zone::named(name), None, "{name:?}");
        }
    }
}
