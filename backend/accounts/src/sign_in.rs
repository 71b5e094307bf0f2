//! Signs users in with a password, and delays attempts to guess one.

use tallybook_database::{is_unique_violation, now};

use super::{
    Accounts, AccountsError, Browser, Caller, NewSession, Password, UserId,
    limits::ATTEMPT_RETENTION,
    names::spellings,
    secret::SecretHash,
    service::with_retries,
    store::{
        attempts::{self, CountOutcome, CountedAttempt},
        known_browsers,
        users::PasswordRow,
    },
    throttle::Subject,
};

impl Accounts {
    /// Signs a user in with a new session, which replaces the browser's previous session `before`. The error is the
    /// same, and takes as long, whether the name or the password is wrong.
    pub async fn sign_in(
        &self,
        name: &str,
        password: Password,
        browser: Browser,
        before: Option<&Caller>,
    ) -> Result<NewSession, AccountsError> {
        let found = self.find_by_name(name).await?;
        let user = found.as_ref().map(|row| row.id);
        let subjects = self.subjects(name, user, &browser).await?;
        let mut counted = Vec::with_capacity(subjects.len());
        for subject in &subjects {
            counted.push(self.count_attempt(subject).await?);
        }
        let outcome = self.check(found, password).await;
        if matches!(outcome, Err(AccountsError::WrongNameOrPassword | AccountsError::Deactivated)) {
            self.note_failed_sign_in(user, browser.address).await;
        }
        let user = outcome?;
        let (db, address) = (&self.context.db, Subject::address(browser.address));
        for (subject, attempt) in subjects.iter().zip(&counted) {
            if subject.hash == address.hash {
                // Removes only this attempt. An attacker with an account could otherwise reset the failures of the
                // address.
                attempts::forgive(db, subject, attempt).await?;
            } else {
                attempts::forget(db, subject).await?;
            }
        }
        self.open_session(user, browser, before).await
    }

    /// Lists the counters of an attempt. If the user signed in with this browser before, only the browser's counter
    /// applies, so that failed attempts of others do not lock the user out.
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

    /// Checks the password and returns the user. Fails with `WrongNameOrPassword` also if the account does not exist or
    /// is deleted, and with `Deactivated` only if the password is correct.
    async fn check(&self, found: Option<PasswordRow>, password: Password) -> Result<UserId, AccountsError> {
        let hash = found.as_ref().and_then(|row| row.password_hash.clone());
        let is_right = self.context.hasher.verify(password, hash).await?;
        match found.filter(|row| is_right && row.deleted_at.is_none()) {
            // Only a caller with the correct password learns that the account is deactivated.
            Some(row) if row.deactivated_at.is_some() => Err(AccountsError::Deactivated),
            Some(row) => Ok(row.id),
            None => Err(AccountsError::WrongNameOrPassword),
        }
    }

    /// Counts an attempt as a failure before its outcome is known, so that concurrent attempts are limited like
    /// sequential ones. Fails with `TooManyAttempts` while the subject is delayed.
    pub(crate) async fn count_attempt(&self, subject: &Subject) -> Result<CountedAttempt, AccountsError> {
        let outcome = match with_retries(|| self.count_once(subject)).await {
            // A concurrent attempt has just created the row.
            Err(AccountsError::Storage(error)) if is_unique_violation(&error) => {
                with_retries(|| self.count_once(subject)).await?
            }
            outcome => outcome?,
        };
        match outcome {
            CountOutcome::Counted(attempt) => Ok(attempt),
            CountOutcome::Blocked { until } => {
                let seconds = u64::try_from((until - now()).num_seconds()).unwrap_or(0) + 1;
                Err(AccountsError::TooManyAttempts { retry_after_secs: seconds })
            }
        }
    }

    async fn count_once(&self, subject: &Subject) -> Result<CountOutcome, AccountsError> {
        let mut tx = self.context.db.begin().await?;
        let outcome = attempts::count(&mut tx, subject, now() - ATTEMPT_RETENTION).await?;
        tx.commit().await?;
        Ok(outcome)
    }
}
