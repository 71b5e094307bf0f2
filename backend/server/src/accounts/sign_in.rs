//! Signing in, and what keeps others from guessing.

use chrono::{DateTime, Utc};

use super::{
    Accounts, AccountsError, Browser, Caller, NewSession, Password, UserId,
    limits::ATTEMPTS_REMEMBERED,
    names::UserName,
    service::with_retries,
    store::{attempts, is_taken, users},
    throttle::Subject,
};
use crate::db::now;

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
        let address = Subject::address(browser.address);
        self.count_attempt(&address).await?;
        // What can be nobody's name counts as a name that nobody has.
        let name = UserName::parse(name).ok();
        let tried = Subject::name(name.as_ref().map_or("", UserName::as_str));
        self.count_attempt(&tried).await?;
        let user = self.check(name.as_ref(), password).await?.ok_or(AccountsError::WrongNameOrPassword)?;
        let db = &self.context.db;
        attempts::forget(db, &tried).await?;
        // Its other failures stay: whoever guesses may well have an account, too.
        attempts::forgive(db, &address).await?;
        self.open_session(user, browser, before).await
    }

    /// Whose name and password these are.
    async fn check(&self, name: Option<&UserName>, password: Password) -> Result<Option<UserId>, AccountsError> {
        let row = match name {
            Some(name) => users::find_password(&self.context.db, name.as_str()).await?,
            None => None,
        };
        let (who, hash) = match row {
            Some(row) => (row.deactivated_at.is_none().then_some(row.id), row.password_hash),
            None => (None, None),
        };
        let is_right = self.context.hasher.verify(password, hash).await?;
        Ok(who.filter(|_| is_right))
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
