//! The time, as precisely as both engines store it.

use chrono::{DateTime, SubsecRound, Utc};

/// Digits after the second: microseconds.
const STORED_DIGITS: u16 = 6;

/// The present, as precisely as both engines store it.
pub fn now() -> DateTime<Utc> {
    Utc::now().trunc_subsecs(STORED_DIGITS)
}
