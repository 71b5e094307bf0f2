//! Summarizes a conversation after an answer: when the part that no summary covers has become long, or after every
//! answer if an API client created the conversation. At most one task runs per conversation, across all replicas. It
//! neither delays nor fails a turn. After a failure, the next answer starts another task; until then, the prompt
//! contains as many exchanges as fit.

use std::{sync::Arc, time::Duration};

use tallybook_agent::{AgentError, SideCall, SummaryExchange, summarize_conversation};
use tallybook_llm::tokens;
use tallybook_protocol::{MessageId, first_chars};

use crate::models::Model;
use crate::{
    MemorySettings,
    branch::tree::branch,
    context::Context,
    limits::{MAX_SUMMARIES_AT_ONCE, MAX_SUMMED_EXCHANGES},
    store::{ConversationId, messages, rows::TreeNode, summaries},
    turn::{
        context::{covered_on, history::newest_exchanges, prompt_files::PromptFiles},
        side_call,
    },
};

/// Timeout of one task. If the process of a task dies, no other task starts for the conversation before this time has
/// passed.
const TASK_TIMEOUT: Duration = Duration::from_mins(2);

/// Reason why a conversation has no newer summary.
#[derive(Debug, thiserror::Error)]
enum MemoryError {
    #[error(transparent)]
    Model(#[from] AgentError),
    #[error("the model wrote nothing")]
    Nothing,
    #[error("the database failed: {0}")]
    Storage(#[from] sqlx::Error),
}

/// Spawns a task that summarizes a conversation if that is due, after a turn has completed.
pub(crate) fn spawn_summary(
    context: &Arc<Context>,
    memory: MemorySettings,
    model: &Arc<Model>,
    conversation_id: ConversationId,
    answer: MessageId,
) {
    let named = memory.summary_model.as_deref().and_then(|name| context.models.find(name));
    let writer = named.unwrap_or_else(|| Arc::clone(model));
    if memory.max_chars == 0 || !writer.can_summarize() {
        return;
    }
    let (task_context, model) = (Arc::clone(context), Arc::clone(model));
    context.spawn(async move {
        let context = &*task_context;
        let summing = Box::pin(summarize(context, &memory, &writer, &model, conversation_id, answer));
        // The server does not wait for a summary when it shuts down.
        let ended = context.draining.run_until_cancelled(tokio::time::timeout(TASK_TIMEOUT, summing)).await;
        match ended {
            Some(Ok(Err(error))) => tracing::warn!(%error, "a conversation could not be summarized"),
            Some(Err(_)) => tracing::warn!("summarizing a conversation took too long"),
            Some(Ok(Ok(()))) | None => {}
        }
    });
}

async fn summarize(
    context: &Context,
    memory: &MemorySettings,
    writer: &Model,
    model: &Model,
    conversation_id: ConversationId,
    answer: MessageId,
) -> Result<(), MemoryError> {
    let db = &context.db;
    let find = || find_due(context, memory, model, conversation_id, answer);
    if find().await?.is_none() {
        return Ok(());
    }
    let time = db.reader().now().await?;
    let until = time + TASK_TIMEOUT;
    if !summaries::claim(db, conversation_id, time, until).await? {
        return Ok(());
    }
    // The previous holder of the claim may have summarized a part in the meantime.
    let summed = match find().await {
        Ok(Some(due)) => summarize_all(context, memory, writer, conversation_id, due).await,
        Ok(None) => Ok(()),
        Err(error) => Err(error.into()),
    };
    summaries::release(db, conversation_id, until).await?;
    summed
}

/// The part of a conversation that is due for a summary.
struct Due {
    /// ID of the previous summary.
    before: Option<i64>,
    /// Questions and answers that the new summary is to cover, oldest first.
    places: Vec<TreeNode>,
}

/// Returns the part of the branch up to `answer` that is due for a summary. Returns `None` if it is not long enough
/// yet.
async fn find_due(
    context: &Context,
    memory: &MemorySettings,
    model: &Model,
    conversation_id: ConversationId,
    answer: MessageId,
) -> sqlx::Result<Option<Due>> {
    let db = &context.db;
    let branch = branch(&messages::list_tree_nodes(db, conversation_id).await?, Some(answer));
    let covered = covered_on(&branch, &summaries::list_places(db, conversation_id).await?);
    let (covered, before) = covered.last().map_or((0, None), |(covered, place)| (*covered, Some(place.id)));
    let outside = &branch[2 * covered..];
    let kept = if summaries::is_of_api_client(db, conversation_id).await? {
        0
    } else {
        let after_tokens = memory.after_tokens(model.window());
        let Some(kept) = find_kept(context, outside, after_tokens).await? else { return Ok(None) };
        kept
    };
    let places = outside[..outside.len() - 2 * kept].to_vec();
    Ok(Some(Due { before, places }).filter(|due| !due.places.is_empty()))
}

/// Returns the number of newest exchanges that stay outside of the summary. As many stay as fit in half of
/// `after_tokens`, so that not every answer needs another summary. The last exchange also stays if it fits in
/// `after_tokens` alone. Returns `None` if all exchanges fit in `after_tokens`.
async fn find_kept(context: &Context, outside: &[TreeNode], after_tokens: usize) -> sqlx::Result<Option<usize>> {
    if outside.is_empty() {
        return Ok(None);
    }
    let newest = newest_exchanges(context, outside, false, after_tokens, &mut PromptFiles::names_only(context)).await?;
    let count_within = |tokens: usize| {
        let mut sum = 0_usize;
        let fitting = newest.iter().rev().take_while(|exchange| {
            sum = sum.saturating_add(exchange.tokens);
            sum <= tokens
        });
        fitting.count()
    };
    let may_be_outside = count_within(after_tokens);
    Ok((may_be_outside < outside.len() / 2).then(|| count_within(after_tokens / 2).max(may_be_outside.min(1))))
}

async fn summarize_all(
    context: &Context,
    memory: &MemorySettings,
    writer: &Model,
    conversation_id: ConversationId,
    due: Due,
) -> Result<(), MemoryError> {
    let Due { before, mut places } = due;
    let mut before = match before {
        Some(id) => summaries::find_text(&context.db, id).await?,
        None => None,
    };
    for _ in 0..MAX_SUMMARIES_AT_ONCE {
        let Some((exchanges, last)) = read_portion(context, writer, &places).await? else { break };
        let summary = ask(context, memory.max_chars, writer, last, before.as_deref(), &exchanges).await?;
        summaries::create(&context.db, conversation_id, last, &summary, writer.name()).await?;
        places.drain(..2 * exchanges.len());
        before = Some(summary);
    }
    Ok(())
}

/// Returns the first exchanges, as many as one request to the model may contain, and the ID of the last answer among
/// them. They take at most half of the model's context window, but there is always at least one. Returns `None` if
/// `places` is empty.
async fn read_portion(
    context: &Context,
    writer: &Model,
    places: &[TreeNode],
) -> sqlx::Result<Option<(Vec<SummaryExchange>, MessageId)>> {
    let room = writer.window().context / 2;
    let portion = &places[..places.len().min(2 * MAX_SUMMED_EXCHANGES)];
    let ids: Vec<MessageId> = portion.iter().map(|place| place.id).collect();
    let rows = messages::list_messages(&context.db, &ids).await?;
    let (mut exchanges, mut last, mut sum) = (Vec::new(), None, 0);
    for [question, answer] in rows.as_chunks().0 {
        let exchange = SummaryExchange::new(&question.content, answer.answer_by_plan().unwrap_or(&answer.content));
        sum += tokens::of_text(exchange.question()) + tokens::of_text(exchange.answer());
        if sum > room && last.is_some() {
            break;
        }
        exchanges.push(exchange);
        last = Some(answer.id);
    }
    Ok(last.map(|last| (exchanges, last)))
}

/// Asks the model for a summary. The model calls are stored with the last answer that the summary covers.
async fn ask(
    context: &Context,
    max_chars: usize,
    writer: &Model,
    answer: MessageId,
    before: Option<&str>,
    exchanges: &[SummaryExchange],
) -> Result<String, MemoryError> {
    // Temperature 0, so that the same conversation gives the same summary. Some models refuse every temperature, so the
    // second attempt sets none.
    for temperature in [Some(0.0), None] {
        let asked = summarize_conversation(writer.client(), before, exchanges, max_chars, temperature);
        let SideCall { text, call } = asked.await?;
        side_call::record(context, answer, &call).await?;
        match text {
            Err(AgentError::Model(error)) if temperature.is_some() && error.refuses_temperature() => {}
            Err(error) => return Err(error.into()),
            Ok(text) => {
                let text = context.agent.redact_secrets(text);
                let summary = first_chars(text.trim(), max_chars);
                return if summary.is_empty() { Err(MemoryError::Nothing) } else { Ok(summary.to_owned()) };
            }
        }
    }
    Err(MemoryError::Nothing)
}
