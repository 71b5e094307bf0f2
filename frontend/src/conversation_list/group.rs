//! Groups of the list: pinned conversations, and days.

use crate::{days::Day, language::Language};

/// A group of the list. The order of the variants is that of the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ListGroup {
    Pinned,
    Day(Day),
}

/// Returns the heading of a group.
pub(crate) fn group_label(text: Language, group: ListGroup) -> &'static str {
    match group {
        ListGroup::Pinned => text.pinned(),
        ListGroup::Day(Day::Today) => text.today(),
        ListGroup::Day(Day::Yesterday) => text.yesterday(),
        ListGroup::Day(Day::LastWeek) => text.last_week(),
        ListGroup::Day(Day::Older) => text.older(),
    }
}
