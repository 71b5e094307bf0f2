//! What the faults are made of.

use crate::{Part, Reply};

/// A fault's name, and the reply that plays it.
pub(super) type Fault = (&'static str, fn() -> Reply);

/// The arguments of a call that is as it should be.
pub(super) const SUM: &str = "{\"a\": 1, \"b\": 2}";

/// An answer of these parts.
pub(super) fn stream<const N: usize>(parts: [Part; N]) -> Reply {
    parts.into()
}
