//! Ends open streams when their caller's access ends: when the session or API key is ended, is revoked or expires, or
//! when the account is deactivated or its role changes. One task per process polls the database for all sessions and
//! API keys with open streams, so it detects changes on any replica. It polls only while streams are open.

use std::collections::HashSet;

use tallybook_database::Database;
use tokio::time::timeout;

use super::{
    Accounts, Caller, Credential,
    limits::{CALLERS_PER_STATEMENT, POLL_INTERVAL},
    revocable_streams::{Access, OpenStream},
    store::{keys, sessions},
};

impl Accounts {
    /// Registers an open stream of the caller. Returns `None` on a server without accounts, where access is never
    /// revoked.
    pub fn open_stream(&self, caller: &Caller) -> Option<OpenStream> {
        let is_known = caller.credential != Credential::Local;
        is_known.then(|| self.context.streams.open((caller.credential, caller.generation)))
    }

    /// Ends the streams of callers whose access was revoked. Never returns.
    pub async fn watch_streams(self) {
        let streams = &self.context.streams;
        loop {
            let accesses = streams.accesses();
            if accesses.is_empty() {
                streams.check_requested.notified().await;
                continue;
            }
            match list_revoked(&self.context.db, &accesses).await {
                Ok(revoked) => streams.end(&revoked),
                // No warning: while the database is unreachable, no access can be revoked either.
                Err(error) => tracing::debug!(%error, "cannot check whether callers of open streams still have access"),
            }
            // Stops waiting early if access was revoked here or a stream was opened.
            let _ = timeout(POLL_INTERVAL, streams.check_requested.notified()).await;
        }
    }
}

/// Returns those of `accesses` that were revoked.
async fn list_revoked(db: &Database, accesses: &[Access]) -> sqlx::Result<Vec<Access>> {
    let mut valid = HashSet::new();
    let ids = |id_of: fn(Credential) -> Option<i64>| -> Vec<i64> {
        let ids: HashSet<i64> = accesses.iter().filter_map(|(credential, _)| id_of(*credential)).collect();
        ids.into_iter().collect()
    };
    let of_session = |credential| if let Credential::Session(id) = credential { Some(id) } else { None };
    let of_key = |credential| if let Credential::Key(id) = credential { Some(id) } else { None };
    for ids in ids(of_session).chunks(CALLERS_PER_STATEMENT) {
        let found = sessions::list_valid(db, ids).await?;
        valid.extend(found.into_iter().map(|(id, generation)| (Credential::Session(id), generation)));
    }
    for ids in ids(of_key).chunks(CALLERS_PER_STATEMENT) {
        let found = keys::list_valid(db, ids).await?;
        valid.extend(found.into_iter().map(|(id, generation)| (Credential::Key(id), generation)));
    }
    Ok(accesses.iter().filter(|access| !valid.contains(*access)).copied().collect())
}
