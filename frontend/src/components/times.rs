//! When a tool call, or several, began and ended.

use crate::{browser, language::Language};

/// When something began and ended, for who asks by pointing at it.
pub(crate) fn times(text: Language, span: Option<(i64, i64)>) -> Option<String> {
    let (start, end) = span?;
    Some(text.started_and_ended(&browser::time_of_day(start)?, &browser::time_of_day(end)?))
}
