//! Records refusals in the audit log: failed sign-ins, and requests for which the user lacks permission. Any client can
//! cause them, so the audit log takes each at most once per interval.

use std::net::IpAddr;

use tallybook_database::now;

use super::{
    Accounts, Caller, UserId,
    limits::{MAX_REFUSALS_LOGGED, REFUSAL_LOG_INTERVAL},
    store::{
        audit::{self, Action},
        users::NO_USER,
    },
};

impl Accounts {
    /// Records a failed sign-in to the account of `user`; `None` if no account has the name. The name itself is not
    /// recorded: users enter passwords there by mistake.
    pub(crate) async fn note_failed_sign_in(&self, user: Option<UserId>, address: IpAddr) {
        let address = address.to_canonical().to_string();
        tracing::warn!(user = user.map(|user| user.0), address, "sign-in failed");
        self.note_rarely(None, user.unwrap_or(NO_USER), Action::SignInFailed, &address).await;
    }

    /// Records that a request, such as `GET /api/users`, was refused because the user lacks permission.
    pub async fn note_refused_request(&self, caller: &Caller, request: &str) {
        tracing::warn!(user = caller.user.0, request, "request refused: the user lacks permission");
        self.note_rarely(Some(caller.user), caller.user, Action::RequestRefused, request).await;
    }

    async fn note_rarely(&self, actor: Option<UserId>, user: UserId, action: Action, subject: &str) {
        let (db, since) = (&self.context.db, now() - REFUSAL_LOG_INTERVAL);
        let noted = audit::note_rarely(db, actor, user, action, subject, (since, MAX_REFUSALS_LOGGED)).await;
        // The refusal itself does not depend on its record.
        if let Err(error) = noted {
            tracing::warn!(%error, "cannot record a refused request");
        }
    }
}
