//! Types and helpers to build faults.

use crate::{Part, Reply};

/// A fault's name, and the function that makes its reply.
pub(crate) type Fault = (&'static str, fn() -> Reply);

/// The arguments of a valid call.
pub(crate) const SUM: &str = "{\"a\": 1, \"b\": 2}";

/// Returns an answer with these parts.
pub(crate) fn stream<const N: usize>(parts: [Part; N]) -> Reply {
    parts.into()
}
