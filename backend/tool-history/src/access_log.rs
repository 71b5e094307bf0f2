//! Access log of admins: opening another user's data requires a reason, which is valid for one hour. That user can see
//! the record.

use std::collections::HashSet;

use chrono::{DateTime, TimeDelta, Utc};
use tallybook_accounts::{Caller, Credential, UserId};
use tallybook_database::now;
use tallybook_protocol::{AccessKind, AccessRecord, Page, ToolCallId};
use uuid::Uuid;

use super::{
    ToolHistory, ToolHistoryError,
    filter::Filter,
    limits::{MAX_CHANGES_LISTED, MAX_REASON_CHARS, REASON_LIFETIME, RECORDS_PER_PAGE},
    store::{
        access_log::{self, ALL_USERS, AccessRow, Action},
        calls::CallRow,
        details,
    },
};

/// The data that a user wants to open.
#[derive(Clone, Debug)]
pub enum Subject {
    /// One call.
    Call(ToolCallId),
    /// One conversation.
    Conversation(Uuid),
    /// All calls that match a filter.
    Calls(Filter),
}

impl ToolHistory {
    /// Records the reason for an access. It is valid for one hour, for all data of the same user.
    pub async fn give_reason(&self, caller: &Caller, subject: &Subject, reason: &str) -> Result<(), ToolHistoryError> {
        let reason = reason.trim();
        if reason.is_empty() || reason.chars().count() > MAX_REASON_CHARS {
            return Err(ToolHistoryError::NoReason);
        }
        let owner = self.owner_of(subject).await?;
        if owner != caller.user {
            access_log::create(&self.context.db, caller.user, owner, Action::ReasonGiven, "", reason).await?;
        }
        Ok(())
    }

    async fn owner_of(&self, subject: &Subject) -> Result<UserId, ToolHistoryError> {
        let db = &self.context.db;
        Ok(match subject {
            &Subject::Call(id) => details::find_call(db, id).await?.ok_or(ToolHistoryError::NoSuchCall)?.user_id,
            Subject::Conversation(uuid) => {
                let found = details::find_conversation(db, &uuid.to_string()).await?;
                found.ok_or(ToolHistoryError::NoSuchConversation)?.user_id
            }
            Subject::Calls(filter) => self.resolve(filter).await?.1,
        })
    }

    /// Records a text search. Returns an error if it needs a reason and the caller gave none.
    pub(crate) async fn record_search(
        &self,
        caller: &Caller,
        owner: UserId,
        filter: &Filter,
    ) -> Result<(), ToolHistoryError> {
        self.record_access(caller, owner, Action::CallsSearched, &filter.to_string()).await
    }

    /// Records an export. Returns an error if it needs a reason and the caller gave none.
    pub(crate) async fn record_export(
        &self,
        caller: &Caller,
        owner: UserId,
        filter: &Filter,
    ) -> Result<(), ToolHistoryError> {
        self.record_access(caller, owner, Action::CallsExported, &filter.to_string()).await
    }

    /// Records an access to the data of `owner`. Returns an error if the caller has given no valid reason. Access to
    /// the caller's own data needs no reason and is not recorded.
    pub(crate) async fn record_access(
        &self,
        caller: &Caller,
        owner: UserId,
        action: Action,
        subject: &str,
    ) -> Result<(), ToolHistoryError> {
        if owner == caller.user {
            return Ok(());
        }
        let db = &self.context.db;
        let Some(reason) = access_log::find_reason(db, caller.user, owner, now() - REASON_LIFETIME).await? else {
            if owner == ALL_USERS && caller.name.is_none() {
                // Without accounts, all data belongs to the caller.
                return Ok(());
            }
            let owner = if owner == ALL_USERS { None } else { details::find_user_name(db, owner).await? };
            return Err(ToolHistoryError::NeedsReason { owner });
        };
        Ok(access_log::create_once(db, caller.user, owner, action, subject, &reason).await?)
    }

    /// Removes the inputs of other users' calls, unless the caller gave a reason for the owner or for all users.
    pub(crate) async fn withhold_inputs(&self, caller: &Caller, rows: &mut [CallRow]) -> Result<(), ToolHistoryError> {
        let others: HashSet<UserId> =
            rows.iter().map(|row| row.user_id).filter(|owner| *owner != caller.user).collect();
        if others.is_empty() {
            return Ok(());
        }
        let owners: Vec<UserId> = others.into_iter().chain([ALL_USERS]).collect();
        let since = now() - REASON_LIFETIME;
        let given = access_log::list_with_reason(&self.context.db, caller.user, &owners, since).await?;
        let is_shown = |owner| owner == caller.user || given.contains(&owner) || given.contains(&ALL_USERS);
        for row in rows.iter_mut().filter(|row| !is_shown(row.user_id)) {
            row.input_start = None;
        }
        Ok(())
    }

    /// Lists the access to a user's data, newest first. `cursor` is the value from the previous page.
    pub async fn list_access(
        &self,
        user: UserId,
        cursor: Option<&str>,
    ) -> Result<Page<AccessRecord>, ToolHistoryError> {
        let before = match cursor {
            Some(cursor) => read_cursor(cursor).ok_or(ToolHistoryError::BadCursor)?,
            None => (now() + TimeDelta::days(1), i64::MAX),
        };
        let limit = u32::try_from(RECORDS_PER_PAGE).unwrap_or(u32::MAX);
        let rows = access_log::list(&self.context.db, user, before, limit).await?;
        let last = rows.last().filter(|_| rows.len() == RECORDS_PER_PAGE);
        let next_cursor = last.map(|row| format!("{}.{}", row.created_at.timestamp_micros(), row.id));
        Ok(Page { items: rows.into_iter().map(into_record).collect(), next_cursor })
    }

    /// Lists the changes to the caller's account that the caller neither made nor acknowledged, newest first. Empty for
    /// API keys, which cannot read the access log, and on a server without accounts.
    pub async fn list_account_changes(&self, caller: &Caller) -> Result<Vec<AccessRecord>, ToolHistoryError> {
        self.list_unseen(caller, MAX_CHANGES_LISTED).await
    }

    /// Returns `true` if `list_account_changes` would return any entries.
    pub async fn has_account_changes(&self, caller: &Caller) -> Result<bool, ToolHistoryError> {
        Ok(!self.list_unseen(caller, 1).await?.is_empty())
    }

    async fn list_unseen(&self, caller: &Caller, limit: u32) -> Result<Vec<AccessRecord>, ToolHistoryError> {
        if caller.name.is_none() || matches!(caller.credential, Credential::Key(_)) {
            return Ok(Vec::new());
        }
        let rows = access_log::list_unseen_changes(&self.context.db, caller.user, limit).await?;
        Ok(rows.into_iter().map(into_record).collect())
    }

    /// Acknowledges the entries of a user's access log up to `id`. An acknowledgment cannot be undone.
    pub async fn acknowledge_access(&self, user: UserId, id: i64) -> Result<(), ToolHistoryError> {
        Ok(access_log::set_seen(&self.context.db, user, id).await?)
    }
}

fn read_cursor(cursor: &str) -> Option<(DateTime<Utc>, i64)> {
    let (micros, id) = cursor.split_once('.')?;
    let time = DateTime::from_timestamp_micros(micros.parse().ok()?)?;
    let range = DateTime::UNIX_EPOCH + TimeDelta::days(1)..=now() + TimeDelta::days(1);
    Some((Some(time).filter(|time| range.contains(time))?, id.parse().ok()?))
}

fn into_record(row: AccessRow) -> AccessRecord {
    let AccessRow { id, name, action, subject, reason, created_at } = row;
    let kind = AccessKind::from(action);
    let is = |wanted| kind == wanted;
    AccessRecord {
        id,
        kind,
        by: name.unwrap_or_default(),
        reason: reason.unwrap_or_default(),
        tool_call_id: subject.parse().ok().filter(|_| is(AccessKind::CallOpened)).map(ToolCallId),
        conversation_uuid: subject.parse().ok().filter(|_| is(AccessKind::ConversationOpened)),
        filter: Some(subject).filter(|_| is(AccessKind::CallsSearched) || is(AccessKind::CallsExported)),
        created_at,
    }
}
