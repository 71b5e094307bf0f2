//! Decides what a user may do now: reads the models and tools that the user may use when a request for an answer
//! begins, and enforces the user's limits across all replicas. Checks the limits against counts in the database when a
//! turn, or another request that calls a model, begins. Reserves tokens before a model call, because the call's usage
//! is known only after it.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use tallybook_accounts::{GroupId, UserId, UserPermissions, lock_user};
use tallybook_database::{Transaction, now, with_retries};
use tallybook_llm::tokens;
use tallybook_protocol::{MessageId, MessagePart, Prices, Quota, Quotas, Usage};

use crate::{
    ChangeableSettings, ServiceError,
    budget::BudgetOwner,
    budget_checks,
    context::Context,
    limits::QUARTERS,
    models::{Model, PermittedModels},
    service::ConversationService,
    store::{
        model_requests::{self, NewRequest, RequestId},
        usage::{self, Since, UsedUp},
    },
    user_limits::{DAY, MINUTE, Reached, UserLimits, Weight},
};

/// Access of a user at one moment.
#[derive(Clone)]
pub struct Access {
    /// The models that the user may use.
    pub models: PermittedModels,
    pub(crate) permissions: UserPermissions,
    pub(crate) limits: RequestLimits,
}

impl Context {
    /// Returns a user's access.
    pub(crate) async fn access_of(&self, user: UserId) -> Result<Access, ServiceError> {
        let settings = self.changeable();
        let needs_groups = budget_checks::needs_groups(&settings);
        let (permissions, groups) = self.settings.permissions.with_groups(user, needs_groups).await?;
        let models = self.models.permitted(&permissions);
        Ok(Access { models, permissions, limits: RequestLimits { settings, groups } })
    }
}

impl ConversationService {
    /// Returns a user's access.
    pub async fn access_of(&self, user: UserId) -> Result<Access, ServiceError> {
        self.context.access_of(user).await
    }
}

/// Tokens that a turn reserves for the conversation's history when it begins, before its prompt is known.
const HISTORY_TOKENS: usize = 8_000;

fn since(context: &Context, time: DateTime<Utc>) -> Since {
    Since { messages: time - MINUTE, tokens: time - DAY, longest_turn: context.agent.limits().turn_time }
}

/// The settings that a request for a model call is checked against, because others may apply in a moment, and the
/// user's groups.
#[derive(Clone)]
pub(crate) struct RequestLimits {
    pub(crate) settings: Arc<ChangeableSettings>,
    /// Empty if no group has a budget and nothing is granted to groups.
    pub(crate) groups: Vec<GroupId>,
}

/// Blocks other turns of this user, and turns that count toward the same budget, until the transaction that begins this
/// turn ends. This must be the first statement of the transaction: the counts after it must include what was committed
/// before.
pub(crate) async fn lock_limited_user(tx: &mut Transaction, user: UserId, limits: &RequestLimits) -> sqlx::Result<()> {
    budget_checks::lock_shared(&limits.settings, tx, &limits.groups).await?;
    if is_limited(&limits.settings, user) {
        lock_user(tx, user).await?;
    }
    Ok(())
}

/// Returns `true` if a limit or a budget may apply to this user.
fn is_limited(settings: &ChangeableSettings, user: UserId) -> bool {
    !settings.user_limits.is_none() || budget_checks::may_have_any(settings, user)
}

/// A turn that is about to begin or to resume, and asks for admission.
#[derive(Clone, Copy)]
pub(crate) struct NewTurn<'a> {
    pub(crate) user: UserId,
    pub(crate) message: MessageId,
    pub(crate) model: &'a Model,
    /// The question's parts; `None` if the turn resumes.
    pub(crate) parts: Option<&'a [MessagePart]>,
    /// True if the turn resumes after an approval. A budget that is used up by then does not refuse it, because its
    /// answer has begun.
    pub(crate) has_waited: bool,
}

/// Refuses a turn, which this transaction has already written, if its user has reached a limit. Otherwise reserves the
/// tokens of its first model call.
pub(crate) async fn admit_turn(
    context: &Context,
    request_limits: &RequestLimits,
    tx: &mut Transaction,
    turn: NewTurn<'_>,
) -> Result<(), ServiceError> {
    let NewTurn { user, message, model, parts, has_waited } = turn;
    let settings = &request_limits.settings;
    if !is_limited(settings, user) {
        return Ok(());
    }
    let (limits, time) = (settings.user_limits, now());
    if let Some(reached) = find_reached(context, limits, tx, user, Some(message), Weight::Message, time).await? {
        return Err(reached.into());
    }
    if !has_waited {
        check_budgets(context, request_limits, tx, user, Some(message)).await?;
    }
    if !admits_steps(settings, user) {
        return Ok(());
    }
    let specs = context.tool_servers.tools().specs();
    // If the prompt cannot be rendered, the turn itself fails and reports that.
    let beside = context.agent.tokens_beside_history(&specs).unwrap_or_default();
    let question = parts.map(|parts| tokens::of_text(&MessagePart::join_texts(parts))).unwrap_or_default();
    let estimate = beside + question + HISTORY_TOKENS + model.window().answer;
    let new = reservation(context, user, Some(message), 0, Reserve::of(estimate, model.prices()), time);
    // An UPDATE that matches no row would lock the gap where other turns insert their rows.
    if parts.is_some() {
        model_requests::create(tx, new).await?;
    } else {
        model_requests::reserve_for_turn(tx, new).await?;
    }
    Ok(())
}

/// Returns `true` if a turn's reservation at its beginning covers its first prompt. `beside` is the number of tokens in
/// the prompt besides the history.
pub(crate) fn covers_first_step(prompt_tokens: usize, beside: usize) -> bool {
    prompt_tokens <= beside + HISTORY_TOKENS
}

/// Returns `true` if the model calls of a turn are admitted one by one.
pub(crate) fn admits_steps(settings: &ChangeableSettings, user: UserId) -> bool {
    settings.user_limits.tokens_per_day > 0 || budget_checks::may_have_any(settings, user)
}

/// Reserves the tokens of a running turn's next model call. Reserves nothing and returns the limit if the user's tokens
/// for 24 hours or a budget are used up, or reserved by other calls. The oldest running turn of those that count toward
/// a limit may always finish, so all of them together exceed the limit by at most one answer.
pub(crate) async fn admit_step(
    context: &Context,
    limits: &RequestLimits,
    user: UserId,
    message: MessageId,
    reserve: Reserve,
) -> sqlx::Result<Option<Reached>> {
    with_retries(|| try_admit_step(context, limits, user, message, reserve)).await
}

async fn try_admit_step(
    context: &Context,
    request_limits: &RequestLimits,
    user: UserId,
    message: MessageId,
    reserve: Reserve,
) -> sqlx::Result<Option<Reached>> {
    let tokens_per_day = request_limits.settings.user_limits.tokens_per_day;
    let limits = UserLimits { tokens_per_day, ..UserLimits::default() };
    let mut tx = context.db.begin().await?;
    lock_limited_user(&mut tx, user, request_limits).await?;
    let time = now();
    if let Some(reached) = find_reached(context, limits, &mut tx, user, Some(message), Weight::Message, time).await?
        && model_requests::find_oldest_running(&mut tx, BudgetOwner::User(user)).await? != Some(message)
    {
        return Ok(Some(reached));
    }
    let mut used_up = Vec::new();
    let RequestLimits { settings, groups } = request_limits;
    for budget in budget_checks::list_used_up(context, settings, &mut tx, (user, groups), Some(message)).await? {
        if model_requests::find_oldest_running(&mut tx, budget.owner).await? != Some(message) {
            used_up.push(budget);
        }
    }
    if let Some(used_up) = budget_checks::longest(used_up) {
        return Ok(Some(used_up.into()));
    }
    let new = reservation(context, user, Some(message), 0, reserve, time);
    model_requests::reserve_for_turn(&mut tx, new).await?;
    tx.commit().await?;
    Ok(None)
}

/// Refuses a model call if a budget of its user is used up, or reserved by other calls.
async fn check_budgets(
    context: &Context,
    RequestLimits { settings, groups }: &RequestLimits,
    tx: &mut Transaction,
    user: UserId,
    turn: Option<MessageId>,
) -> Result<(), ServiceError> {
    let used_up = budget_checks::list_used_up(context, settings, tx, (user, groups), turn).await?;
    match budget_checks::longest(used_up) {
        Some(used_up) => Err(Reached::from(used_up).into()),
        None => Ok(()),
    }
}

/// A request that calls a model outside any turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) user: UserId,
    pub(crate) weight: Weight,
    /// Estimate of the tokens that the model reads and writes.
    pub(crate) tokens: usize,
    /// Prices of the model.
    pub(crate) prices: Option<Prices>,
}

/// Refuses a request if its user has reached a limit. Otherwise counts the request and reserves its tokens. Returns
/// `None` if the server has no limits.
pub(crate) async fn admit_request(
    context: &Context,
    limits: &RequestLimits,
    request: Request,
) -> Result<Option<RequestId>, ServiceError> {
    if !is_limited(&limits.settings, request.user) {
        return Ok(None);
    }
    with_retries(|| try_admit_request(context, limits, request)).await.map(Some)
}

async fn try_admit_request(
    context: &Context,
    request_limits: &RequestLimits,
    request: Request,
) -> Result<RequestId, ServiceError> {
    let Request { user, weight, tokens, prices } = request;
    let mut tx = context.db.begin().await?;
    lock_limited_user(&mut tx, user, request_limits).await?;
    // The request does not count as a turn.
    let limits = UserLimits { turns: 0, ..request_limits.settings.user_limits };
    let time = now();
    if let Some(reached) = find_reached(context, limits, &mut tx, user, None, weight, time).await? {
        return Err(reached.into());
    }
    check_budgets(context, request_limits, &mut tx, user, None).await?;
    let new = reservation(context, user, None, weight.quarters(), Reserve::of(tokens, prices), time);
    let id = model_requests::create(&mut tx, new).await?;
    tx.commit().await?;
    Ok(id)
}

/// Refuses a copy of messages to a new conversation if its user has sent the maximum number of messages per minute.
/// Otherwise counts the copy as a message. The transaction must have locked the user.
pub(crate) async fn admit_copy(context: &Context, tx: &mut Transaction, user: UserId) -> Result<(), ServiceError> {
    let messages_per_minute = context.changeable().user_limits.messages_per_minute;
    let (limits, time) = (UserLimits { messages_per_minute, ..UserLimits::default() }, now());
    if limits.is_none() {
        return Ok(());
    }
    if let Some(reached) = find_reached(context, limits, tx, user, None, Weight::Message, time).await? {
        return Err(reached.into());
    }
    let new = reservation(context, user, None, Weight::Message.quarters(), Reserve::of(0, None), time);
    model_requests::create(tx, new).await?;
    Ok(())
}

/// Releases the tokens that a request reserved; its usage is stored by now. If this fails, the tokens stay reserved
/// until the request expires.
pub(crate) async fn settle(context: &Context, request: Option<RequestId>) {
    let Some(id) = request else { return };
    let store = || async {
        let mut tx = context.db.begin().await?;
        model_requests::settle(&mut tx, id).await?;
        tx.commit().await
    };
    if let Err(error) = with_retries(store).await {
        tracing::warn!(%error, "tokens that were reserved for a model call stay reserved for some minutes");
    }
}

/// The tokens and the money that a model call reserves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reserve {
    tokens: i64,
    cost_nanos: i64,
}

impl Reserve {
    /// Returns what a call of a model with these prices reserves for its tokens. Whether they are read or written is
    /// not known yet, so the higher price counts.
    pub(crate) fn of(tokens: usize, prices: Option<Prices>) -> Self {
        let tokens = i64::try_from(tokens).unwrap_or(i64::MAX);
        let price = prices.map_or(0.0, |prices| prices.input.max(prices.output));
        let usage = Usage { output_tokens: tokens, ..Usage::default() };
        Self { tokens, cost_nanos: Prices { input: price, output: price }.cost_nanos(&usage) }
    }
}

fn reservation(
    context: &Context,
    user: UserId,
    message: Option<MessageId>,
    quarters: i64,
    Reserve { tokens: reserved_tokens, cost_nanos: reserved_cost_nanos }: Reserve,
    time: DateTime<Utc>,
) -> NewRequest {
    // Longer than any call takes, and longer than the request counts against the limit of messages per minute.
    let expires_at = time + context.agent.limits().turn_time + MINUTE;
    NewRequest { user, message, quarters, reserved_tokens, reserved_cost_nanos, created_at: time, expires_at }
}

/// Returns the limit that one more request of this weight would exceed, or `None`. The reservation of `turn` does not
/// count.
async fn find_reached(
    context: &Context,
    limits: UserLimits,
    tx: &mut Transaction,
    user: UserId,
    turn: Option<MessageId>,
    weight: Weight,
    time: DateTime<Utc>,
) -> sqlx::Result<Option<Reached>> {
    if limits.is_none() {
        return Ok(None);
    }
    let mut counted = usage::count_in(tx, user, since(context, time)).await?;
    if limits.tokens_per_day > 0 {
        counted.reserved_tokens = model_requests::sum_reserved(tx, BudgetOwner::User(user), turn, time).await?.tokens;
    }
    Ok(limits.reached(counted, weight, time))
}

impl ConversationService {
    /// Returns a user's remaining quotas.
    pub async fn find_quotas(&self, user: UserId) -> Result<Quotas, ServiceError> {
        let limits = self.context.changeable().user_limits;
        if limits.is_none() {
            return Ok(Quotas::default());
        }
        let UsedUp { turns, message_quarters, tokens, .. } =
            usage::count(&self.context.db, user, since(&self.context, now())).await?;
        let quota = |limit: u64, counted: i64| {
            let left = limit.saturating_sub(u64::try_from(counted).unwrap_or(0));
            (limit > 0).then_some(Quota { limit, left })
        };
        let messages = message_quarters.used.saturating_add(QUARTERS - 1) / QUARTERS;
        Ok(Quotas {
            turns: quota(limits.turns.into(), turns),
            messages_per_minute: quota(limits.messages_per_minute.into(), messages),
            tokens_per_day: quota(limits.tokens_per_day, tokens.used),
        })
    }
}
