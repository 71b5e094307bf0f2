//! The tool `current_time`: the date and the time of day, anywhere. Zones and their summer times come from the IANA
//! database that `chrono-tz` carries.

use chrono::{DateTime, FixedOffset, Offset as _, SecondsFormat, TimeZone, Utc};
use chrono_tz::{OffsetName as _, TZ_VARIANTS, Tz};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Tool, ToolError, ToolOutput, notation::shortened};

/// The longest zone that is looked for; the longest name there is has 32 bytes.
const MAX_ZONE_BYTES: usize = 100;
/// So many zones are named when a city is in more than one.
const MAX_NAMED: usize = 5;

/// The clock on the wall.
pub(super) struct CurrentTime {
    /// What time it is; of the tests, what time it is to be.
    pub(super) now: fn() -> DateTime<Utc>,
}

impl Default for CurrentTime {
    fn default() -> Self {
        Self { now: Utc::now }
    }
}

/// What `current_time` takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
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
        let text = match parse_zone(zone.as_deref().unwrap_or("UTC")) {
            Ok(Zone::Named(zone)) => {
                let there = now.with_timezone(&zone);
                let name = there.offset().abbreviation().filter(|name| name.starts_with(char::is_alphabetic));
                let name = name.filter(|name| *name != zone.name()).map(|name| format!(" ({name})"));
                said(&there, &format!("{}{}", zone.name(), name.unwrap_or_default()))
            }
            Ok(Zone::Fixed(offset)) => said(&now.with_timezone(&offset), &format!("UTC{offset}")),
            Err(reason) => return Err(ToolError::invalid("zone", reason)),
        };
        Ok(ToolOutput::text(text))
    }
}

/// `2026-11-22T08:01:05+09:00, Sunday, in Asia/Tokyo (JST)`.
fn said<Z: TimeZone>(there: &DateTime<Z>, zone: &str) -> String {
    let fixed = there.with_timezone(&there.offset().fix());
    format!("{}, {}, in {zone}", fixed.to_rfc3339_opts(SecondsFormat::Secs, false), fixed.format("%A"))
}

enum Zone {
    Named(Tz),
    Fixed(FixedOffset),
}

/// The zone that a model means, or why there is none.
fn parse_zone(text: &str) -> Result<Zone, String> {
    let text = text.trim();
    if text.len() > MAX_ZONE_BYTES {
        return Err(format!("longer than {MAX_ZONE_BYTES} bytes"));
    }
    if let Some(offset) = parse_offset(text) {
        return Ok(Zone::Fixed(offset));
    }
    let wanted = text.replace(' ', "_");
    if let Ok(zone) = Tz::from_str_insensitive(&wanted) {
        return Ok(Zone::Named(zone));
    }
    let is_city_of = |name: &str| name.rsplit('/').next().is_some_and(|city| city.eq_ignore_ascii_case(&wanted));
    let found: Vec<Tz> = TZ_VARIANTS.into_iter().filter(|zone| is_city_of(zone.name())).collect();
    match found.as_slice() {
        [zone] => Ok(Zone::Named(*zone)),
        [] => Err(format!(
            "{:?} is not a time zone; write an IANA name such as Asia/Tokyo or an offset such as +09:00",
            shortened(text)
        )),
        several => {
            let names: Vec<&str> = several.iter().take(MAX_NAMED).map(|zone| zone.name()).collect();
            Err(format!("{:?} may be {}; write the whole name", shortened(text), names.join(" or ")))
        }
    }
}

/// `+09:00`, `-0330`, `+9`, with `UTC` or `GMT` before it or not.
fn parse_offset(text: &str) -> Option<FixedOffset> {
    let upper = text.to_ascii_uppercase();
    let rest = upper.strip_prefix("UTC").or(upper.strip_prefix("GMT")).unwrap_or(&upper).trim_start();
    let (is_west, rest) = match (rest.strip_prefix('+'), rest.strip_prefix(['-', '−'])) {
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
    // No place is further from Greenwich than fourteen hours.
    if hours > 14 || minutes > 59 {
        return None;
    }
    let seconds = (i32::from(hours) * 60 + i32::from(minutes)) * 60;
    FixedOffset::east_opt(if is_west { -seconds } else { seconds })
}
