//! The SQL of conversations, messages, turns and their calls. One text serves both engines, so there is no `RETURNING`,
//! no upsert and no `FOR UPDATE`: work is claimed by a conditional UPDATE that changes exactly one row.

pub(super) mod calls;
pub(super) mod conversations;
pub(super) mod messages;
pub(super) mod turns;
