//! What a person has used up and may still have answered: held when a turn begins or goes on, and counted in the database,
//! over all replicas.

use chrono::{DateTime, Utc};
use tallybook_protocol::{Allowance, Allowances};

use super::{
    ServiceError,
    context::Context,
    person_limits::{DAY, MINUTE, PersonLimits},
    service::ConversationService,
    store::usage::{self, Since, UsedUp},
};
use crate::{
    accounts::{UserId, hold_person},
    db::{Transaction, now},
};

fn since(context: &Context, time: DateTime<Utc>) -> Since {
    Since { messages: time - MINUTE, tokens: time - DAY, longest_turn: context.agent.limits().turn_time }
}

/// Holds back other turns of this person until the transaction that begins this one is over. The first thing in it: what is
/// counted later must be what was committed before.
pub(super) async fn hold(context: &Context, tx: &mut Transaction, user: UserId) -> sqlx::Result<()> {
    if context.person_limits.is_none() { Ok(()) } else { hold_person(tx, user).await }
}

/// Refuses a turn that is written in the transaction when its person has reached a limit.
pub(super) async fn check(context: &Context, tx: &mut Transaction, user: UserId) -> Result<(), ServiceError> {
    let limits = context.person_limits;
    if limits.is_none() {
        return Ok(());
    }
    let time = now();
    let counted = usage::count_in(tx, user, since(context, time)).await?;
    limits.reached(counted, time).map_or(Ok(()), |reached| Err(reached.into()))
}

/// Refuses to ask a model once for a person who has no tokens left.
pub(super) async fn check_tokens(context: &Context, user: UserId) -> Result<(), ServiceError> {
    let limits = PersonLimits { tokens_per_day: context.person_limits.tokens_per_day, ..PersonLimits::default() };
    if limits.is_none() {
        return Ok(());
    }
    let time = now();
    let counted = usage::count(&context.db, user, since(context, time)).await?;
    limits.reached(counted, time).map_or(Ok(()), |reached| Err(reached.into()))
}

impl ConversationService {
    /// What a person may still use up.
    pub async fn find_allowances(&self, user: UserId) -> Result<Allowances, ServiceError> {
        let limits = self.context.person_limits;
        if limits.is_none() {
            return Ok(Allowances::default());
        }
        let UsedUp { turns, messages, tokens } =
            usage::count(&self.context.db, user, since(&self.context, now())).await?;
        let allowance = |limit: u64, counted: i64| {
            let left = limit.saturating_sub(u64::try_from(counted).unwrap_or(0));
            (limit > 0).then_some(Allowance { limit, left })
        };
        Ok(Allowances {
            turns: allowance(limits.turns.into(), turns),
            messages_per_minute: allowance(limits.messages_per_minute.into(), messages.used),
            tokens_per_day: allowance(limits.tokens_per_day, tokens.used),
        })
    }
}
