//! The reader's clock and calendar.

use std::cell::RefCell;

use wasm_bindgen::{JsCast, JsValue};

use super::{IS_HERE, window};
use crate::{days::Calendar, language::Language};

/// Where the reader's days begin. The server does not know, and takes those of Greenwich: for most readers, most of the
/// time, the page then stays as it is when the browser takes over.
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
    // By the calendar and not by hours: a day may have 23 or 25.
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

/// The time of day at `ms` since 1970 where the reader is, as `9:05:07`. The server does not know.
pub(crate) fn time_of_day(ms: i64) -> Option<String> {
    #[expect(clippy::cast_precision_loss, reason = "whole milliseconds of any year that is told fit")]
    let at = IS_HERE.then(|| js_sys::Date::new(&(ms as f64).into()))?;
    Some(format!("{}:{:02}:{:02}", at.get_hours(), at.get_minutes(), at.get_seconds()))
}

/// A time as its reader writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocalTime {
    /// `14:05`, with the day unless that is today.
    pub(crate) short: String,
    /// The day and the time.
    pub(crate) full: String,
    /// For programs.
    pub(crate) iso: String,
}

/// The time `ms` after 1970 began, as it is written where the reader is: in the page's language, as it is spoken there. The
/// server does not know.
pub(crate) fn local_time(ms: i64, language: Language) -> Option<LocalTime> {
    if !IS_HERE {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "whole milliseconds of any year that is told fit")]
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
    /// How times were written last. Making what writes them takes browsers longer than writing one.
    static FORMATS: RefCell<Option<Formats>> = const { RefCell::new(None) };
}

/// What of a time is written.
#[derive(Clone, Copy)]
enum Style {
    Time,
    DayAndTime,
    Day,
    Full,
}

impl Style {
    /// Its options, as `Intl.DateTimeFormat` names them.
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

/// How times are written in a language, where clocks are so many minutes behind Greenwich's.
struct Formats {
    language: Language,
    zone: i32,
    locale: js_sys::Array,
    /// The function that writes in each style, as far as it was needed.
    made: [Option<js_sys::Function>; 4],
}

impl Formats {
    fn new(language: Language, zone: i32) -> Option<Self> {
        // The first of the reader's languages that is the page's says how things are written: en-GB is not en-US.
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

/// Milliseconds since 1970 by the reader's clock.
#[expect(clippy::cast_possible_truncation, reason = "milliseconds since 1970 are whole and fit")]
pub(crate) fn now() -> i64 {
    if IS_HERE { js_sys::Date::now() as i64 } else { 0 }
}

/// Returns the time after `days`, in ISO format.
pub(crate) fn in_days(days: u32) -> Option<String> {
    const DAY_MS: f64 = 86_400_000.0;
    let at = js_sys::Date::new(&JsValue::from_f64(js_sys::Date::now() + f64::from(days) * DAY_MS));
    at.to_iso_string().as_string()
}
