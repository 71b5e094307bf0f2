//! Streams end when their reader's rights do: at sign-out, when a key is revoked, when an account is deactivated or gets
//! another role. One task for each process asks the database about all sessions and keys that have open streams, so it
//! holds whichever replica did it; and only while there are any.

use std::collections::HashSet;
use tallybook_database::Database;

use tokio::time::timeout;

use super::{
    Accounts, Caller, Credential,
    limits::{WATCH_EVERY, WATCHED_AT_ONCE},
    store::{keys, sessions},
    streams::{OpenStream, Right},
};

impl Accounts {
    /// Notes that somebody reads a stream. Nobody's rights end on a server without accounts.
    pub(crate) fn open_stream(&self, caller: &Caller) -> Option<OpenStream> {
        let is_known = caller.credential != Credential::Local;
        is_known.then(|| self.context.streams.open((caller.credential, caller.generation)))
    }

    /// Ends the streams of those whose rights are over, for ever.
    pub(crate) async fn watch_streams(self) {
        let streams = &self.context.streams;
        loop {
            let rights = streams.rights();
            if rights.is_empty() {
                streams.look.notified().await;
                continue;
            }
            match list_over(&self.context.db, &rights).await {
                Ok(over) => streams.end(&over),
                // Nobody can sign out either while the database is out of reach.
                Err(error) => tracing::debug!(%error, "who reads open streams could not be looked at"),
            }
            // Done early when there is something to look at.
            let _ = timeout(WATCH_EVERY, streams.look.notified()).await;
        }
    }
}

/// Those of the rights that are over.
async fn list_over(db: &Database, rights: &[Right]) -> sqlx::Result<Vec<Right>> {
    let mut good = HashSet::new();
    let ids = |id_of: fn(Credential) -> Option<i64>| -> Vec<i64> {
        let ids: HashSet<i64> = rights.iter().filter_map(|(credential, _)| id_of(*credential)).collect();
        ids.into_iter().collect()
    };
    let of_session = |credential| if let Credential::Session(id) = credential { Some(id) } else { None };
    let of_key = |credential| if let Credential::Key(id) = credential { Some(id) } else { None };
    for ids in ids(of_session).chunks(WATCHED_AT_ONCE) {
        let found = sessions::list_good(db, ids).await?;
        good.extend(found.into_iter().map(|(id, generation)| (Credential::Session(id), generation)));
    }
    for ids in ids(of_key).chunks(WATCHED_AT_ONCE) {
        let found = keys::list_good(db, ids).await?;
        good.extend(found.into_iter().map(|(id, generation)| (Credential::Key(id), generation)));
    }
    Ok(rights.iter().filter(|right| !good.contains(*right)).copied().collect())
}
