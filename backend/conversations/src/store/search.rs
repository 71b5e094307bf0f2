//! SQL that finds matches in titles, messages and tool calls. Matches are ordered by time, and a search proceeds in
//! batches from cursor to cursor. Only the short part of a text that is shown is read.

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_database::{Database, Handle, LONG_STATEMENT_TIMEOUT, Pattern, Query, select};
use tallybook_protocol::{MessageId, Role, ToolCallId};
use uuid::Uuid;

use crate::store::{
    rows::{ConversationId, is_copied, row_of_copy},
    search_index::message_bytes,
};

const OF_MESSAGES: [&str; 2] = [
    "SELECT c.id AS conversation_id, c.uuid, c.title, c.head_message_id, \
     m.created_at AS cursor_time, m.id AS cursor_message, 0 AS cursor_call, m.role AS author, NULL AS tool_name, \
     NULL AS started_at, ",
    " AS content_at, NULL AS input_at, NULL AS output_at, NULL AS error_at \
     FROM messages m JOIN conversations c ON c.id = m.conversation_id WHERE ",
];

/// The parts of the query of the calls in `$table`, between the positions of the words. `$id` is the ID of a call.
macro_rules! of_calls {
    ($table:literal, $id:literal) => {
        [
            concat!(
                "SELECT c.id AS conversation_id, c.uuid, c.title, c.head_message_id, m.created_at AS cursor_time, \
                 m.id AS cursor_message, ",
                $id,
                " AS cursor_call, m.role AS author, t.tool_name, t.started_at, NULL AS content_at, "
            ),
            " AS input_at, ",
            " AS output_at, ",
            concat!(
                " AS error_at FROM messages m JOIN ",
                $table,
                " t ON t.message_id = m.id JOIN conversations c ON c.id = m.conversation_id WHERE "
            ),
        ]
    };
}

const OF_CALLS: [&str; 4] = of_calls!("tool_calls", "t.id");

/// The ID of a copied call is the negated ID of its row.
const OF_COPIED_CALLS: [&str; 4] = of_calls!("copied_tool_calls", "-t.id");

/// A conversation's user, written so that no index applies. A batch has few messages, and a user can have many
/// conversations. An engine that started with the conversations would read all of them for each batch.
const OF_ANY_USER: &str = "c.user_id + 0";

/// Order of calls: oldest first, and newest first.
const CALL_ORDER: [&str; 2] = ["m.created_at, m.id, t.id", "m.created_at DESC, m.id DESC, t.id DESC"];

/// Order of copied calls by their negative IDs: oldest first, and newest first.
const COPIED_CALL_ORDER: [&str; 2] = ["m.created_at, m.id, t.id DESC", "m.created_at DESC, m.id DESC, t.id"];

/// Condition that a conversation is not deleted, hidden from indexes for the same reason.
const NOT_DELETED: &str = "(c.deleted_at IS NULL) = 1";

/// Range and order of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope {
    /// Everything of one user, newest first.
    User(UserId),
    /// The messages of one conversation, oldest first.
    Conversation(ConversationId),
}

/// Position of a search: after an item that can be a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cursor {
    /// When the message, or the conversation with the title, was created.
    pub time: DateTime<Utc>,
    /// The message. For a title, the negated ID of its conversation, which no message has.
    pub message: MessageId,
    /// The tool call of the message; 0 for the message itself.
    pub call: ToolCallId,
}

/// The texts of a message and of its tool calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Content,
    Input,
    Output,
    Error,
}

/// A match. For each of its texts it has the position of one of the words, in characters from 1.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct HitRow {
    pub conversation_id: ConversationId,
    #[sqlx(try_from = "String")]
    pub uuid: Uuid,
    pub title: String,
    pub head_message_id: Option<MessageId>,
    cursor_time: DateTime<Utc>,
    cursor_message: MessageId,
    cursor_call: ToolCallId,
    #[sqlx(try_from = "Option<String>")]
    author: Author,
    pub tool_name: Option<String>,
    pub started_at: Option<DateTime<Utc>>,
    content_at: Option<i64>,
    input_at: Option<i64>,
    output_at: Option<i64>,
    error_at: Option<i64>,
}

/// Role of the message that was found; `None` for a title.
#[derive(Clone, Copy, Debug)]
struct Author(Option<Role>);

impl From<Option<String>> for Author {
    fn from(word: Option<String>) -> Self {
        Self(word.map(Role::from))
    }
}

impl HitRow {
    /// Returns the role of the message; `None` if a title was found.
    pub(crate) fn role(&self) -> Option<Role> {
        self.author.0
    }

    pub(crate) fn cursor(&self) -> Cursor {
        Cursor { time: self.cursor_time, message: self.cursor_message, call: self.cursor_call }
    }

    /// Returns the text that contains a word, and the word's position. Returns `None` if the match is a title or the
    /// name of a tool.
    pub(crate) fn found_in(&self) -> Option<(Field, i64)> {
        let places = [
            (Field::Content, self.content_at),
            (Field::Input, self.input_at),
            (Field::Output, self.output_at),
            (Field::Error, self.error_at),
        ];
        places.into_iter().find_map(|(field, at)| Some((field, at?)))
    }
}

/// Returns the time at which the batch after `cursor` ends; messages with that time are not in the batch. Returns
/// `None` if the batch extends to the very end. The batch has at most `max_messages` messages. Their texts, and those
/// of their tool calls, have at most `max_bytes` bytes. Messages with the cursor's own time do not count. If candidates
/// are given, only these messages count.
pub(crate) async fn find_batch_end(
    db: &Database,
    scope: Scope,
    cursor: Cursor,
    max_messages: u32,
    max_bytes: i64,
    candidates: Option<&[MessageId]>,
) -> sqlx::Result<Option<DateTime<Utc>>> {
    let mut query = db.reader().query(select!(concat!(
        "SELECT m.created_at, ",
        message_bytes!(),
        " AS bytes FROM messages m WHERE "
    )));
    if !push_candidates(&mut query, candidates) {
        return Ok(None);
    }
    match scope {
        Scope::User(_) => query.push("m.created_at < ").push_bind(cursor.time).push(" ORDER BY m.created_at DESC"),
        Scope::Conversation(id) => {
            query.push("m.conversation_id = ").push_bind(id);
            query.push(" AND m.created_at > ").push_bind(cursor.time).push(" ORDER BY m.created_at")
        }
    };
    query.push(" LIMIT ").push_bind(max_messages.saturating_add(1));
    let sizes: Vec<(DateTime<Utc>, i64)> = query.with_timeout(LONG_STATEMENT_TIMEOUT).fetch_all().await?;
    let mut left = max_bytes;
    let fits = |(_, bytes): &&(DateTime<Utc>, i64)| {
        left = left.saturating_sub(*bytes);
        left >= 0
    };
    let messages = sizes.iter().take(usize::try_from(max_messages).unwrap_or(usize::MAX)).take_while(fits).count();
    Ok(sizes.get(messages).map(|(time, _)| *time))
}

/// Lists at most `limit` items after `cursor` that match all patterns, in order. If `until` is given, lists only items
/// before that time, in the order of the search. If candidates are given, only these messages and their tool calls are
/// compared, and all titles.
pub(crate) async fn list_hits(
    db: &Database,
    scope: Scope,
    patterns: &[Pattern],
    cursor: Cursor,
    until: Option<DateTime<Utc>>,
    limit: u32,
    candidates: Option<&[MessageId]>,
) -> sqlx::Result<Vec<HitRow>> {
    let batch = Batch { scope, cursor, until, limit, names_messages: false };
    let mut hits = list_message_hits(db, batch, patterns, candidates).await?;
    if let Scope::User(_) = scope {
        let mut query = db
            .reader()
            .query(select!(
                "SELECT c.id AS conversation_id, c.uuid, c.title, c.head_message_id, c.created_at AS \
                 cursor_time, -c.id AS cursor_message, 0 AS cursor_call, NULL AS author, NULL AS \
                 tool_name, NULL AS started_at, NULL AS content_at, NULL AS input_at, NULL AS output_at, \
                 NULL AS error_at FROM conversations c WHERE "
            ))
            .with_timeout(LONG_STATEMENT_TIMEOUT);
        batch.push(&mut query, "c.user_id", ["c.created_at", "-c.id", "0"]);
        push_all_match(&mut query, patterns, &["c.title"]);
        batch.push_order(&mut query, "c.created_at, c.id DESC", "c.created_at DESC, c.id");
        hits.append(&mut query.fetch_all().await?);
    }
    match scope {
        Scope::User(_) => hits.sort_by_key(|hit| std::cmp::Reverse(hit.cursor())),
        Scope::Conversation(_) => hits.sort_by_key(HitRow::cursor),
    }
    hits.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(hits)
}

/// Lists the matches of a batch among the messages and their tool calls, each kind in order.
async fn list_message_hits(
    db: &Database,
    batch: Batch,
    patterns: &[Pattern],
    candidates: Option<&[MessageId]>,
) -> sqlx::Result<Vec<HitRow>> {
    let mut query = db.reader().query(select!(OF_MESSAGES[0])).with_timeout(LONG_STATEMENT_TIMEOUT);
    push_position(&mut query, patterns, "m.content");
    query.push(OF_MESSAGES[1]);
    if !push_candidates(&mut query, candidates) {
        return Ok(Vec::new());
    }
    let batch = Batch { names_messages: candidates.is_some(), ..batch };
    batch.push(&mut query, OF_ANY_USER, ["m.created_at", "m.id", "0"]);
    push_all_match(&mut query, patterns, &["m.content"]);
    batch.push_order(&mut query, "m.created_at, m.id", "m.created_at DESC, m.id DESC");
    let mut hits: Vec<HitRow> = query.fetch_all().await?;

    for (begin, rest, id, order) in [
        (select!(OF_CALLS[0]), &OF_CALLS[1..], "t.id", CALL_ORDER),
        (select!(OF_COPIED_CALLS[0]), &OF_COPIED_CALLS[1..], "-t.id", COPIED_CALL_ORDER),
    ] {
        let mut query = db.reader().query(begin).with_timeout(LONG_STATEMENT_TIMEOUT);
        for (text, rest) in ["t.input_text", "t.output", "t.error"].into_iter().zip(rest) {
            push_position(&mut query, patterns, text);
            query.push(rest);
        }
        push_candidates(&mut query, candidates);
        batch.push(&mut query, OF_ANY_USER, ["m.created_at", "m.id", id]);
        push_all_match(&mut query, patterns, &["t.tool_name", "t.input_text", "t.output", "t.error"]);
        batch.push_order(&mut query, order[0], order[1]);
        hits.append(&mut query.fetch_all().await?);
    }
    Ok(hits)
}

/// Adds the condition that a message is one of the candidates, if there are any candidates. Returns `false` if the list
/// is empty, so that no message can match.
fn push_candidates<H: Handle>(query: &mut Query<H>, candidates: Option<&[MessageId]>) -> bool {
    let Some(candidates) = candidates else { return true };
    query.push("m.id IN (").push_list(candidates.iter().copied()).push(") AND ");
    !candidates.is_empty()
}

/// Returns at most `chars` characters of a text, from the character `from` on; `None` if the text was deleted.
pub(crate) async fn find_part(
    db: &Database,
    cursor: Cursor,
    field: Field,
    from: i64,
    chars: i64,
) -> sqlx::Result<Option<String>> {
    let call = cursor.call;
    let (sql, id) = match (field, is_copied(call)) {
        (Field::Content, _) => (select!("SELECT SUBSTR(content, ?, ?) FROM messages WHERE id = ?"), cursor.message.0),
        (Field::Input, false) => (select!("SELECT SUBSTR(input_text, ?, ?) FROM tool_calls WHERE id = ?"), call.0),
        (Field::Output, false) => (select!("SELECT SUBSTR(output, ?, ?) FROM tool_calls WHERE id = ?"), call.0),
        (Field::Error, false) => (select!("SELECT SUBSTR(error, ?, ?) FROM tool_calls WHERE id = ?"), call.0),
        (Field::Input, true) => {
            (select!("SELECT SUBSTR(input_text, ?, ?) FROM copied_tool_calls WHERE id = ?"), row_of_copy(call))
        }
        (Field::Output, true) => {
            (select!("SELECT SUBSTR(output, ?, ?) FROM copied_tool_calls WHERE id = ?"), row_of_copy(call))
        }
        (Field::Error, true) => {
            (select!("SELECT SUBSTR(error, ?, ?) FROM copied_tool_calls WHERE id = ?"), row_of_copy(call))
        }
    };
    let part: Option<Option<String>> =
        db.reader().query(sql).bind(from).bind(chars).bind(id).fetch_optional_value().await?;
    Ok(part.flatten())
}

/// The range that one query searches.
#[derive(Clone, Copy)]
struct Batch {
    scope: Scope,
    cursor: Cursor,
    until: Option<DateTime<Utc>>,
    limit: u32,
    /// `true` if no index applies to the conditions on the time, because the query names the messages.
    names_messages: bool,
}

impl Batch {
    /// Adds the condition that the item with these columns is in this batch.
    fn push<H: Handle>(self, query: &mut Query<H>, of_user: &'static str, [time, message, call]: [&'static str; 3]) {
        let Cursor { time: from, message: after_message, call: after_call } = self.cursor;
        let behind = match self.scope {
            Scope::User(user) => {
                query.push(NOT_DELETED).push(" AND ").push(of_user).push(" = ").push_bind(user);
                " < "
            }
            Scope::Conversation(id) => {
                query.push("m.conversation_id = ").push_bind(id);
                " > "
            }
        };
        if !self.names_messages {
            // This condition follows from the next one. It is stated separately because an index can use it.
            query.push(" AND ").push(time).push(behind.trim_end()).push("= ").push_bind(from);
        }
        query.push(" AND (").push(time).push(behind).push_bind(from);
        query.push(" OR ").push(message).push(behind).push_bind(after_message);
        query.push(" OR (").push(message).push(" = ").push_bind(after_message);
        query.push(" AND ").push(call).push(behind).push_bind(after_call).push("))");
        if let Some(until) = self.until {
            // In the opposite direction.
            let before = if behind == " < " { " > " } else { " < " };
            query.push(" AND (").push(time).push(before).push_bind(until);
            query.push(if self.names_messages { ") = 1" } else { ")" });
        }
    }

    fn push_order<H: Handle>(self, query: &mut Query<H>, oldest_first: &'static str, newest_first: &'static str) {
        let order = match self.scope {
            Scope::User(_) => newest_first,
            Scope::Conversation(_) => oldest_first,
        };
        query.push(" ORDER BY ").push(order).push(" LIMIT ").push_bind(self.limit);
    }
}

/// Adds the position in `column` of the first pattern that the column contains.
fn push_position<H: Handle>(query: &mut Query<H>, patterns: &[Pattern], column: &'static str) {
    query.push("COALESCE(");
    for (number, pattern) in patterns.iter().enumerate() {
        query.push(if number == 0 { "" } else { ", " });
        pattern.push_positions(query, column);
    }
    query.push(")");
}

/// Adds the condition that each pattern matches one of the columns.
fn push_all_match<H: Handle>(query: &mut Query<H>, patterns: &[Pattern], columns: &[&'static str]) {
    for pattern in patterns {
        query.push(" AND (");
        for (number, column) in columns.iter().enumerate() {
            query.push(if number == 0 { "" } else { " OR " });
            pattern.push_matches(query, column);
        }
        query.push(")");
    }
}
