//! Groups of the list: pinned conversations, and days.

use crate::{days::Day, language::Language};

/// A group of the list. The order of the variants is that of the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Group {
    Pinned,
    Day(Day),
}

/// Returns the heading of a group.
pub(crate) fn group_label(text: Language, group: Group) -> &'static str {
    match group {
        Group::Pinned => text.pinned(),
        Group::Day(Day::Today) => text.today(),
        Group::Day(Day::Yesterday) => text.yesterday(),
        Group::Day(Day::LastWeek) => text.last_week(),
        Group::Day(Day::Older) => text.older(),
    }
}
