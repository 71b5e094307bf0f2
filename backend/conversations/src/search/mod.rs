//! Searches a user's conversations, or one of them, for the words of a query. A search compares the stored texts in
//! batches, within a time limit per page; the next page continues from there. `index` narrows the search of all
//! conversations down to messages that can match. `terms` parses the query, and `snippet` makes the excerpts.

pub(crate) mod index;
mod snippet;
mod terms;

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    sync::Arc,
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use tallybook_accounts::UserId;
use tallybook_database::{Database, Pattern, now, with_default_timeout};
use tallybook_protocol::{MessageId, SearchHit, SearchPage, SnippetPart};
use tallybook_tools::Slot;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use crate::{
    ServiceError,
    branch::tree::branch,
    context::Context,
    limits::MAX_SEARCH_HITS,
    search::index::candidates::{Candidates, Selection},
    service::ConversationService,
    store::{
        ConversationId, messages,
        search::{self, Cursor, HitRow, Scope},
    },
};

/// Time limit for one page. A batch that was started is completed.
const TIME_FOR_PAGE: Duration = Duration::from_secs(2);

/// Number of messages in the first batch.
const FIRST_BATCH: u32 = 250;

/// Maximum number of messages in a batch.
const MAX_BATCH: u32 = 16_000;

/// Maximum size of the texts in a batch, in bytes, not counting messages with the time of its cursor. It is small
/// enough that a busy server answers in time.
const MAX_BATCH_BYTES: i64 = 8 * 1024 * 1024;

/// A batch that took less than this is followed by one twice as large.
const SHORT_TIME: Duration = Duration::from_millis(150);

impl ConversationService {
    /// Finds the titles, messages of both roles, and tool calls in a user's conversations that contain all words of
    /// `search`, newest first.
    pub async fn search(&self, user: UserId, search: &str, cursor: Option<&str>) -> Result<SearchPage, ServiceError> {
        let words = terms::parse(search)?;
        find_page(&self.context, user, Scope::User(user), &words, cursor).await
    }

    /// Searches within one conversation, in the order of its messages and without its title.
    pub async fn search_conversation(
        &self,
        user: UserId,
        uuid: Uuid,
        search: &str,
        cursor: Option<&str>,
    ) -> Result<SearchPage, ServiceError> {
        let words = terms::parse(search)?;
        let row = self.context.find_conversation(user, uuid).await?;
        find_page(&self.context, user, Scope::Conversation(row.id), &words, cursor).await
    }
}

async fn find_page(
    context: &Arc<Context>,
    user: UserId,
    scope: Scope,
    words: &[String],
    cursor: Option<&str>,
) -> Result<SearchPage, ServiceError> {
    let cursor = match cursor {
        Some(cursor) => read_cursor(cursor)
            .ok_or_else(|| ServiceError::Invalid("The cursor is not one that this search gave.".to_owned()))?,
        None => first_cursor(scope),
    };
    let Found { rows, next, complete } = find_rows(context, user, scope, words, cursor, TIME_FOR_PAGE).await?;
    let mut branches = Branches::default();
    let mut items = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(snippet) = find_snippet(context, &row, words).await? else { continue };
        let shown = branches.is_shown(context, &row).await?;
        items.push(hit(row, shown, snippet));
    }
    Ok(SearchPage { items, next_cursor: next.map(write_cursor), complete })
}

/// The result for one page.
struct Found {
    rows: Vec<HitRow>,
    /// Position at which the next page continues; `None` if everything was searched.
    next: Option<Cursor>,
    /// `false` if the time limit was reached before the page was full.
    complete: bool,
}

/// Searches batch by batch until the page is full, everything was searched, or the time limit is reached.
async fn find_rows(
    context: &Arc<Context>,
    user: UserId,
    scope: Scope,
    words: &[String],
    mut cursor: Cursor,
    time: Duration,
) -> Result<Found, ServiceError> {
    let deadline = Instant::now() + time;
    let mut rows: Vec<HitRow> = Vec::new();
    let Ok(Some(slot)) = timeout_at(deadline, context.searches.acquire(user)).await else {
        return Ok(Found { rows, next: Some(cursor), complete: false });
    };
    let slot = Arc::new(slot);
    let patterns: Arc<[Pattern]> = words.iter().map(|word| Pattern::new(word)).collect();
    let mut candidates = load_candidates(context, scope, words, &slot).await?;
    let mut messages = FIRST_BATCH;
    loop {
        let began = Instant::now();
        let limit = u32::try_from(MAX_SEARCH_HITS + 1 - rows.len()).unwrap_or(0);
        let batch = Batch { scope, cursor, messages, limit };
        let until = match search_batch(context, batch, &patterns, candidates, &slot).await {
            Ok((mut found, until, others)) => {
                rows.append(&mut found);
                candidates = others;
                until
            }
            // Earlier batches were fast, so this one was large, and it is slow. The next page begins with a small
            // batch.
            Err(error) if messages > FIRST_BATCH => {
                tracing::warn!(%error, messages, "a batch was too large to be searched at once");
                return Ok(Found { rows, next: Some(cursor), complete: false });
            }
            Err(error) => return Err(error.into()),
        };
        if rows.len() > MAX_SEARCH_HITS {
            rows.truncate(MAX_SEARCH_HITS);
            let next = rows.last().map(HitRow::cursor);
            return Ok(Found { rows, next, complete: true });
        }
        let Some(until) = until else { return Ok(Found { rows, next: None, complete: true }) };
        cursor = edge(scope, until);
        if Instant::now() >= deadline {
            return Ok(Found { rows, next: Some(cursor), complete: false });
        }
        if began.elapsed() < SHORT_TIME {
            messages = MAX_BATCH.min(messages * 2);
        }
    }
}

/// The range of one batch.
#[derive(Clone, Copy)]
struct Batch {
    scope: Scope,
    cursor: Cursor,
    messages: u32,
    /// Maximum number of hits.
    limit: u32,
}

/// The hits in a batch, where the batch ends, and the candidates of later batches.
type Searched = (Vec<HitRow>, Option<DateTime<Utc>>, Option<Candidates>);

/// Returns the messages that the index leaves, or `None` if all must be compared. In one conversation, the index would
/// save little.
async fn load_candidates(
    context: &Context,
    scope: Scope,
    words: &[String],
    slot: &Arc<Slot>,
) -> sqlx::Result<Option<Candidates>> {
    let Scope::User(user) = scope else { return Ok(None) };
    let (db, words) = (context.db.clone(), words.to_vec());
    run_with_slot(context, slot, async move { Candidates::load(&db, user, &words).await }).await
}

/// Searches a batch.
async fn search_batch(
    context: &Context,
    batch: Batch,
    patterns: &Arc<[Pattern]>,
    candidates: Option<Candidates>,
    slot: &Arc<Slot>,
) -> sqlx::Result<Searched> {
    let (db, patterns) = (context.db.clone(), Arc::clone(patterns));
    run_with_slot(context, slot, async move { run_batch(&db, batch, &patterns, candidates).await }).await
}

/// Runs statements of a search. The database does not abort a statement that takes too long, so the task keeps the
/// search permit until the statements have ended.
async fn run_with_slot<T: Send + 'static>(
    context: &Context,
    slot: &Arc<Slot>,
    statements: impl Future<Output = sqlx::Result<T>> + Send + 'static,
) -> sqlx::Result<T> {
    let slot = Arc::clone(slot);
    let task = context.spawn(async move {
        let done = statements.await;
        drop(slot);
        done
    });
    with_default_timeout(async { task.await.map_err(|error| sqlx::Error::AnyDriverError(error.into()))? }).await
}

async fn run_batch(
    db: &Database,
    batch: Batch,
    patterns: &[Pattern],
    candidates: Option<Candidates>,
) -> sqlx::Result<Searched> {
    let Batch { scope, cursor, messages, limit } = batch;
    let (selection, candidates) = match candidates {
        Some(candidates) => candidates.take_batch(db, cursor.time, messages as usize).await?,
        None => (Selection::default(), None),
    };
    let ids = selection.messages.as_deref();
    let until = search::find_batch_end(db, scope, cursor, messages, MAX_BATCH_BYTES, ids).await?;
    // The batch ends where one of the two does first. With candidates, the order is newest first.
    let until = until.max(selection.until);
    Ok((search::list_hits(db, scope, patterns, cursor, until, limit, ids).await?, until, candidates))
}

/// Returns the cursor before everything with this time, in the order of the search.
fn edge(scope: Scope, time: DateTime<Utc>) -> Cursor {
    let outermost = match scope {
        Scope::User(_) => i64::MAX,
        Scope::Conversation(_) => i64::MIN,
    };
    Cursor { time, message: outermost.into(), call: outermost.into() }
}

/// Returns the cursor before everything.
fn first_cursor(scope: Scope) -> Cursor {
    let time = match scope {
        Scope::User(_) => latest(),
        Scope::Conversation(_) => earliest(),
    };
    edge(scope, time)
}

/// Returns a time after the newest message, even if a replica's clock is ahead. MariaDB accepts no time after 2038, and
/// none before 1970.
fn latest() -> DateTime<Utc> {
    now() + TimeDelta::days(1)
}

fn earliest() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::days(1)
}

fn write_cursor(Cursor { time, message, call }: Cursor) -> String {
    format!("{}.{message}.{call}", time.timestamp_micros())
}

fn read_cursor(cursor: &str) -> Option<Cursor> {
    let (micros, ids) = cursor.split_once('.')?;
    let (message, call) = ids.split_once('.')?;
    let time =
        DateTime::from_timestamp_micros(micros.parse().ok()?).filter(|time| (earliest()..=latest()).contains(time))?;
    let (message, call): (i64, i64) = (message.parse().ok()?, call.parse().ok()?);
    Some(Cursor { time, message: message.into(), call: call.into() })
}

/// Returns the snippet of a hit, or `None` if the text has been deleted.
async fn find_snippet(
    context: &Context,
    row: &HitRow,
    words: &[String],
) -> Result<Option<Vec<SnippetPart>>, ServiceError> {
    let Some((field, at)) = row.found_in() else {
        let text = row.tool_name.as_ref().unwrap_or(&row.title);
        return Ok(Some(snippet::cut(text, true, words)));
    };
    let from = (at - snippet::READ_BEFORE).max(1);
    let part = search::find_part(&context.db, row.cursor(), field, from, snippet::READ_CHARS).await?;
    Ok(part.map(|part| snippet::cut(&part, from == 1, words)))
}

/// The messages on the branches that are shown, by conversation.
#[derive(Default)]
struct Branches(HashMap<ConversationId, HashSet<MessageId>>);

impl Branches {
    async fn is_shown(&mut self, context: &Context, row: &HitRow) -> Result<bool, ServiceError> {
        let Some(message_id) = message_id(row) else { return Ok(true) };
        let shown = match self.0.entry(row.conversation_id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let places = messages::list_tree_nodes(&context.db, row.conversation_id).await?;
                let shown = branch(&places, row.head_message_id);
                unknown.insert(shown.into_iter().map(|place| place.id).collect())
            }
        };
        Ok(shown.contains(&message_id))
    }
}

/// Returns the message that was found, or whose tool call was found; `None` for a title.
fn message_id(row: &HitRow) -> Option<MessageId> {
    row.role().map(|_| row.cursor().message)
}

fn hit(row: HitRow, shown: bool, snippet: Vec<SnippetPart>) -> SearchHit {
    let cursor = row.cursor();
    SearchHit {
        conversation_uuid: row.uuid,
        message_id: message_id(&row),
        role: row.role(),
        title: row.title,
        tool_call_id: row.tool_name.as_ref().map(|_| cursor.call),
        tool_name: row.tool_name,
        shown,
        snippet,
        created_at: row.started_at.unwrap_or(cursor.time),
    }
}

#[cfg(test)]
mod tests;
