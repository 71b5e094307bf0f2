//! Reads times in the format that Tallybook writes. chrono's own deserializer accepts more formats, but would take up
//! one percent of the page's WASM module.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, de::Error};

/// Request header with the IANA name of the user's time zone, such as `Asia/Tokyo`. The prompt contains the date in
/// that zone.
pub const TIME_ZONE_HEADER: &str = "x-tallybook-time-zone";

/// Reads a time in the format of RFC 3339.
pub(crate) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DateTime<Utc>, D::Error> {
    let text = Cow::<str>::deserialize(deserializer)?;
    DateTime::parse_from_rfc3339(&text).map(|time| time.to_utc()).map_err(Error::custom)
}

/// Reads a time in the format of RFC 3339, in a field that may be absent.
pub(crate) fn read_some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<DateTime<Utc>>, D::Error> {
    read(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Deserialize)]
    struct Event {
        #[serde(deserialize_with = "super::read")]
        at: DateTime<Utc>,
    }

    #[test]
    fn a_time_is_read_as_it_is_written() -> serde_json::Result<()> {
        let at: DateTime<Utc> = DateTime::from_timestamp_micros(1_764_061_200_123_456).expect("a time");
        assert_eq!(serde_json::from_value::<Event>(json!({ "at": at }))?.at, at);
        let escaped = serde_json::from_str::<Event>(r#"{ "at": "2025-11-25T10:00:00\u002b01:00" }"#)?;
        assert_eq!(escaped.at.to_rfc3339(), "2025-11-25T09:00:00+00:00");
        Ok(())
    }

    #[test]
    fn an_invalid_time_is_refused() {
        for wrong in [json!("yesterday"), json!("2025-11-25"), json!("2025-13-25T10:00:00Z"), json!(0), json!(null)] {
            assert!(serde_json::from_value::<Event>(json!({ "at": wrong })).is_err(), "{wrong}");
        }
    }
}
