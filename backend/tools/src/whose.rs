//! Whose a call is, as far as tools know.

/// Whose a call is: a key by which people are told apart where they share what there is little of, and which says nothing else
/// of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Whose(pub i64);
