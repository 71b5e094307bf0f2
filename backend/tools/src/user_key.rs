//! Key of the user a call belongs to.

/// Opaque key of the user a call belongs to. Used only to share limited resources fairly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct UserKey(pub i64);
