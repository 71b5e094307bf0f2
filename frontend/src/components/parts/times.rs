//! Times in the browser's format: when something happened, and when tool calls began and ended.

use leptos::prelude::*;

use crate::{browser, language::Language};

/// Renders a time, given in milliseconds since 1970, with the full time as its tooltip. Returns `None` on the server,
/// which does not know the browser's format and time zone.
pub(crate) fn when(ms: i64) -> Option<AnyView> {
    let time = browser::local_time(ms)?;
    Some(view! { <time datetime=time.iso title=time.full>{time.short}</time> }.into_any())
}

/// When something began and ended, for who asks by pointing at it.
pub(crate) fn times(text: Language, span: Option<(i64, i64)>) -> Option<String> {
    let (start, end) = span?;
    Some(text.ran_at(&browser::time_of_day(start)?, &browser::time_of_day(end)?))
}
