//! The user's clock and calendar.

use wasm_bindgen::{JsCast, JsValue, prelude::wasm_bindgen};

use super::IS_HERE;
use crate::days::Calendar;

/// Returns the user's days. The server does not know them, and uses those of UTC. For most users, most of the time,
/// the page then does not change when the browser mounts it.
#[expect(clippy::cast_possible_truncation, reason = "milliseconds since 1970 are whole and fit")]
pub(crate) fn calendar() -> Calendar {
    if !IS_HERE {
        return Calendar::utc(std::time::SystemTime::now());
    }
    let date = js_sys::Date::new_0();
    date.set_hours(0);
    date.set_minutes(0);
    date.set_seconds(0);
    date.set_milliseconds(0);
    let today = date.get_time() as i64;
    // By calendar days, not by hours: a day may have 23 or 25 hours.
    let days_before = |days: u32| {
        let day = js_sys::Date::new(&date);
        let wanted = i32::try_from(date.get_date()).unwrap_or(1) - i32::try_from(days).unwrap_or(0);
        let _ = js_sys::Reflect::get(&day, &"setDate".into())
            .ok()
            .and_then(|set| set.dyn_into::<js_sys::Function>().ok())
            .and_then(|set| set.call1(&day, &wanted.into()).ok());
        day.get_time() as i64
    };
    Calendar { today, yesterday: days_before(1), last_week: days_before(7) }
}

/// Returns the time of day at `ms` since 1970 in the user's time zone, such as `9:05:07`; `None` on the server.
pub(crate) fn time_of_day(ms: i64) -> Option<String> {
    #[expect(clippy::cast_precision_loss, reason = "whole milliseconds of any plausible year fit")]
    let at = IS_HERE.then(|| js_sys::Date::new(&(ms as f64).into()))?;
    Some(format!("{}:{:02}:{:02}", at.get_hours(), at.get_minutes(), at.get_seconds()))
}

/// A time in the user's time zone and notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocalTime {
    /// The time, such as `14:05`, if it is today. Otherwise the day and the time, or in another year the day alone.
    pub(crate) short: String,
    /// The day and the time.
    pub(crate) full: String,
    /// ISO format, for the `datetime` attribute.
    pub(crate) iso: String,
}

#[wasm_bindgen]
extern "C" {
    /// Returns the fields of a [`LocalTime`]. Defined in the document's script (`app`), which also writes the times of
    /// the server-rendered messages.
    #[wasm_bindgen(js_namespace = window, js_name = localTime, catch)]
    fn local_time_of(ms: f64) -> Result<js_sys::Array, JsValue>;
}

/// Returns the time `ms` after 1970 began, in the user's time zone and in the page's language, in the user's regional
/// variant of it. Returns `None` on the server, which does not know the time zone.
pub(crate) fn local_time(ms: i64) -> Option<LocalTime> {
    if !IS_HERE {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "whole milliseconds of any plausible year fit")]
    let parts = local_time_of(ms as f64).ok()?;
    let [short, full, iso] = [0, 1, 2].map(|index| parts.get(index).as_string());
    Some(LocalTime { short: short?, full: full?, iso: iso? })
}

/// Returns the IANA name of the browser's time zone, such as `Asia/Tokyo`.
pub(super) fn time_zone() -> Option<String> {
    let format = js_sys::Intl::DateTimeFormat::new(&js_sys::Array::new(), &js_sys::Object::new());
    js_sys::Reflect::get(&format.resolved_options(), &"timeZone".into()).ok()?.as_string()
}

/// Returns the milliseconds since 1970 on the user's clock; 0 on the server.
#[expect(clippy::cast_possible_truncation, reason = "milliseconds since 1970 are whole and fit")]
pub(crate) fn now() -> i64 {
    if IS_HERE { js_sys::Date::now() as i64 } else { 0 }
}

/// Returns the time `days` from now, in ISO format.
pub(crate) fn in_days(days: u32) -> Option<String> {
    const DAY_MS: f64 = 86_400_000.0;
    let at = js_sys::Date::new(&JsValue::from_f64(js_sys::Date::now() + f64::from(days) * DAY_MS));
    at.to_iso_string().as_string()
}
