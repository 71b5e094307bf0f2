//! Produces each user's feed: events about conversations, for sidebars and idle tabs. The events are the difference
//! between two states of the newest conversations. So the feed is correct whichever process made a change, even if that
//! process died halfway. States are read once for all clients of a user, and only while there are clients.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_database::Database;
use tallybook_protocol::{FeedEvent, FeedKind};

use crate::{
    ServiceError,
    context::Context,
    feeds::{FeedReader, UserFeed},
    limits::MAX_PINNED,
    store::{
        ConversationId,
        conversations::{self, ListCursor, ListFilter},
        rows::ConversationRow,
    },
};

/// Interval at which states are read to find changes by other processes. Changes by this process are noticed at once.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Subscribes to changes of a user's conversations, until the reader is dropped or the server drains. The feed may also
/// report slightly earlier changes.
pub(crate) async fn watch(context: &Arc<Context>, user: UserId) -> Result<FeedReader, ServiceError> {
    let (feed, reader) = context.feeds.join(user);
    // A second reader also waits for the first state: all changes after that are reported.
    feed.began.get_or_try_init(|| begin(context, user, &feed)).await?;
    Ok(reader)
}

async fn begin(context: &Arc<Context>, user: UserId, feed: &Arc<UserFeed>) -> Result<(), ServiceError> {
    // The feed exists already and receives announcements, so no change is missed in between.
    let first = ListState::take(&context.db, user, None).await?;
    context.spawn_until_draining(keep_watching(Arc::clone(context), user, first, Arc::clone(feed)));
    Ok(())
}

async fn keep_watching(context: Arc<Context>, user: UserId, mut last: ListState, feed: Arc<UserFeed>) {
    loop {
        tokio::select! {
            () = feed.unread() => {
                if context.feeds.forget(user, &feed) {
                    return;
                }
            }
            () = feed.changed() => {}
            // Only this process changes an embedded database.
            () = tokio::time::sleep(POLL_INTERVAL), if !context.db.is_embedded() => {}
        }
        let state = match ListState::take(&context.db, user, Some(&last)).await {
            Ok(state) => state,
            Err(error) => {
                tracing::warn!(%error, "a user's conversations could not be read; closing the user's feeds");
                return;
            }
        };
        let news = state.changes_since(&last);
        if !news.is_empty() {
            feed.publish(news);
        }
        last = state;
    }
}

/// Maximum number of conversations that are watched: the newest. Pinned conversations are watched as well. Changes of
/// other conversations are reported once something is written to them.
const MAX_WATCHED: u32 = 200;

/// The newest conversations at one time, and the pinned ones.
#[derive(Debug)]
struct ListState {
    /// Newest first.
    rows: Vec<ConversationRow>,
    /// Number of rows that are the newest conversations. The rows after these are older pinned conversations, possibly
    /// with gaps in between.
    newest: usize,
    /// Maximum number of newest conversations.
    limit: usize,
    /// Conversations that were pinned in the last state, are not in this one, and still exist.
    unpinned: Vec<ConversationRow>,
}

impl ListState {
    /// Reads the current state. `last` is the previous state, whose pinned conversations are looked up if they are
    /// missing now.
    pub(crate) async fn take(db: &Database, user: UserId, last: Option<&Self>) -> sqlx::Result<Self> {
        let page = async |pinned, place, limit| {
            let filter = ListFilter { pinned, ..ListFilter::default() };
            conversations::list_conversations(db, user, &filter, place, limit).await
        };
        let newest = page(None, ListCursor::before_all(), MAX_WATCHED).await?;
        let limit = MAX_WATCHED as usize;
        let pinned = match newest.last().filter(|_| newest.len() >= limit) {
            Some(row) => page(Some(true), ListCursor { updated_at: row.updated_at, id: row.id }, MAX_PINNED).await?,
            None => Vec::new(),
        };
        let mut state = Self::at(newest, pinned, limit);
        for row in last.map(|last| state.missing_pins(last)).unwrap_or_default() {
            state.unpinned.extend(conversations::find_conversation(db, user, row.summary().uuid).await?);
        }
        Ok(state)
    }

    fn at(newest: Vec<ConversationRow>, pinned: Vec<ConversationRow>, limit: usize) -> Self {
        Self { newest: newest.len(), rows: [newest, pinned].concat(), limit, unpinned: Vec::new() }
    }

    /// Returns the changes since `last`, in the order in which conversations were last written to.
    fn changes_since(&self, last: &Self) -> Vec<FeedEvent> {
        let held: HashMap<ConversationId, &ConversationRow> = last.rows.iter().map(|row| (row.id, row)).collect();
        let mut events = Vec::new();
        for row in self.rows.iter().rev() {
            match held.get(&row.id) {
                Some(held) => {
                    if row.title != held.title {
                        events.push(event(row, FeedKind::ConversationRenamed));
                    }
                    if list_fields(row) != list_fields(held) {
                        events.push(event(row, FeedKind::ConversationUpdated));
                    }
                    push_turn_events(row, Some(held), &mut events);
                }
                // If this conversation had existed then, it would have been in view.
                None if last.edge().is_none_or(|(edge, _)| row.created_at > edge) => {
                    events.push(event(row, FeedKind::ConversationCreated));
                    push_turn_events(row, None, &mut events);
                }
                // A conversation that moved up was written to. A conversation at the bottom came into view because
                // others left.
                None if last.edge().is_none_or(|edge| place(row) > edge) => push_turn_events(row, None, &mut events),
                // If this conversation had been pinned before, it would have been in view.
                None if row.pinned => events.push(event(row, FeedKind::ConversationUpdated)),
                None => {}
            }
        }
        let seen: HashSet<ConversationId> = self.rows.iter().map(|row| row.id).collect();
        let edge = self.edge();
        for row in last.rows.iter().filter(|row| !seen.contains(&row.id)) {
            if edge.is_none_or(|edge| place(row) > edge) {
                events.push(event(row, FeedKind::ConversationDeleted));
            } else if row.pinned {
                events.push(match self.unpinned.iter().find(|unpinned| unpinned.id == row.id) {
                    Some(unpinned) => event(unpinned, FeedKind::ConversationUpdated),
                    None => event(row, FeedKind::ConversationDeleted),
                });
            }
        }
        events
    }

    /// Returns the conversations that were pinned in `last` and are no longer in view: unpinned or deleted. There are
    /// at most as many as can be pinned.
    fn missing_pins<'a>(&self, last: &'a Self) -> Vec<&'a ConversationRow> {
        let is_seen = |row: &&ConversationRow| self.rows.iter().any(|seen| seen.id == row.id);
        last.rows.iter().filter(|row| row.pinned && !is_seen(row)).collect()
    }

    /// Returns the position of the last of the newest conversations, or `None` if no others can follow it.
    fn edge(&self) -> Option<(DateTime<Utc>, ConversationId)> {
        self.rows[..self.newest].last().filter(|_| self.newest >= self.limit).map(place)
    }
}

fn place(row: &ConversationRow) -> (DateTime<Utc>, ConversationId) {
    (row.updated_at, row.id)
}

/// Returns the fields that lists show of a conversation, except its title and whether its turn runs.
fn list_fields(row: &ConversationRow) -> (bool, bool, bool, Option<&str>) {
    (row.pinned, row.archived, row.awaiting_approval, row.model.as_deref())
}

/// Adds events about turns and about the branch that is shown. `held` is the conversation in the last state. A turn
/// changes the head when it begins, so a turn that began and ended in between is reported as well. Selecting a branch
/// changes only the head.
fn push_turn_events(row: &ConversationRow, held: Option<&ConversationRow>, events: &mut Vec<FeedEvent>) {
    let active = held.and_then(ConversationRow::running_message_id);
    let running = row.running_message_id();
    let is_other_turn = running.is_some() && running != active;
    let is_other_head = row.head_message_id != held.and_then(|held| held.head_message_id);
    let is_written_to = held.is_none_or(|held| held.updated_at != row.updated_at);
    // A turn that resumes keeps the head. It may also have ended between the two states.
    let is_same_turn = held.is_some() && running == active;
    let began = is_other_turn || (is_written_to && (is_other_head || is_same_turn));
    if began {
        events.push(event(row, FeedKind::TurnStarted));
    } else if is_other_head {
        events.push(event(row, FeedKind::BranchSelected));
    }
    if running.is_none() && (began || active.is_some()) {
        events.push(event(row, FeedKind::TurnEnded));
    }
}

fn event(row: &ConversationRow, kind: FeedKind) -> FeedEvent {
    let has_title = matches!(kind, FeedKind::ConversationCreated | FeedKind::ConversationRenamed);
    let has_flags = kind == FeedKind::ConversationUpdated;
    FeedEvent {
        conversation_id: row.summary().uuid,
        kind,
        title: has_title.then(|| row.title.clone()),
        pinned: has_flags.then_some(row.pinned),
        archived: has_flags.then_some(row.archived),
        model: row.model.clone().filter(|_| has_flags),
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use tallybook_protocol::{
        FeedKind::{
            self, ConversationCreated as Created, ConversationDeleted as Deleted, ConversationRenamed as Renamed,
            ConversationUpdated as Updated, TurnEnded as Ended, TurnStarted as Started,
        },
        MessageId,
    };
    use uuid::Uuid;

    use crate::list::feed::{ConversationId, ConversationRow, ListState};

    /// ID, title, time of the last write, head, and active turn.
    type Row = (i64, &'static str, i64, Option<i64>, Option<i64>);

    fn state(limit: usize, rows: &[Row]) -> ListState {
        let row = |&(id, title, updated, head_message_id, active_message_id): &Row| ConversationRow {
            id: ConversationId(id),
            uuid: Uuid::from_u128(id.unsigned_abs().into()),
            title: title.to_owned(),
            head_message_id: head_message_id.map(MessageId),
            active_message_id: active_message_id.map(MessageId),
            awaiting_approval: false,
            pinned: false,
            archived: false,
            model: None,
            created_at: DateTime::UNIX_EPOCH,
            updated_at: DateTime::UNIX_EPOCH + TimeDelta::seconds(updated),
        };
        ListState::at(rows.iter().map(row).collect(), Vec::new(), limit)
    }

    fn differences(limit: usize, before: &[Row], after: &[Row]) -> Vec<(u128, FeedKind)> {
        let events = state(limit, after).changes_since(&state(limit, before));
        events.iter().map(|event| (event.conversation_id.as_u128(), event.kind)).collect()
    }

    #[test]
    fn only_changes_are_reported() {
        let before: &[Row] = &[(3, "c", 30, None, None), (2, "b", 20, Some(5), Some(5)), (1, "a", 10, Some(2), None)];
        assert_eq!(differences(9, before, before), []);
        let after: &[Row] = &[(4, "d", 50, Some(9), Some(9)), (2, "b", 40, Some(5), None), (1, "A", 10, Some(2), None)];
        let expected = [(1, Renamed), (2, Ended), (4, Created), (4, Started), (3, Deleted)];
        assert_eq!(differences(9, before, after), expected);
    }

    #[test]
    fn a_turn_between_two_snapshots_and_a_resumed_turn_are_reported() {
        let before: &[Row] = &[(1, "a", 10, Some(2), None)];
        assert_eq!(differences(9, before, &[(1, "a", 11, Some(4), None)]), [(1, Started), (1, Ended)]);
        assert_eq!(differences(9, before, &[(1, "a", 11, Some(2), Some(2))]), [(1, Started)]);
        assert_eq!(
            differences(9, &[(1, "a", 11, Some(2), Some(2))], &[(1, "a", 12, Some(4), Some(4))]),
            [(1, Started)]
        );
    }

    #[test]
    fn a_waiting_turn_is_reported_as_ended_and_as_started_again() {
        let running = state(9, &[(1, "a", 10, Some(2), Some(2))]);
        let mut waiting = state(9, &[(1, "a", 11, Some(2), Some(2))]);
        waiting.rows[0].awaiting_approval = true;
        let later = state(9, &[(1, "a", 12, Some(2), Some(2))]);
        let kinds = |before: &ListState, after: &ListState| -> Vec<FeedKind> {
            after.changes_since(before).iter().map(|event| event.kind).collect()
        };
        assert_eq!(kinds(&running, &waiting), [Updated, Ended]);
        assert_eq!(kinds(&waiting, &waiting), []);
        assert_eq!(kinds(&waiting, &later), [Updated, Started]);
        assert_eq!(kinds(&waiting, &state(9, &[(1, "a", 12, Some(2), None)])), [Updated, Started, Ended]);
    }

    #[test]
    fn selecting_another_branch_is_reported_and_is_not_a_turn() {
        let before: &[Row] = &[(1, "a", 10, Some(4), None)];
        assert_eq!(differences(9, before, &[(1, "a", 10, Some(2), None)]), [(1, FeedKind::BranchSelected)]);
    }

    #[test]
    fn leaving_the_snapshot_is_not_a_deletion_and_entering_it_is_not_a_creation() {
        let before: &[Row] = &[(3, "c", 30, None, None), (2, "b", 20, None, None)];
        // Conversation 1 is older than those in view. First it is written to; then 3 is deleted and makes room.
        assert_eq!(
            differences(2, before, &[(1, "a", 40, Some(9), None), (3, "c", 30, None, None)]),
            [(1, Started), (1, Ended)]
        );
        let after: &[Row] = &[(2, "b", 20, None, None), (1, "a", 10, Some(9), None)];
        assert_eq!(differences(2, before, after), [(3, Deleted)]);
    }

    #[test]
    fn pins_of_conversations_older_than_the_list_are_reported() {
        let newest: &[Row] = &[(3, "c", 30, None, None), (2, "b", 20, None, None)];
        let with_pinned = |pinned: &[Row]| {
            let mut pinned = state(9, pinned).rows;
            for row in &mut pinned {
                row.pinned = true;
            }
            ListState::at(state(2, newest).rows, pinned, 2)
        };
        let kinds = |before: &ListState, after: &ListState| -> Vec<_> {
            let events = after.changes_since(before);
            events.iter().map(|event| (event.conversation_id.as_u128(), event.kind, event.pinned)).collect()
        };
        let (none, one) = (with_pinned(&[]), with_pinned(&[(1, "a", 10, None, None)]));
        assert_eq!(kinds(&none, &one), [(1, Updated, Some(true))]);
        assert_eq!(kinds(&one, &none), [(1, Deleted, None)]);
        let unpinned = ListState { unpinned: state(9, &[(1, "a", 10, None, None)]).rows, ..with_pinned(&[]) };
        assert_eq!(kinds(&one, &unpinned), [(1, Updated, Some(false))]);
        assert_eq!(kinds(&one, &with_pinned(&[(1, "A", 10, None, None)])), [(1, Renamed, None)]);
        assert_eq!(kinds(&one, &one), []);
    }
}
