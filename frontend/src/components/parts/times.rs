//! When something happened, as its reader writes it; and when a tool call, or several, began and ended.

use leptos::prelude::*;

use crate::{browser, language::Language};

/// The time `ms` after 1970 began, and in full for who points at it. The server does not know how its readers write
/// times.
pub(crate) fn when(ms: i64) -> Option<AnyView> {
    let time = browser::local_time(ms)?;
    Some(view! { <time datetime=time.iso title=time.full>{time.short}</time> }.into_any())
}

/// When something began and ended, for who asks by pointing at it.
pub(crate) fn times(text: Language, span: Option<(i64, i64)>) -> Option<String> {
    let (start, end) = span?;
    Some(text.ran_at(&browser::time_of_day(start)?, &browser::time_of_day(end)?))
}
