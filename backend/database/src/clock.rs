//! Current time, in the precision that both engines store.

use chrono::{DateTime, SubsecRound, Utc};

/// Digits after the second: microseconds.
const STORED_DIGITS: u16 = 6;

/// Returns the current time, truncated to microseconds.
pub fn now() -> DateTime<Utc> {
    Utc::now().trunc_subsecs(STORED_DIGITS)
}
