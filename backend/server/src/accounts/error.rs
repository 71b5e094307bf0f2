//! Why something about accounts was refused or failed.

use tallybook_database::{TransactionError, storage_failed};
use tokio::task::JoinError;

use super::{
    limits::{MAX_INVITATIONS, MAX_KEYS, MAX_USERS},
    openid::OpenIdError,
};

/// Why something about accounts was refused or failed. The messages are for whoever asked.
#[derive(Debug, thiserror::Error)]
pub enum AccountsError {
    /// The server has no accounts.
    #[error("This server has no accounts: whoever reaches it may do everything. Set ACCOUNTS=on to have them.")]
    Off,
    /// The name or the password is wrong; the answer does not say which.
    #[error("The name or the password is wrong.")]
    WrongNameOrPassword,
    /// Somebody who is signed in gave a password that is not the account's.
    #[error("The current password is wrong.")]
    WrongPassword,
    /// The account has no password that could be given.
    #[error(
        "This account has no password yet. Ask an admin to set one; then you can change it, and delete the account."
    )]
    NoPassword,
    /// The account has a password, and the request does not.
    #[error("Enter the password of this account, to prove that it is yours.")]
    PasswordNeeded,
    /// The account has no password, and the session is too old to prove by itself that the account's owner asks.
    #[error("Prove that this account is yours: sign out, sign in again, and do this within ten minutes.")]
    SignInAgain,
    /// The name and the password are right, and the account is deactivated.
    #[error("This account is deactivated. Ask an admin.")]
    Deactivated,
    /// Somebody did not come in by OpenID Connect.
    #[error(transparent)]
    OpenId(#[from] OpenIdError),
    /// This name, or this address, has failed too often.
    #[error("There were too many attempts. Try again in {retry_after_secs} seconds.")]
    TooManyAttempts {
        /// Seconds until the next attempt may be made.
        retry_after_secs: u64,
    },
    /// More passwords wait to be checked than the server can check.
    #[error("The server has too many sign-ins to check. Try again in a moment.")]
    Busy,
    /// The input breaks a rule.
    #[error("{0}")]
    Invalid(String),
    /// Somebody has the name.
    #[error("Somebody has this name already. Choose another one.")]
    NameTaken,
    /// The name looks like that of another account.
    #[error("This name looks like that of another account. Choose another one.")]
    NameConfusing,
    /// There is no such person.
    #[error("There is no such user.")]
    NoSuchUser,
    /// The caller has no such session.
    #[error("There is no such session. It may have ended.")]
    NoSuchSession,
    /// The caller has no such key.
    #[error("There is no such key. It may have been revoked.")]
    NoSuchKey,
    /// The invitation does not exist.
    #[error("This invitation does not exist. It may have been used or revoked.")]
    NoSuchInvitation,
    /// Its owner has deleted the account.
    #[error("This account was deleted by its owner, which cannot be taken back. Make a new one.")]
    Deleted,
    /// It would leave the server without anybody to look after it.
    #[error("This is the only admin. Make another one first.")]
    LastAdmin,
    /// The link was used, is too old, or never was one.
    #[error("This link was used already, or is too old. Ask for a new one.")]
    LinkOver,
    /// Nobody can make an account without an admin.
    #[error("New accounts are made by an admin here. Ask one.")]
    SignUpClosed,
    /// There are as many keys as a person may have.
    #[error("There are {MAX_KEYS} keys already. Revoke one first.")]
    TooManyKeys,
    /// There are as many invitations as there may be.
    #[error("There are {MAX_INVITATIONS} unused invitations already. Revoke some, or wait until some are too old.")]
    TooManyInvitations,
    /// There are as many accounts as there may be.
    #[error("There are {MAX_USERS} accounts already, which is as many as there may be.")]
    TooManyUsers,
    /// The database failed.
    #[error("{}", storage_failed(.0))]
    Storage(#[from] sqlx::Error),
    /// A password could not be hashed, or a hash not be read.
    #[error("The server cannot work with this password.")]
    Hash(#[source] argon2::password_hash::Error),
    /// The system gave no random numbers.
    #[error("The server has no random numbers to make a secret of.")]
    Random(#[source] getrandom::Error),
    /// A task panicked or was aborted.
    #[error("The server failed unexpectedly.")]
    Task(#[source] JoinError),
}

impl TransactionError for AccountsError {
    fn is_rolled_back(&self) -> bool {
        matches!(self, Self::Storage(error) if error.is_rolled_back())
    }
}
