//! Searching: where in a user's conversations, or in one of them, the words of a search stand. It goes through what is
//! stored a stretch at a time, for as long as one page may take, and the next page goes on from there. What is looked for is
//! in `words`, what is shown of a place in `snippet`.

mod snippet;
mod words;

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use tallybook_protocol::{MessageId, Role, SearchHit, SearchPage, SnippetPart, ToolCallId};
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::{
    ServiceError,
    branch::tree::branch,
    context::Context,
    limits::MAX_SEARCH_HITS,
    service::ConversationService,
    store::{
        ConversationId, messages,
        needle::Needle,
        search::{self, HitRow, Scope, SearchPlace},
    },
};
use crate::{accounts::UserId, db::now};

/// How long is searched for one page. A stretch that was begun is gone through.
const TIME_FOR_PAGE: Duration = Duration::from_secs(2);

/// Messages in the first stretch: few, since their texts may be long.
const FIRST_STRETCH: u32 = 250;

/// Messages in the longest stretch.
const MAX_STRETCH: u32 = 16_000;

/// A stretch that took less is followed by a longer one.
const SHORT_TIME: Duration = Duration::from_millis(150);

impl ConversationService {
    /// Where all words of `search` stand in a user's conversations, the newest places first: titles, messages of both
    /// sides, tool calls.
    pub async fn search(&self, user: UserId, search: &str, cursor: Option<&str>) -> Result<SearchPage, ServiceError> {
        let words = words::parse(search)?;
        find_page(&self.context, Scope::User(user), &words, cursor).await
    }

    /// The same within one conversation, in its own order and without its title.
    pub async fn search_conversation(
        &self,
        user: UserId,
        uuid: Uuid,
        search: &str,
        cursor: Option<&str>,
    ) -> Result<SearchPage, ServiceError> {
        let words = words::parse(search)?;
        let row = self.context.find_conversation(user, uuid).await?;
        find_page(&self.context, Scope::Conversation(row.id), &words, cursor).await
    }
}

async fn find_page(
    context: &Context,
    scope: Scope,
    words: &[String],
    cursor: Option<&str>,
) -> Result<SearchPage, ServiceError> {
    let place = match cursor {
        Some(cursor) => read_cursor(cursor)
            .ok_or_else(|| ServiceError::Invalid("The cursor is not one that this search gave.".to_owned()))?,
        None => beginning(scope),
    };
    let Found { rows, next, complete } = find_rows(context, scope, words, place).await?;
    let mut branches = Branches::default();
    let mut items = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(snippet) = find_snippet(context, &row, words).await? else { continue };
        let shown = branches.is_shown(context, &row).await?;
        items.extend(hit(row, shown, snippet));
    }
    Ok(SearchPage { items, next_cursor: next.map(write_cursor), complete })
}

/// What was found for one page.
struct Found {
    rows: Vec<HitRow>,
    /// The place up to which was searched; `None` when that is all there is.
    next: Option<SearchPlace>,
    /// False when there was no time to fill the page.
    complete: bool,
}

/// Goes from stretch to stretch until the page is full, all is searched, or the time is used up.
async fn find_rows(
    context: &Context,
    scope: Scope,
    words: &[String],
    mut place: SearchPlace,
) -> Result<Found, ServiceError> {
    let deadline = Instant::now() + TIME_FOR_PAGE;
    let mut rows: Vec<HitRow> = Vec::new();
    let Ok(Ok(_permit)) = timeout_at(deadline, context.searches.acquire()).await else {
        return Ok(Found { rows, next: Some(place), complete: false });
    };
    let needles: Vec<Needle> = words.iter().map(|word| Needle::new(word)).collect();
    let mut messages = FIRST_STRETCH;
    loop {
        let began = Instant::now();
        let until = search::find_stretch(&context.db, scope, place, messages).await?;
        let wanted = u32::try_from(MAX_SEARCH_HITS + 1 - rows.len()).unwrap_or(0);
        match search::list_hits(&context.db, scope, &needles, place, until, wanted).await {
            Ok(mut found) => rows.append(&mut found),
            // Short texts made the stretches long, and here are long ones. The next page begins with a short stretch.
            Err(error) if messages > FIRST_STRETCH => {
                tracing::warn!(%error, messages, "a stretch was too long to be searched at once");
                return Ok(Found { rows, next: Some(place), complete: false });
            }
            Err(error) => return Err(error.into()),
        }
        if rows.len() > MAX_SEARCH_HITS {
            rows.truncate(MAX_SEARCH_HITS);
            let next = rows.last().map(HitRow::place);
            return Ok(Found { rows, next, complete: true });
        }
        let Some(until) = until else { return Ok(Found { rows, next: None, complete: true }) };
        place = edge(scope, until);
        if Instant::now() >= deadline {
            return Ok(Found { rows, next: Some(place), complete: false });
        }
        if began.elapsed() < SHORT_TIME {
            messages = MAX_STRETCH.min(messages * 2);
        }
    }
}

/// The place before everything of this time, in the order of the search.
fn edge(scope: Scope, time: DateTime<Utc>) -> SearchPlace {
    let outermost = match scope {
        Scope::User(_) => i64::MAX,
        Scope::Conversation(_) => i64::MIN,
    };
    SearchPlace { time, message: outermost, call: outermost }
}

/// The place before everything.
fn beginning(scope: Scope) -> SearchPlace {
    let time = match scope {
        Scope::User(_) => latest(),
        Scope::Conversation(_) => earliest(),
    };
    edge(scope, time)
}

/// Behind the newest message, also of a replica whose clock is ahead. MariaDB takes no time after 2038, and none before
/// 1970.
fn latest() -> DateTime<Utc> {
    now() + TimeDelta::days(1)
}

fn earliest() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::days(1)
}

fn write_cursor(SearchPlace { time, message, call }: SearchPlace) -> String {
    format!("{}.{message}.{call}", time.timestamp_micros())
}

fn read_cursor(cursor: &str) -> Option<SearchPlace> {
    let (micros, ids) = cursor.split_once('.')?;
    let (message, call) = ids.split_once('.')?;
    let time =
        DateTime::from_timestamp_micros(micros.parse().ok()?).filter(|time| (earliest()..=latest()).contains(time))?;
    Some(SearchPlace { time, message: message.parse().ok()?, call: call.parse().ok()? })
}

/// `None` when the text is gone by now.
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
    let part = search::find_part(&context.db, row.place(), field, from, snippet::READ_CHARS).await?;
    Ok(part.map(|part| snippet::cut(&part, from == 1, words)))
}

/// Which messages are on the branches that are shown.
#[derive(Default)]
struct Branches(HashMap<ConversationId, HashSet<MessageId>>);

impl Branches {
    async fn is_shown(&mut self, context: &Context, row: &HitRow) -> Result<bool, ServiceError> {
        let Some(message_id) = message_id(row) else { return Ok(true) };
        let shown = match self.0.entry(row.conversation_id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let places = messages::list_places(&context.db, row.conversation_id).await?;
                let shown = branch(&places, row.head_message_id);
                unknown.insert(shown.into_iter().map(|place| place.id).collect())
            }
        };
        Ok(shown.contains(&message_id))
    }
}

/// The message in which, or in a call of which, something was found.
fn message_id(row: &HitRow) -> Option<MessageId> {
    row.role.as_ref().map(|_| MessageId(row.place().message))
}

/// `None` for a row that no program of ours wrote.
fn hit(row: HitRow, shown: bool, snippet: Vec<SnippetPart>) -> Option<SearchHit> {
    let place = row.place();
    Some(SearchHit {
        conversation_uuid: Uuid::parse_str(&row.uuid).ok()?,
        message_id: message_id(&row),
        role: row.role.map(Role::from),
        title: row.title,
        tool_call_id: row.tool_name.as_ref().map(|_| ToolCallId(place.call)),
        tool_name: row.tool_name,
        shown,
        snippet,
        created_at: row.started_at.unwrap_or(place.time),
    })
}
