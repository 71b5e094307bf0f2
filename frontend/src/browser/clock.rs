//! The user's clock and calendar.

use std::cell::RefCell;

use wasm_bindgen::{JsCast, JsValue};

use super::{IS_HERE, window};
use crate::{days::Calendar, language::Language};

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

/// Returns the time `ms` after 1970 began, in the user's time zone and in the page's language, in the user's regional
/// variant of it. Returns `None` on the server, which does not know the time zone.
pub(crate) fn local_time(ms: i64, language: Language) -> Option<LocalTime> {
    if !IS_HERE {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "whole milliseconds of any plausible year fit")]
    let at = js_sys::Date::new(&(ms as f64).into());
    let now = js_sys::Date::new_0();
    let is_this_year = at.get_full_year() == now.get_full_year();
    let short = if is_this_year && (at.get_month(), at.get_date()) == (now.get_month(), now.get_date()) {
        Style::Time
    } else if is_this_year {
        Style::DayAndTime
    } else {
        Style::Day
    };
    #[expect(clippy::cast_possible_truncation, reason = "whole minutes of less than a day fit")]
    let zone = now.get_timezone_offset() as i32;
    FORMATS.with_borrow_mut(|formats| {
        let formats = match formats {
            Some(formats) if formats.zone == zone && formats.language == language => formats,
            formats => formats.insert(Formats::new(language, zone)?),
        };
        let (short, full) = (formats.write(short, &at)?, formats.write(Style::Full, &at)?);
        Some(LocalTime { short, full, iso: String::from(at.to_iso_string()) })
    })
}

/// Returns the IANA name of the browser's time zone, such as `Asia/Tokyo`.
pub(super) fn time_zone() -> Option<String> {
    let format = js_sys::Intl::DateTimeFormat::new(&js_sys::Array::new(), &js_sys::Object::new());
    js_sys::Reflect::get(&format.resolved_options(), &"timeZone".into()).ok()?.as_string()
}

thread_local! {
    /// The formatters of the last time. Creating a formatter takes browsers longer than formatting a time.
    static FORMATS: RefCell<Option<Formats>> = const { RefCell::new(None) };
}

/// The parts of a time that are written.
#[derive(Clone, Copy)]
enum Style {
    Time,
    DayAndTime,
    Day,
    Full,
}

impl Style {
    /// Returns the options of `Intl.DateTimeFormat` for this style.
    fn options(self) -> js_sys::Object {
        let styles: &[(&str, &str)] = match self {
            Self::Time => &[("hour", "numeric"), ("minute", "2-digit")],
            Self::DayAndTime => &[("month", "short"), ("day", "numeric"), ("hour", "numeric"), ("minute", "2-digit")],
            Self::Day => &[("month", "short"), ("day", "numeric"), ("year", "numeric")],
            Self::Full => &[("dateStyle", "full"), ("timeStyle", "medium")],
        };
        let options = js_sys::Object::new();
        for (name, style) in styles {
            let _ = js_sys::Reflect::set(&options, &(*name).into(), &(*style).into());
        }
        options
    }
}

/// Formatters for a language and for the time zone whose clocks are this many minutes behind UTC.
struct Formats {
    language: Language,
    zone: i32,
    locale: js_sys::Array,
    /// The function that writes in each style; `None` if it was not needed yet.
    made: [Option<js_sys::Function>; 4],
}

impl Formats {
    fn new(language: Language, zone: i32) -> Option<Self> {
        // The regional variant is that of the user's first language that is the page's language: en-GB differs from
        // en-US.
        let known = window().ok()?.navigator().languages();
        let locale =
            known.iter().filter_map(|known| known.as_string()).find(|known| known.starts_with(language.code()));
        let locale = js_sys::Array::of1(&locale.unwrap_or_else(|| language.code().to_owned()).into());
        Some(Self { language, zone, locale, made: [const { None }; 4] })
    }

    fn write(&mut self, style: Style, at: &js_sys::Date) -> Option<String> {
        let make = || js_sys::Intl::DateTimeFormat::new(&self.locale, &style.options()).format();
        let format = self.made[style as usize].get_or_insert_with(make);
        format.call1(&JsValue::UNDEFINED, at).ok()?.as_string()
    }
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
