//! What a filter asks for, as SQL. The database goes along one index, in its order; whatever else is asked for is looked at
//! call by call. It is not left to it which that is: engines that know the tables by their statistics take one now and
//! another then, and sort two million rows for the difference.

use chrono::{DateTime, Utc};
use tallybook_protocol::ToolCallStatus;

use super::sql::{Sql, Value};
use crate::{
    accounts::UserId,
    book::filter::{Filter, Slow},
    conversation::ConversationId,
    db::{Database, Pattern, on_db},
};

const FIND_USER: &str = "SELECT id FROM users WHERE name = ?";

const FIND_CONVERSATION: &str = "SELECT id, user_id FROM conversations WHERE uuid = ?";

/// What a column has to be, for each of which there is an index that goes on with the time.
#[derive(Clone, Debug)]
struct Equal {
    /// For the index.
    plain: &'static str,
    /// Hidden from every index.
    hidden: &'static str,
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
}

impl Condition {
    /// What `filter` asks for, whose names stand for these keys.
    pub(in crate::book) fn new(
        filter: &Filter,
        user: Option<UserId>,
        conversation: Option<ConversationId>,
        now: DateTime<Utc>,
    ) -> Self {
        let text = |value: &Option<String>| value.clone().map(Value::Text);
        let status = |is_wanted: fn(ToolCallStatus) -> bool| {
            filter.status.filter(|status| is_wanted(*status)).map(|status| Value::Text(status.as_str().to_owned()))
        };
        // What leaves the least comes first.
        let mut equal: Vec<Equal> = [
            (
                " AND conversation_id = ",
                " AND COALESCE(t.conversation_id, 0) = ",
                conversation.map(|id| Value::Number(id.0)),
            ),
            (" AND user_id = ", " AND COALESCE(t.user_id, 0) = ", user.map(|id| Value::Number(id.0))),
            (" AND status = ", " AND COALESCE(t.status, '') = ", status(|status| status != ToolCallStatus::Success)),
            (" AND tool_name = ", " AND COALESCE(t.tool_name, '') = ", text(&filter.tool)),
            (" AND server = ", " AND COALESCE(t.server, '') = ", text(&filter.server)),
            (" AND model = ", " AND COALESCE(t.model, '') = ", text(&filter.model)),
            (" AND status = ", " AND COALESCE(t.status, '') = ", status(|status| status == ToolCallStatus::Success)),
        ]
        .into_iter()
        .filter_map(|(plain, hidden, value)| Some(Equal { plain, hidden, value: value? }))
        .collect();
        let leading = if equal.is_empty() { None } else { Some(equal.remove(0)) };
        Self {
            leading,
            equal,
            since: filter.since.map(|moment| moment.beginning(now)),
            until: filter.until.map(|moment| moment.end(now)),
            slow: filter.slow,
            words: filter.words.iter().map(|word| Pattern::new(word)).collect(),
        }
    }

    /// Before this time.
    pub(in crate::book) fn until(&self) -> Option<DateTime<Utc>> {
        self.until
    }

    /// Whether it leaves out anything but by time.
    pub(in crate::book) fn names_something(&self) -> bool {
        self.leading.is_some() || self.since.is_some() || self.until.is_some()
    }

    /// What the index that is gone along begins with.
    pub(super) fn along_index(&self) -> Sql {
        self.leading.as_ref().map_or_else(Sql::default, |equal| Sql::new(equal.plain).value(equal.value.clone()))
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
        for Equal { hidden, value, .. } in &self.equal {
            rest = rest.text(hidden).value(value.clone());
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
        if let Some(Equal { hidden, value, .. }) = &self.leading {
            all = all.text(hidden).value(value.clone());
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

/// The key of a person.
pub(in crate::book) async fn find_user(db: &Database, name: &str) -> sqlx::Result<Option<UserId>> {
    on_db!(db, |pool| sqlx::query_scalar(FIND_USER).bind(name).fetch_optional(pool).await)
}

/// The key of a conversation, and whose it is.
pub(in crate::book) async fn find_conversation(
    db: &Database,
    uuid: &str,
) -> sqlx::Result<Option<(ConversationId, UserId)>> {
    on_db!(db, |pool| sqlx::query_as(FIND_CONVERSATION).bind(uuid).fetch_optional(pool).await)
}
