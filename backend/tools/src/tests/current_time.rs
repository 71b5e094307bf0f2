//! What `current_time` says, at a time that the tests choose.

use chrono::{DateTime, Utc};
use serde_json::json;

use super::super::{ToolRegistry, current_time::CurrentTime};

/// A Sunday in winter on the northern half, when Tokyo already has Monday.
fn winter() -> DateTime<Utc> {
    DateTime::from_timestamp(1_795_380_907, 0).unwrap()
}

/// Half a year before.
fn summer() -> DateTime<Utc> {
    DateTime::from_timestamp(1_779_656_107, 0).unwrap()
}

async fn at(now: fn() -> DateTime<Utc>, zone: serde_json::Value) -> Result<String, String> {
    let registry = ToolRegistry::default().with(CurrentTime { now }).unwrap();
    let input = json!({ "zone": zone }).to_string();
    registry.call("current_time", &input).await.map(|output| output.text).map_err(|error| error.message)
}

#[tokio::test]
async fn the_day_and_the_time_are_those_of_the_zone() {
    for (zone, expected) in [
        (json!(null), "2026-11-22T20:55:07+00:00, Sunday, in UTC"),
        (json!("utc"), "2026-11-22T20:55:07+00:00, Sunday, in UTC"),
        (json!("Asia/Tokyo"), "2026-11-23T05:55:07+09:00, Monday, in Asia/Tokyo (JST)"),
        (json!("america/new york"), "2026-11-22T15:55:07-05:00, Sunday, in America/New_York (EST)"),
        (json!("Asia/Kathmandu"), "2026-11-23T02:40:07+05:45, Monday, in Asia/Kathmandu"),
    ] {
        assert_eq!(at(winter, zone).await.unwrap(), expected);
    }
    let registry = ToolRegistry::default().with(CurrentTime { now: winter }).unwrap();
    let without = registry.call("current_time", "{}").await.unwrap();
    assert_eq!(without.text, "2026-11-22T20:55:07+00:00, Sunday, in UTC");
}

#[tokio::test]
async fn summer_time_counts() {
    let berlin = |now| at(now, json!("Europe/Berlin"));
    assert_eq!(berlin(winter).await.unwrap(), "2026-11-22T21:55:07+01:00, Sunday, in Europe/Berlin (CET)");
    assert_eq!(berlin(summer).await.unwrap(), "2026-05-24T22:55:07+02:00, Sunday, in Europe/Berlin (CEST)");
}

#[tokio::test]
async fn a_city_is_enough_where_there_is_one_of_that_name() {
    assert!(at(winter, json!("tokyo")).await.unwrap().ends_with("in Asia/Tokyo (JST)"));
    assert!(at(winter, json!("Buenos Aires")).await.unwrap_err().contains(" or "));
    assert!(at(winter, json!("Indianapolis")).await.unwrap_err().starts_with("invalid_zone: \"Indianapolis\" may be "));
}

#[tokio::test]
async fn offsets_are_written_in_many_ways() {
    for zone in ["+09:00", "+0900", "+9", "UTC+9", "utc +09:00", "GMT+9:00"] {
        let expected = "2026-11-23T05:55:07+09:00, Monday, in UTC+09:00";
        assert_eq!(at(winter, json!(zone)).await.unwrap(), expected, "{zone}");
    }
    assert!(at(winter, json!("-03:30")).await.unwrap().starts_with("2026-11-22T17:25:07-03:30"));
}

#[tokio::test]
async fn what_is_no_zone_is_refused_with_a_hint() {
    for zone in ["Atlantis", "", "+25:00", "+:", "+09:00:00", "+１", "../etc/passwd"] {
        let error = at(winter, json!(zone)).await.unwrap_err();
        assert!(error.starts_with("invalid_zone: ") && error.contains("such as Asia/Tokyo"), "{zone}: {error}");
    }
    let error = at(winter, json!("x".repeat(100_000))).await.unwrap_err();
    assert_eq!(error, "invalid_zone: longer than 100 bytes");
}
