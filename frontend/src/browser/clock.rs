//! The reader's clock and calendar.

use wasm_bindgen::JsCast;

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
    // The first of the reader's languages that is the page's says how things are written: en-GB is not en-US.
    let known = window().ok()?.navigator().languages();
    let locale = known.iter().filter_map(|known| known.as_string()).find(|known| known.starts_with(language.code()));
    let locale = locale.unwrap_or_else(|| language.code().to_owned());
    let written = |styles: &[(&str, &str)]| {
        let options = js_sys::Object::new();
        for (name, style) in styles {
            let _ = js_sys::Reflect::set(&options, &(*name).into(), &(*style).into());
        }
        String::from(at.to_locale_string(&locale, &options))
    };
    let time = [("hour", "numeric"), ("minute", "2-digit")];
    let day = [("month", "short"), ("day", "numeric")];
    let is_this_year = at.get_full_year() == now.get_full_year();
    let short = if is_this_year && (at.get_month(), at.get_date()) == (now.get_month(), now.get_date()) {
        written(&time)
    } else if is_this_year {
        written(&[day, time].concat())
    } else {
        written(&[&day[..], &[("year", "numeric")]].concat())
    };
    let full = written(&[("dateStyle", "full"), ("timeStyle", "medium")]);
    Some(LocalTime { short, full, iso: String::from(at.to_iso_string()) })
}

/// Milliseconds since 1970 by the reader's clock.
#[expect(clippy::cast_possible_truncation, reason = "milliseconds since 1970 are whole and fit")]
pub(crate) fn now() -> i64 {
    if IS_HERE { js_sys::Date::now() as i64 } else { 0 }
}
