//! What a filter asks for, as SQL. The database goes along one index, in its order; whatever else is asked for is looked at
//! call by call, in the index itself where that has all columns of a filter. It is not left to the database which index that
//! is: engines that know the tables by their statistics take one now and another then, and sort two million rows for the
//! difference.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, Pattern, select};
use tallybook_protocol::ToolCallStatus;

use super::sql::{Sql, Value};
use crate::{
    accounts::UserId,
    book::filter::{Filter, Slow},
    conversation::ConversationId,
};

const FIND_USER: &str = "SELECT id FROM users WHERE name = ?";

const FIND_CONVERSATION: &str = "SELECT id, user_id FROM conversations WHERE uuid = ?";

/// What the indexes have that have all columns of a filter.
pub(super) const INDEXED: &str = "id, started_at, duration_ms, tool_name, status, user_id, conversation_id, model";

/// The calls along an index. Engines that have hints are told which index it is, in a form
/// that the others read over.
macro_rules! along {
    ($index:literal) => {
        concat!(" FROM tool_calls /*! FORCE INDEX (tool_calls_by_", $index, ") */ WHERE 1 = 1")
    };
}

const BY_TIME: &str = along!("time");
pub(super) const BY_DURATION: &str = along!("duration");

/// A column for which there is an index that goes on with the time.
#[derive(Clone, Copy, Debug)]
struct Column {
    /// The calls along that index.
    along: &'static str,
    /// The column, for the index.
    plain: &'static str,
    /// The same, hidden from every index.
    hidden: &'static str,
    /// Whether the index has all columns of a filter.
    is_wide: bool,
}

const CONVERSATION: Column = Column {
    along: along!("conversation"),
    plain: " AND conversation_id = ",
    hidden: " AND COALESCE(t.conversation_id, 0) = ",
    is_wide: false,
};

const USER: Column =
    Column { along: along!("user"), plain: " AND user_id = ", hidden: " AND COALESCE(t.user_id, 0) = ", is_wide: true };

const STATUS: Column = Column {
    along: along!("status"),
    plain: " AND status = ",
    hidden: " AND COALESCE(t.status, '') = ",
    is_wide: true,
};

const MODEL: Column =
    Column { along: along!("model"), plain: " AND model = ", hidden: " AND COALESCE(t.model, '') = ", is_wide: true };

const TOOL: Column = Column {
    along: along!("tool"),
    plain: " AND tool_name = ",
    hidden: " AND COALESCE(t.tool_name, '') = ",
    is_wide: false,
};

/// The other indexes have the name of the tool, which says whose it is.
const SERVER: Column = Column {
    along: along!("server"),
    plain: " AND server = ",
    hidden: " AND COALESCE(CASE WHEN INSTR(t.tool_name, '__') > 1 \
         THEN SUBSTR(t.tool_name, 1, INSTR(t.tool_name, '__') - 1) ELSE '' END, '') = ",
    is_wide: false,
};

/// What a column has to be.
#[derive(Clone, Debug)]
struct Equal {
    column: Column,
    value: Value,
}

/// Which calls are asked for, by the keys of what the filter names.
#[derive(Clone, Debug)]
pub(in crate::book) struct Condition {
    /// What the index begins with.
    leading: Option<Equal>,
    /// What else is equal to something.
    equal: Vec<Equal>,
    since: Option<DateTime<Utc>>,
    until: Option<DateTime<Utc>>,
    slow: Option<Slow>,
    words: Vec<Pattern>,
    /// Whether no call can be so.
    is_impossible: bool,
}

impl Condition {
    /// What `filter` asks for, whose names stand for these keys.
    pub(in crate::book) fn new(
        filter: &Filter,
        user: Option<UserId>,
        conversation: Option<ConversationId>,
        now: DateTime<Utc>,
    ) -> Self {
        let text = |value: Option<&String>| value.cloned().map(Value::Text);
        let status = |is_wanted: fn(ToolCallStatus) -> bool| {
            filter.status.filter(|status| is_wanted(*status)).map(|status| Value::Text(status.as_str().to_owned()))
        };
        // The name of a tool says whose it is.
        let named = filter.tool.as_deref().map(server_of);
        let server = filter.server.as_ref().filter(|_| named.is_none());
        // What leaves the least comes first, and of what leaves alike that which has a wide index.
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
            words: filter.words.iter().map(|word| Pattern::new(word)).collect(),
            is_impossible: filter.server.as_deref().zip(named).is_some_and(|(server, named)| server != named),
        }
    }

    /// Before this time.
    pub(in crate::book) fn until(&self) -> Option<DateTime<Utc>> {
        self.until
    }

    /// Whether no call can be so: its tool is another server's.
    pub(in crate::book) fn is_impossible(&self) -> bool {
        self.is_impossible
    }

    /// Whether texts are searched.
    pub(in crate::book) fn has_words(&self) -> bool {
        !self.words.is_empty()
    }

    /// Whether the index that begins with what it names tells all that it says.
    pub(super) fn is_told_by_index(&self) -> bool {
        !self.has_words() && self.leading.as_ref().is_some_and(|leading| leading.column.is_wide)
    }

    /// Whether it leaves out anything but by time.
    pub(in crate::book) fn names_something(&self) -> bool {
        self.leading.is_some() || self.since.is_some() || self.until.is_some()
    }

    /// The calls along the index of what leaves the least, and what that begins with.
    pub(super) fn along_index(&self) -> Sql {
        match &self.leading {
            Some(Equal { column, value }) => Sql::new(column.along).text(column.plain).value(value.clone()),
            None => Sql::new(BY_TIME),
        }
    }

    /// Where the time begins, along an index of times.
    pub(super) fn not_before(&self) -> Sql {
        self.since.map_or_else(Sql::default, |since| Sql::new(" AND started_at >= ").value(since))
    }

    /// Where it ends.
    pub(super) fn not_after(&self) -> Sql {
        self.until.map_or_else(Sql::default, |until| Sql::new(" AND started_at < ").value(until))
    }

    /// The same along the index of each thing it names, this one first; nothing where there is no choice.
    pub(super) fn ways(&self) -> Vec<Self> {
        let Some(leading) = self.leading.as_ref().filter(|_| !self.equal.is_empty()) else { return Vec::new() };
        let others = self.equal.iter().enumerate().map(|(place, other)| {
            let mut way = Self { leading: Some(other.clone()), ..self.clone() };
            way.equal[place] = leading.clone();
            way
        });
        std::iter::once(self.clone()).chain(others).collect()
    }

    /// How long calls took, along the index of durations.
    pub(super) fn along_durations(&self) -> Option<Sql> {
        self.slow.map(|slow| match slow {
            Slow::Longer(ms) => Sql::new(" AND duration_ms > ").value(ms),
            Slow::Shorter(ms) => Sql::new(" AND duration_ms < ").value(ms),
        })
    }

    /// All that is not said by the index and the time, of calls `t`.
    pub(super) fn rest(&self) -> Sql {
        let mut rest = Sql::default();
        for Equal { column, value } in &self.equal {
            rest = rest.text(column.hidden).value(value.clone());
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

    /// Everything, for calls `t` that are gone along in another order.
    pub(super) fn all(&self) -> Sql {
        let mut all = Sql::default();
        if let Some(Equal { column, value }) = &self.leading {
            all = all.text(column.hidden).value(value.clone());
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

/// The server in the name of a tool, as the column `server` has it.
fn server_of(tool: &str) -> &str {
    match tool.find("__") {
        Some(end) if end > 0 => &tool[..end],
        _ => "",
    }
}

/// The key of a person.
pub(in crate::book) async fn find_user(db: &Database, name: &str) -> sqlx::Result<Option<UserId>> {
    db.reader().query(select!(FIND_USER)).bind(name).fetch_optional_value().await
}

/// The key of a conversation, and whose it is.
pub(in crate::book) async fn find_conversation(
    db: &Database,
    uuid: &str,
) -> sqlx::Result<Option<(ConversationId, UserId)>> {
    db.reader().query(select!(FIND_CONVERSATION)).bind(uuid).fetch_optional().await
}
