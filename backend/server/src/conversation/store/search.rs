//! SQL that finds where something stands: in titles, in messages, in tool calls. All of it has an order in time, and a search
//! goes through it in batches, from cursor to cursor; it reads no text but the short part that is shown.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, Handle, LONG_STATEMENT_TIMEOUT, Pattern, Query, select};
use tallybook_protocol::{MessageId, Role, ToolCallId};

use super::rows::ConversationId;
use crate::accounts::UserId;

const OF_TITLES: &str = "SELECT c.id AS conversation_id, c.uuid, c.title, c.head_message_id, \
     c.created_at AS cursor_time, -c.id AS cursor_message, 0 AS cursor_call, NULL AS author, NULL AS tool_name, \
     NULL AS started_at, NULL AS content_at, NULL AS input_at, NULL AS output_at, NULL AS error_at \
     FROM conversations c WHERE ";

const OF_MESSAGES: [&str; 2] = [
    "SELECT c.id AS conversation_id, c.uuid, c.title, c.head_message_id, \
     m.created_at AS cursor_time, m.id AS cursor_message, 0 AS cursor_call, m.role AS author, NULL AS tool_name, \
     NULL AS started_at, ",
    " AS content_at, NULL AS input_at, NULL AS output_at, NULL AS error_at \
     FROM messages m JOIN conversations c ON c.id = m.conversation_id WHERE ",
];

const OF_CALLS: [&str; 4] = [
    "SELECT c.id AS conversation_id, c.uuid, c.title, c.head_message_id, \
     m.created_at AS cursor_time, m.id AS cursor_message, t.id AS cursor_call, m.role AS author, t.tool_name, \
     t.started_at, NULL AS content_at, ",
    " AS input_at, ",
    " AS output_at, ",
    " AS error_at FROM messages m JOIN tool_calls t ON t.message_id = m.id \
     JOIN conversations c ON c.id = m.conversation_id WHERE ",
];

// Sums of integers are decimals to MySQL.
const SIZES: &str = "SELECT m.created_at, CAST(OCTET_LENGTH(m.content) + COALESCE((SELECT SUM(OCTET_LENGTH(t.input_text) \
     + COALESCE(OCTET_LENGTH(t.output), 0) + COALESCE(OCTET_LENGTH(t.error), 0)) \
     FROM tool_calls t WHERE t.message_id = m.id), 0) AS SIGNED) AS bytes FROM messages m WHERE ";

/// Whose a message is, in a form that no index knows. A batch has few messages and its user may have many conversations,
/// so an engine that begins with those goes through all of them for each batch.
const OF_ANY_USER: &str = "c.user_id + 0";

/// That a conversation is not deleted, hidden from indexes for the same reason.
const NOT_DELETED: &str = "(c.deleted_at IS NULL) = 1";

/// What is searched, and in which order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope {
    /// All that is a user's, the newest first.
    User(UserId),
    /// The messages of one conversation, the oldest first.
    Conversation(ConversationId),
}

/// How far a search has come: up to something that may be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cursor {
    /// When the message was stored, or the conversation whose title it is.
    pub(crate) time: DateTime<Utc>,
    /// The message; for a title its conversation, counted down from 0, where no message is.
    pub(crate) message: MessageId,
    /// The tool call of the message; 0 for the message itself.
    pub(crate) call: ToolCallId,
}

/// The texts of a message and of its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Content,
    Input,
    Output,
    Error,
}

/// Something that was found, and where its words begin: the place of one of them in each of its texts, in characters
/// counted from 1.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct HitRow {
    pub(crate) conversation_id: ConversationId,
    pub(crate) uuid: String,
    pub(crate) title: String,
    pub(crate) head_message_id: Option<MessageId>,
    cursor_time: DateTime<Utc>,
    cursor_message: MessageId,
    cursor_call: ToolCallId,
    #[sqlx(try_from = "Option<String>")]
    author: Author,
    pub(crate) tool_name: Option<String>,
    pub(crate) started_at: Option<DateTime<Utc>>,
    content_at: Option<i64>,
    input_at: Option<i64>,
    output_at: Option<i64>,
    error_at: Option<i64>,
}

/// Who wrote what was found; nobody, where that is a title.
#[derive(Clone, Copy, Debug)]
struct Author(Option<Role>);

impl From<Option<String>> for Author {
    fn from(word: Option<String>) -> Self {
        Self(word.map(Role::from))
    }
}

impl HitRow {
    /// Who wrote the message; `None` when a title was found.
    pub(crate) fn role(&self) -> Option<Role> {
        self.author.0
    }

    pub(crate) fn cursor(&self) -> Cursor {
        Cursor { time: self.cursor_time, message: self.cursor_message, call: self.cursor_call }
    }

    /// The text in which a word stands, and where; `None` when that is a title or the name of a tool.
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

/// Where a batch ends that begins behind `cursor`: before the messages of the time that is given, or with all that there is.
/// Besides those of the cursor's own time it has at most `max_messages`, with at most `max_bytes` in their texts and those of
/// their calls.
pub(crate) async fn find_batch_end(
    db: &Database,
    scope: Scope,
    cursor: Cursor,
    max_messages: u32,
    max_bytes: i64,
) -> sqlx::Result<Option<DateTime<Utc>>> {
    let mut query = db.reader().query(select!(SIZES));
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

/// At most `limit` hits behind `cursor`, and before the time `until` if one is given, where all patterns match, in order.
pub(crate) async fn list_hits(
    db: &Database,
    scope: Scope,
    patterns: &[Pattern],
    cursor: Cursor,
    until: Option<DateTime<Utc>>,
    limit: u32,
) -> sqlx::Result<Vec<HitRow>> {
    let batch = Batch { scope, cursor, until, limit };
    let mut query = db.reader().query(select!(OF_MESSAGES[0])).with_timeout(LONG_STATEMENT_TIMEOUT);
    push_position(&mut query, patterns, "m.content");
    query.push(OF_MESSAGES[1]);
    batch.push(&mut query, OF_ANY_USER, ["m.created_at", "m.id", "0"]);
    push_all_match(&mut query, patterns, &["m.content"]);
    batch.push_order(&mut query, "m.created_at, m.id", "m.created_at DESC, m.id DESC");
    let mut hits: Vec<HitRow> = query.fetch_all().await?;

    let mut query = db.reader().query(select!(OF_CALLS[0])).with_timeout(LONG_STATEMENT_TIMEOUT);
    for (text, rest) in ["t.input_text", "t.output", "t.error"].into_iter().zip(&OF_CALLS[1..]) {
        push_position(&mut query, patterns, text);
        query.push(rest);
    }
    batch.push(&mut query, OF_ANY_USER, ["m.created_at", "m.id", "t.id"]);
    push_all_match(&mut query, patterns, &["t.tool_name", "t.input_text", "t.output", "t.error"]);
    batch.push_order(&mut query, "m.created_at, m.id, t.id", "m.created_at DESC, m.id DESC, t.id DESC");
    hits.append(&mut query.fetch_all().await?);

    if let Scope::User(_) = scope {
        let mut query = db.reader().query(select!(OF_TITLES)).with_timeout(LONG_STATEMENT_TIMEOUT);
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

/// At most `chars` characters of a text from the character `from` on; `None` when it is gone.
pub(crate) async fn find_part(
    db: &Database,
    cursor: Cursor,
    field: Field,
    from: i64,
    chars: i64,
) -> sqlx::Result<Option<String>> {
    let (sql, id) = match field {
        Field::Content => (select!("SELECT SUBSTR(content, ?, ?) FROM messages WHERE id = ?"), cursor.message.0),
        Field::Input => (select!("SELECT SUBSTR(input_text, ?, ?) FROM tool_calls WHERE id = ?"), cursor.call.0),
        Field::Output => (select!("SELECT SUBSTR(output, ?, ?) FROM tool_calls WHERE id = ?"), cursor.call.0),
        Field::Error => (select!("SELECT SUBSTR(error, ?, ?) FROM tool_calls WHERE id = ?"), cursor.call.0),
    };
    let part: Option<Option<String>> =
        db.reader().query(sql).bind(from).bind(chars).bind(id).fetch_optional_value().await?;
    Ok(part.flatten())
}

/// The part of everything that one query looks at.
#[derive(Clone, Copy)]
struct Batch {
    scope: Scope,
    cursor: Cursor,
    until: Option<DateTime<Utc>>,
    limit: u32,
}

impl Batch {
    /// Adds the condition that what has these columns is in this batch.
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
        // Said apart from what follows it from, since this is what an index is good for.
        query.push(" AND ").push(time).push(behind.trim_end()).push("= ").push_bind(from);
        query.push(" AND (").push(time).push(behind).push_bind(from);
        query.push(" OR ").push(message).push(behind).push_bind(after_message);
        query.push(" OR (").push(message).push(" = ").push_bind(after_message);
        query.push(" AND ").push(call).push(behind).push_bind(after_call).push("))");
        if let Some(until) = self.until {
            // The other way round.
            let before = if behind == " < " { " > " } else { " < " };
            query.push(" AND ").push(time).push(before).push_bind(until);
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

/// Adds where the first of the patterns stands that stands in `column`.
fn push_position<H: Handle>(query: &mut Query<H>, patterns: &[Pattern], column: &'static str) {
    query.push("COALESCE(");
    for (number, pattern) in patterns.iter().enumerate() {
        query.push(if number == 0 { "" } else { ", " });
        pattern.push_positions(query, column);
    }
    query.push(")");
}

/// Adds the condition that each of the patterns stands in one of the columns.
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
