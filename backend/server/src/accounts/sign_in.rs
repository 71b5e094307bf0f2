//! Signing in, and what keeps others from guessing.

use chrono::{DateTime, Utc};
use tallybook_database::now;

use super::{
    Accounts, AccountsError, Browser, Caller, NewSession, Password, UserId,
    limits::ATTEMPTS_REMEMBERED,
    names::spellings,
    secret::SecretHash,
    service::with_retries,
    store::{attempts, is_taken, known_browsers, users::PasswordRow},
    throttle::Subject,
};

impl Accounts {
    /// Signs somebody in with a new session, in the place of the one that the browser had. The answer is the same, and takes
    /// as long, whether the name or the password is wrong.
    pub(crate) async fn sign_in(
        &self,
        name: &str,
        password: Password,
        browser: Browser,
        before: Option<&Caller>,
    ) -> Result<NewSession, AccountsError> {
        let found = self.find_by_name(name).await?;
        let user = found.as_ref().map(|row| row.id);
        let subjects = self.subjects(name, user, &browser).await?;
        for subject in &subjects {
            self.count_attempt(subject).await?;
        }
        let outcome = self.check(found, password).await;
        if matches!(outcome, Err(AccountsError::WrongNameOrPassword | AccountsError::Deactivated)) {
            self.note_failed_sign_in(user, browser.address).await;
        }
        let user = outcome?;
        let (db, address) = (&self.context.db, Subject::address(browser.address));
        for subject in &subjects {
            if subject.hash == address.hash {
                // Its other failures stay: an attacker may have an account, too.
                attempts::forgive(db, subject).await?;
            } else {
                attempts::forget(db, subject).await?;
            }
        }
        self.open_session(user, browser, before).await
    }

    /// Lists the counters of an attempt: only the browser's if the user signed in there before, so that failures of strangers
    /// do not lock the user out.
    async fn subjects(
        &self,
        name: &str,
        user: Option<UserId>,
        browser: &Browser,
    ) -> Result<Vec<Subject>, AccountsError> {
        let token = browser.token.as_deref().and_then(SecretHash::of_token);
        if let (Some(user), Some(token)) = (user, token)
            && known_browsers::is_known(&self.context.db, &token, user).await?
        {
            return Ok(vec![Subject::browser(&token)]);
        }
        // Names that are too long share one counter.
        let name = spellings(name).pop().unwrap_or_default();
        let address = browser.address;
        Ok(vec![Subject::address(address), Subject::name_from(&name, address), Subject::name(&name)])
    }

    /// The user of the account, if the password is right.
    async fn check(&self, found: Option<PasswordRow>, password: Password) -> Result<UserId, AccountsError> {
        let hash = found.as_ref().and_then(|row| row.password_hash.clone());
        let is_right = self.context.hasher.verify(password, hash).await?;
        match found.filter(|row| is_right && row.deleted_at.is_none()) {
            // Only a correct password reveals that.
            Some(row) if row.deactivated_at.is_some() => Err(AccountsError::Deactivated),
            Some(row) => Ok(row.id),
            None => Err(AccountsError::WrongNameOrPassword),
        }
    }

    /// Counts an attempt as a failure until it is known to be none, so that many at once are not more than one after the
    /// other.
    pub(super) async fn count_attempt(&self, subject: &Subject) -> Result<(), AccountsError> {
        let refused_until = match with_retries(|| self.count_once(subject)).await {
            // Another one has just made the row.
            Err(AccountsError::Storage(error)) if is_taken(&error) => with_retries(|| self.count_once(subject)).await?,
            outcome => outcome?,
        };
        let Some(until) = refused_until else { return Ok(()) };
        let seconds = u64::try_from((until - now()).num_seconds()).unwrap_or(0) + 1;
        Err(AccountsError::TooManyAttempts { retry_after_secs: seconds })
    }

    async fn count_once(&self, subject: &Subject) -> Result<Option<DateTime<Utc>>, AccountsError> {
        let mut tx = self.context.db.begin().await?;
        let refused_until = attempts::count(&mut tx, subject, now() - ATTEMPTS_REMEMBERED).await?;
        tx.commit().await?;
        Ok(refused_until)
    }
}
