//! Turns a filter into SQL. The database scans one index in its order and tests the other conditions for each call. If
//! the index contains all columns of a filter, the database reads only the index. The SQL names the index, because
//! engines that choose an index by statistics may change their choice and then sort two million rows.

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_conversations::ConversationId;
use tallybook_database::{Database, Pattern, select};
use tallybook_protocol::ToolCallStatus;

use super::sql::{Sql, Value};
use crate::filter::{Filter, Slow};

/// Columns of the indexes that contain all columns of a filter.
pub(crate) const INDEXED: &str = "id, started_at, duration_ms, tool_name, status, user_id, conversation_id, model";

/// `FROM` clause that scans the calls along an index. The index hint is in a comment that only engines with index hints
/// read.
macro_rules! along {
    ($index:literal) => {
        concat!(" FROM tool_calls /*! FORCE INDEX (tool_calls_by_", $index, ") */ WHERE 1 = 1")
    };
}

const BY_TIME: &str = along!("time");
pub(crate) const BY_DURATION: &str = along!("duration");

/// A column with an index that continues with the start time.
#[derive(Clone, Copy, Debug)]
struct Column {
    /// `FROM` clause that scans the calls along that index.
    along: &'static str,
    /// The condition on the column, for the index.
    plain: &'static str,
    /// Variant of the condition that no index can serve.
    unindexed: &'static str,
    /// `true` if the index contains all columns of a filter.
    is_wide: bool,
}

const CONVERSATION: Column = Column {
    along: along!("conversation"),
    plain: " AND conversation_id = ",
    unindexed: " AND COALESCE(t.conversation_id, 0) = ",
    is_wide: false,
};

const USER: Column = Column {
    along: along!("user"),
    plain: " AND user_id = ",
    unindexed: " AND COALESCE(t.user_id, 0) = ",
    is_wide: true,
};

const STATUS: Column = Column {
    along: along!("status"),
    plain: " AND status = ",
    unindexed: " AND COALESCE(t.status, '') = ",
    is_wide: true,
};

const MODEL: Column = Column {
    along: along!("model"),
    plain: " AND model = ",
    unindexed: " AND COALESCE(t.model, '') = ",
    is_wide: true,
};

const TOOL: Column = Column {
    along: along!("tool"),
    plain: " AND tool_name = ",
    unindexed: " AND COALESCE(t.tool_name, '') = ",
    is_wide: false,
};

/// Other indexes do not contain the server, so its condition on them uses the tool's name, which starts with the
/// server's name.
const SERVER: Column = Column {
    along: along!("server"),
    plain: " AND server = ",
    unindexed: " AND COALESCE(CASE WHEN INSTR(t.tool_name, '__') > 1 \
             THEN SUBSTR(t.tool_name, 1, INSTR(t.tool_name, '__') - 1) ELSE '' END, '') = ",
    is_wide: false,
};

/// The rating of a call's answer, which is in another table. It leads only if few calls match it, because the database
/// must sort them.
const RATING: Column = Column {
    along: " FROM feedback f JOIN tool_calls ON tool_calls.message_id = f.message_id WHERE 1 = 1",
    plain: " AND f.rating = ",
    unindexed: " AND (SELECT f.rating FROM feedback f WHERE f.message_id = t.message_id) = ",
    is_wide: false,
};

/// A column with the value it must have.
#[derive(Clone, Debug)]
struct Equal {
    column: Column,
    value: Value,
}

/// A condition on calls, with the user and the conversation of the filter as IDs.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    /// The first column of the index.
    leading: Option<Equal>,
    /// The other columns that must have a value.
    equal: Vec<Equal>,
    since: Option<DateTime<Utc>>,
    until: Option<DateTime<Utc>>,
    slow: Option<Slow>,
    words: Vec<Pattern>,
    /// The rating, unless it is the leading column.
    rating: Option<Equal>,
    /// `true` if the rows of calls must be read: no index of calls has their texts or the ratings of their answers.
    needs_rows: bool,
    /// `true` if no call can match.
    is_impossible: bool,
}

impl Condition {
    /// Creates the condition for `filter`. `user` and `conversation` are the IDs of the user and the conversation that
    /// it names.
    pub(crate) fn new(
        filter: &Filter,
        user: Option<UserId>,
        conversation: Option<ConversationId>,
        now: DateTime<Utc>,
    ) -> Self {
        let text = |value: Option<&String>| value.cloned().map(Value::Text);
        let status = |is_wanted: fn(ToolCallStatus) -> bool| {
            filter.status.filter(|status| is_wanted(*status)).map(|status| Value::Text(status.as_str().to_owned()))
        };
        // The name of a tool contains its server.
        let named = filter.tool.as_deref().map(server_of);
        let server = filter.server.as_ref().filter(|_| named.is_none());
        // The most selective columns first; if two are about equal, the one with a wide index first.
        let mut equal: Vec<Equal> = [
            (CONVERSATION, conversation.map(|id| Value::Number(id.0))),
            (USER, user.map(|id| Value::Number(id.0))),
            (STATUS, status(|status| status != ToolCallStatus::Success)),
            (MODEL, text(filter.model.as_ref())),
            (TOOL, text(filter.tool.as_ref())),
            (SERVER, text(server)),
            (STATUS, status(|status| status == ToolCallStatus::Success)),
        ]
        .into_iter()
        .filter_map(|(column, value)| Some(Equal { column, value: value? }))
        .collect();
        let leading = if equal.is_empty() { None } else { Some(equal.remove(0)) };
        Self {
            leading,
            equal,
            since: filter.since.map(|moment| moment.beginning(now)),
            until: filter.until.map(|moment| moment.end(now)),
            slow: filter.slow,
            rating: filter
                .rating
                .map(|rating| Equal { column: RATING, value: Value::Text(rating.as_str().to_owned()) }),
            needs_rows: !filter.words.is_empty() || filter.rating.is_some(),
            words: filter.words.iter().map(|word| Pattern::new(word)).collect(),
            is_impossible: filter.server.as_deref().zip(named).is_some_and(|(server, named)| server != named),
        }
    }

    /// Returns the upper bound on the start time (exclusive).
    pub(crate) fn until(&self) -> Option<DateTime<Utc>> {
        self.until
    }

    /// Returns `true` if no call can match, because the tool belongs to a server other than the one named.
    pub(crate) fn is_impossible(&self) -> bool {
        self.is_impossible
    }

    /// Returns `true` if texts or ratings are tested, which no index of calls contains.
    pub(crate) fn needs_rows(&self) -> bool {
        self.needs_rows
    }

    /// Returns `true` if the index of the leading column is enough to test the condition.
    pub(crate) fn is_covered_by_index(&self) -> bool {
        !self.needs_rows && self.leading.as_ref().is_some_and(|leading| leading.column.is_wide)
    }

    /// Returns `true` if the condition limits a column or the start time. Limits on the duration, searched texts, and a
    /// rating that does not lead do not count.
    pub(crate) fn names_something(&self) -> bool {
        self.leading.is_some() || self.since.is_some() || self.until.is_some()
    }

    /// Returns SQL that scans the calls along the index of the leading column, with the condition on that column.
    /// Without a leading column, it scans along the index of start times.
    pub(crate) fn along_index(&self) -> Sql {
        match &self.leading {
            Some(Equal { column, value }) => Sql::new(column.along).text(column.plain).value(value.clone()),
            None => Sql::new(BY_TIME),
        }
    }

    /// Returns the lower bound on the start time as SQL.
    pub(crate) fn not_before(&self) -> Sql {
        self.since.map_or_else(Sql::default, |since| Sql::new(" AND started_at >= ").value(since))
    }

    /// Returns the upper bound on the start time as SQL.
    pub(crate) fn not_after(&self) -> Sql {
        self.until.map_or_else(Sql::default, |until| Sql::new(" AND started_at < ").value(until))
    }

    /// Returns a condition for each column that can lead: the rating, the current column, and the others. Empty if no
    /// other than the current column can.
    pub(crate) fn ways(&self) -> Vec<Self> {
        let by_rating = self.rating.as_ref().map(|rating| {
            let equal = self.leading.iter().chain(&self.equal).cloned().collect();
            Self { leading: Some(rating.clone()), equal, rating: None, ..self.clone() }
        });
        let by_rating = by_rating.into_iter();
        let Some(leading) = self.leading.as_ref().filter(|_| !self.equal.is_empty()) else {
            return by_rating.collect();
        };
        let others = self.equal.iter().enumerate().map(|(place, other)| {
            let mut way = Self { leading: Some(other.clone()), ..self.clone() };
            way.equal[place] = leading.clone();
            way
        });
        by_rating.chain(std::iter::once(self.clone())).chain(others).collect()
    }

    /// Returns the condition on the duration, for the index of durations; `None` if there is none.
    pub(crate) fn along_durations(&self) -> Option<Sql> {
        self.slow.map(|slow| match slow {
            Slow::Longer(ms) => Sql::new(" AND duration_ms > ").value(ms),
            Slow::Shorter(ms) => Sql::new(" AND duration_ms < ").value(ms),
        })
    }

    /// Returns the conditions on calls `t` except those on the leading column and the start time.
    pub(crate) fn rest(&self) -> Sql {
        let mut rest = Sql::default();
        for Equal { column, value } in self.equal.iter().chain(&self.rating) {
            rest = rest.text(column.unindexed).value(value.clone());
        }
        rest = match self.slow {
            Some(Slow::Longer(ms)) => rest.text(" AND COALESCE(t.duration_ms, -1) > ").value(ms),
            Some(Slow::Shorter(ms)) => rest.text(" AND COALESCE(t.duration_ms, 9000000000000) < ").value(ms),
            None => rest,
        };
        for word in &self.words {
            rest = rest.text(" AND (").contains("t.input_text", word).text(" OR ").contains("t.output", word);
            rest = rest.text(" OR ").contains("t.error", word).text(")");
        }
        rest
    }

    /// Returns all conditions, for calls `t` that are scanned in another order.
    pub(crate) fn all(&self) -> Sql {
        let mut all = Sql::default();
        if let Some(Equal { column, value }) = &self.leading {
            all = all.text(column.unindexed).value(value.clone());
        }
        if let Some(since) = self.since {
            all = all.text(" AND COALESCE(t.started_at, t.started_at) >= ").value(since);
        }
        if let Some(until) = self.until {
            all = all.text(" AND COALESCE(t.started_at, t.started_at) < ").value(until);
        }
        all.then(&self.rest())
    }
}

/// Returns the server in the name of a tool, as in the column `server`; empty for a built-in tool.
fn server_of(tool: &str) -> &str {
    match tool.find("__") {
        Some(end) if end > 0 => &tool[..end],
        _ => "",
    }
}

/// Returns the ID of a user; `None` if there is none with this name.
pub(crate) async fn find_user(db: &Database, name: &str) -> sqlx::Result<Option<UserId>> {
    db.reader().query(select!("SELECT id FROM users WHERE name = ?")).bind(name).fetch_optional_value().await
}

/// Returns the ID and the owner of a conversation; `None` if it does not exist.
pub(crate) async fn find_conversation(db: &Database, uuid: &str) -> sqlx::Result<Option<(ConversationId, UserId)>> {
    db.reader().query(select!("SELECT id, user_id FROM conversations WHERE uuid = ?")).bind(uuid).fetch_optional().await
}
