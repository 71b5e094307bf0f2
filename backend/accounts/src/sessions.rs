//! Opens, identifies, lists and ends browser sessions. A session is identified by the secret in the browser's cookie.

use std::net::IpAddr;

use tallybook_database::now;
use tallybook_protocol::{Session, User, first_chars};

use super::{
    Accounts, AccountsError, Caller, Credential, UserId,
    key_revocation::revoke_all,
    limits::{
        ABSOLUTE_LIFETIME, IDLE_LIFETIME, LAST_USED_RESOLUTION, MAX_KNOWN_BROWSERS, MAX_SESSIONS, MAX_USER_AGENT_CHARS,
    },
    secret::{Secret, SecretHash},
    service::with_retries,
    store::{
        audit::{self, Action},
        known_browsers,
        sessions::{self, NewSessionRow},
        users,
    },
};

/// The browser that sent a request, as the request describes it.
#[derive(Clone, Debug)]
pub struct Browser {
    /// IP address of the client.
    pub address: IpAddr,
    /// The header `User-Agent`.
    pub user_agent: String,
    /// Token of a known browser, set at an earlier sign-in.
    pub token: Option<String>,
}

/// A newly opened session.
#[derive(Debug)]
pub struct NewSession {
    /// Secret for the session cookie.
    pub secret: Secret,
    /// Token that identifies the browser at the next sign-in.
    pub browser_token: String,
    /// The signed-in user.
    pub user: User,
}

impl Accounts {
    /// Opens a session with a new secret and ends the browser's previous session `before`. The new secret prevents
    /// session fixation.
    pub(crate) async fn open_session(
        &self,
        user: UserId,
        browser: Browser,
        before: Option<&Caller>,
    ) -> Result<NewSession, AccountsError> {
        let secret = Secret::make()?;
        let new_token = Secret::make()?.expose().to_owned();
        let new = NewSessionRow {
            hash: secret.hash(),
            user,
            expires_at: now() + IDLE_LIFETIME,
            user_agent: first_chars(&browser.user_agent, MAX_USER_AGENT_CHARS).to_owned(),
            address: browser.address.to_canonical().to_string(),
        };
        let shown = browser.token.as_deref();
        let is_known = with_retries(|| self.store_session(&new, shown, &new_token)).await?;
        if let Some(before) = before {
            self.sign_out(before).await?;
        }
        let row = users::find(&self.context.db, user).await?.ok_or(AccountsError::NoSuchUser)?;
        let browser_token = browser.token.filter(|_| is_known).unwrap_or(new_token);
        Ok(NewSession { secret, browser_token, user: row.into() })
    }

    /// Stores a session and records that the user signed in with this browser. Returns `true` if the browser's token
    /// was already known for this user.
    async fn store_session(
        &self,
        new: &NewSessionRow,
        shown: Option<&str>,
        new_token: &str,
    ) -> Result<bool, AccountsError> {
        let mut tx = self.context.db.begin().await?;
        sessions::create(&mut tx, new, MAX_SESSIONS).await?;
        let is_known = match shown.and_then(SecretHash::of_token) {
            Some(token) => known_browsers::seen(&mut tx, &token, new.user).await?,
            None => false,
        };
        if !is_known {
            known_browsers::create(&mut tx, &SecretHash::of_text(new_token), new.user, MAX_KNOWN_BROWSERS).await?;
        }
        audit::note(&mut tx, Some(new.user), new.user, Action::SignedIn, &new.address).await?;
        tx.commit().await?;
        Ok(is_known)
    }

    /// Finds the user of the session with this secret. Returns `None` if no valid session has it. Also renews the
    /// session.
    pub async fn identify_session(&self, shown: &str) -> Result<Option<Caller>, AccountsError> {
        let Some(hash) = SecretHash::of_token(shown) else { return Ok(None) };
        let db = &self.context.db;
        let Some(row) = sessions::find(db, &hash).await? else { return Ok(None) };
        let (id, time) = (row.id, now());
        if row.seen_at.is_none_or(|seen| time - seen >= LAST_USED_RESOLUTION) {
            let expires_at = (time + IDLE_LIFETIME).min(row.created_at + ABSOLUTE_LIFETIME);
            // A failed write is only logged, so that read requests work while the database is read-only.
            if let Err(error) = sessions::seen(db, id, time, expires_at).await {
                tracing::warn!(%error, "cannot store the time of a session's last use");
            }
        }
        Ok(Some(row.into_caller(Credential::Session(id))))
    }

    /// Returns `true` if the session with this secret ended because its account was deactivated. Only the user's own
    /// browser knows the secret.
    pub async fn is_deactivated_session(&self, shown: &str) -> Result<bool, AccountsError> {
        let Some(hash) = SecretHash::of_token(shown) else { return Ok(false) };
        Ok(sessions::is_of_deactivated(&self.context.db, &hash).await?)
    }

    /// Lists the caller's sessions, most recently used first.
    pub async fn list_sessions(&self, caller: &Caller) -> Result<Vec<Session>, AccountsError> {
        let rows = sessions::list(&self.context.db, caller.user).await?;
        let session = |row: sessions::SessionRow| Session {
            id: row.id,
            current: caller.credential == Credential::Session(row.id),
            created_at: row.created_at,
            last_seen_at: row.last_seen_at,
            expires_at: row.expires_at,
            user_agent: row.user_agent,
            address: row.address,
        };
        Ok(rows.into_iter().map(session).collect())
    }

    /// Ends the session with which the caller is authenticated. Does nothing if the caller has no session.
    pub async fn sign_out(&self, caller: &Caller) -> Result<(), AccountsError> {
        let Credential::Session(id) = caller.credential else { return Ok(()) };
        sessions::delete(&self.context.db, caller.user, id).await?;
        self.context.streams.check_now();
        Ok(())
    }

    /// Ends one of the caller's sessions, and records that in the audit log. Fails with `NoSuchSession` if the caller
    /// has no session with this ID.
    pub async fn end_session(&self, caller: &Caller, id: i64) -> Result<(), AccountsError> {
        with_retries(|| self.end_recorded(caller.user, id)).await?;
        self.context.streams.check_now();
        Ok(())
    }

    async fn end_recorded(&self, user: UserId, id: i64) -> Result<(), AccountsError> {
        let mut tx = self.context.db.begin().await?;
        let address = sessions::delete_returning_address(&mut tx, user, id).await?;
        let address = address.ok_or(AccountsError::NoSuchSession)?;
        audit::note(&mut tx, Some(user), user, Action::SessionEnded, &address).await?;
        Ok(tx.commit().await?)
    }

    /// Ends all of the caller's sessions, including the current one. Also revokes the API keys if `revoke_keys` is set.
    pub async fn sign_out_everywhere(&self, caller: &Caller, revoke_keys: bool) -> Result<(), AccountsError> {
        with_retries(|| self.end_all_sessions(caller.user, revoke_keys)).await?;
        self.context.streams.check_now();
        Ok(())
    }

    async fn end_all_sessions(&self, user: UserId, revoke_keys: bool) -> Result<(), AccountsError> {
        let mut tx = self.context.db.begin().await?;
        sessions::delete_all(&mut tx, user).await?;
        if revoke_keys {
            revoke_all(&mut tx, Some(user), user).await?;
        }
        audit::note(&mut tx, Some(user), user, Action::SignedOutEverywhere, "").await?;
        Ok(tx.commit().await?)
    }
}
