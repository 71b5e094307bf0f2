//! The tool `current_time`: date and time of day in a time zone. Zones and their daylight saving times come from the
//! IANA database that `jiff` bundles, not from the system's, which may be older or missing.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{
    SignedDuration, Timestamp,
    tz::{Offset, TimeZone, TimeZoneDatabase},
};
use schemars::JsonSchema;
use serde::Deserialize;
use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

use crate::{
    Tool, ToolError, ToolOutput,
    compute::compute,
    notation::{nearest, plain, shortened},
};

/// Maximum length of a zone, in bytes. The longest IANA name has 32.
const MAX_ZONE_BYTES: usize = 100;
/// Maximum number of choices that an error names.
const MAX_CHOICES: usize = 5;

/// The tool `current_time`.
pub(crate) struct CurrentTime {
    /// The clock, which tests replace.
    pub(crate) now: fn() -> Timestamp,
}

impl Default for CurrentTime {
    fn default() -> Self {
        Self { now: Timestamp::now }
    }
}

/// Arguments of `current_time`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The time zone: an IANA name such as "Asia/Tokyo", its city alone such as "Tokyo", or an offset such as "+09:00".
    /// UTC when left out.
    #[serde(default)]
    zone: Option<String>,
}

impl Tool for CurrentTime {
    type Args = Args;

    const NAME: &'static str = "current_time";
    const DESCRIPTION: &'static str = "Tells the current date, day of the week and time of day in a time zone. Use it \
        whenever an answer depends on today's date or on the time now, and ask for several zones to compare them.";
    const ALIASES: &'static [&'static str] = &["time", "now", "date", "get_current_time", "clock"];
    const IDEMPOTENT: bool = true;

    async fn call(&self, Args { zone }: Args) -> Result<ToolOutput, ToolError> {
        let now = (self.now)();
        // Runs on a blocking thread, because the search for an abbreviation visits every zone.
        compute(move || {
            let zone = Zone::parse(zone.as_deref().unwrap_or_default(), now);
            zone.map(|zone| zone.describe(now)).map_err(|reason| ToolError::invalid("zone", reason))
        })
        .await
        .map(ToolOutput::text)
    }
}

/// A time zone that a call named.
struct Zone {
    rules: TimeZone,
    /// Abbreviation such as `JST`, if the call named the zone with it. `rules` is then only an offset.
    abbreviation: Option<String>,
}

impl Zone {
    /// Finds the zone that `text` names. The error is the reason why none is found.
    fn parse(text: &str, now: Timestamp) -> Result<Self, String> {
        if text.len() > MAX_ZONE_BYTES {
            return Err(format!("longer than {MAX_ZONE_BYTES} bytes"));
        }
        let wanted = simplified(text);
        // A full stop is ignored in a name, but matters in a number, so the offset is read from `text`.
        if let Some(offset) = parse_offset(&with_minutes(text)?) {
            return Ok(Self { rules: TimeZone::fixed(offset), abbreviation: None });
        }
        let database = TimeZoneDatabase::bundled();
        let name = match wanted.to_ascii_lowercase().as_str() {
            "" | "z" | "zulu" => "UTC",
            _ => &wanted,
        };
        match database.get(name) {
            Ok(rules) if !rules.is_unknown() => return Ok(Self { rules, abbreviation: None }),
            _ => {}
        }
        let names: Vec<String> = database.available().map(|name| name.as_str().to_owned()).collect();
        let ending = format!("/{}", wanted.to_ascii_lowercase());
        let places = names.iter().filter(|name| name.to_ascii_lowercase().ends_with(&ending));
        let places: Vec<TimeZone> = places.filter_map(|name| database.get(name).ok()).collect();
        if !places.is_empty() {
            return by_place(text, places, now);
        }
        let zones: Vec<TimeZone> = names.iter().filter_map(|name| database.get(name).ok()).collect();
        by_abbreviation(&wanted, &zones, now).unwrap_or_else(|| Err(unknown(text, &wanted, &names)))
    }

    /// Returns for example `2026-11-22T08:01:05+09:00, Sunday, in Asia/Tokyo (JST)`.
    fn describe(&self, now: Timestamp) -> String {
        let there = now.to_zoned_datetime(self.rules.clone());
        let info = self.rules.to_offset_info(now);
        let name = self.rules.iana_name().map_or_else(|| there.strftime("UTC%:z").to_string(), str::to_owned);
        let abbreviation = self.abbreviation.as_deref().unwrap_or(info.abbreviation());
        // A zone without an abbreviation has its offset instead, which is left out.
        let abbreviation = Some(abbreviation)
            .filter(|text| text.starts_with(char::is_alphabetic) && *text != name)
            .map(|text| format!(" ({text})"));
        format!("{}, in {name}{}", there.strftime("%Y-%m-%dT%H:%M:%S%:z, %A"), abbreviation.unwrap_or_default())
    }
}

/// Returns a name in the notation of the database: without accents, full stops and apostrophes, and with `_` for
/// spaces.
fn simplified(text: &str) -> String {
    let letters = text.nfd().filter(|c| !is_combining_mark(*c) && !matches!(c, '.' | '\'' | '’')).map(plain);
    letters.collect::<String>().split_whitespace().collect::<Vec<_>>().join("_")
}

/// Chooses between zones of the same city. Zones with the same time now count as one.
fn by_place(text: &str, places: Vec<TimeZone>, now: Timestamp) -> Result<Zone, String> {
    let offsets: BTreeSet<Offset> = places.iter().map(|zone| zone.to_offset(now)).collect();
    if offsets.len() > 1 {
        let names: Vec<&str> = places.iter().take(MAX_CHOICES).filter_map(|zone| zone.iana_name()).collect();
        return Err(format!("{:?} may be {}; write the whole name", shortened(text), names.join(" or ")));
    }
    // Takes the zone with the longest name: if a zone has two names, the older one is shorter.
    let zone = places.into_iter().max_by_key(|zone| zone.iana_name().map(str::len));
    zone.map(|rules| Zone { rules, abbreviation: None }).ok_or_else(|| format!("{:?} has no zone", shortened(text)))
}

/// Returns the offset of an abbreviation such as `JST`, if all zones that use it agree on the offset. Considers the
/// zones' abbreviations now, half a year ago and in half a year. Returns an error if they disagree, and `None` if no
/// zone uses the abbreviation.
fn by_abbreviation(wanted: &str, zones: &[TimeZone], now: Timestamp) -> Option<Result<Zone, String>> {
    let abbreviation = wanted.to_ascii_uppercase();
    let half_a_year = SignedDuration::from_hours(182 * 24);
    let times = [Some(now), now.checked_add(half_a_year).ok(), now.checked_sub(half_a_year).ok()];
    let mut places = BTreeMap::new();
    for zone in zones {
        for info in times.into_iter().flatten().map(|time| zone.to_offset_info(time)) {
            if info.abbreviation() == abbreviation {
                places.entry(info.offset()).or_insert_with(|| zone.iana_name().unwrap_or_default());
            }
        }
    }
    let mut offsets = places.keys();
    match (offsets.next(), offsets.next()) {
        (None, _) => None,
        (Some(offset), None) => Some(Ok(Zone { rules: TimeZone::fixed(*offset), abbreviation: Some(abbreviation) })),
        _ => {
            let choices: Vec<String> = places.iter().map(|(offset, place)| format!("{offset} as in {place}")).collect();
            let choices = choices.join(" or ");
            Some(Err(format!("{wanted:?} is ambiguous: it may be {choices}; write the zone or the offset")))
        }
    }
}

fn unknown(text: &str, wanted: &str, names: &[String]) -> String {
    let cities = names.iter().filter_map(|name| name.rsplit('/').next());
    let near = nearest(wanted, names.iter().map(String::as_str).chain(cities));
    let hint = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) };
    format!(
        "{:?} is not a time zone; write an IANA name such as Asia/Tokyo or an offset such as +09:00{hint}",
        shortened(text)
    )
}

/// Rewrites offsets such as `+5.5` and `UTC+5.30` with hours and minutes, for [`parse_offset`]. Returns an error if the
/// fraction is unclear.
fn with_minutes(text: &str) -> Result<String, String> {
    let text: String = text.chars().map(plain).filter(|c| !c.is_whitespace()).collect();
    let is_offset = |(hours, fraction): &(&str, &str)| {
        parse_offset(hours).is_some() && fraction.bytes().all(|byte| byte.is_ascii_digit())
    };
    let Some((hours, fraction)) = text.split_once('.').filter(is_offset) else { return Ok(text) };
    let minutes = match fraction {
        "0" | "00" => "00",
        "5" | "30" => "30",
        "75" | "45" => "45",
        _ => {
            return Err(format!("{:?} is not a clear offset; write it with minutes, such as +05:30", shortened(&text)));
        }
    };
    Ok(format!("{hours}:{minutes}"))
}

/// Reads `+09:00`, `-0330` or `+9`, with or without `UTC` or `GMT` before it.
fn parse_offset(text: &str) -> Option<Offset> {
    let upper = text.to_ascii_uppercase();
    let rest = upper.strip_prefix("UTC").or(upper.strip_prefix("GMT")).unwrap_or(&upper);
    let (is_west, rest) = match (rest.strip_prefix('+'), rest.strip_prefix('-')) {
        (Some(rest), _) => (false, rest),
        (None, Some(rest)) => (true, rest),
        (None, None) => return None,
    };
    if rest.is_empty() || !rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b':') {
        return None;
    }
    let (hours, minutes) = match (rest.split_once(':'), rest.len()) {
        (Some(parts), _) => parts,
        (None, 3 | 4) => rest.split_at(rest.len() - 2),
        (None, _) => (rest, "0"),
    };
    let (hours, minutes) = (hours.parse::<u8>().ok()?, minutes.parse::<u8>().ok()?);
    // No zone differs from UTC by more than fourteen hours.
    if hours > 14 || minutes > 59 {
        return None;
    }
    let seconds = (i32::from(hours) * 60 + i32::from(minutes)) * 60;
    Offset::from_seconds(if is_west { -seconds } else { seconds }).ok()
}
