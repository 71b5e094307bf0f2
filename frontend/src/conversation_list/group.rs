//! The groups that the list is shown in.

use crate::{days::Day, language::Language};

/// The groups of the list, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Group {
    Pinned,
    Day(Day),
}

/// The words above a group.
pub(crate) fn group_label(text: Language, group: Group) -> &'static str {
    match group {
        Group::Pinned => text.pinned(),
        Group::Day(Day::Today) => text.today(),
        Group::Day(Day::Yesterday) => text.yesterday(),
        Group::Day(Day::LastWeek) => text.last_week(),
        Group::Day(Day::Older) => text.older(),
    }
}
