//! Errors of account operations.

use tallybook_database::{TransactionError, storage_failed};
use tokio::task::JoinError;

use super::{
    limits::{MAX_INVITATIONS, MAX_KEYS, MAX_USERS},
    openid::OpenIdError,
};

/// Error of an account operation. The messages are shown to the user who made the request.
#[derive(Debug, thiserror::Error)]
pub enum AccountsError {
    /// The server has no accounts.
    #[error("This server has no accounts: whoever reaches it may do everything. Set ACCOUNTS=on to have them.")]
    Off,
    /// The name or the password is wrong; the answer does not say which.
    #[error("The name or the password is wrong.")]
    WrongNameOrPassword,
    /// A signed-in user entered a password that isn't the account's.
    #[error("The current password is wrong.")]
    WrongPassword,
    /// The operation requires a password, and the account has none.
    #[error(
        "This account has no password yet. Ask an admin to set one; then you can change it, and delete the account."
    )]
    NoPassword,
    /// The account has a password, and the request contains none.
    #[error("Enter the password of this account, to prove that it is yours.")]
    PasswordNeeded,
    /// The account has no password, and the session is too old to prove that the caller owns the account.
    #[error("Prove that this account is yours: sign out, sign in again, and do this within ten minutes.")]
    SignInAgain,
    /// The name and the password are right, and the account is deactivated.
    #[error("This account is deactivated. Ask an admin.")]
    Deactivated,
    /// A sign-in with OpenID Connect was refused or failed.
    #[error(transparent)]
    OpenId(#[from] OpenIdError),
    /// Too many failed attempts for this name, IP address, browser or account.
    #[error("There were too many attempts. Try again in {retry_after_secs} seconds.")]
    TooManyAttempts {
        /// Seconds until the next attempt is allowed.
        retry_after_secs: u64,
    },
    /// Too many passwords are waiting to be hashed, or this one waited too long.
    #[error("The server has too many sign-ins to check. Try again in a moment.")]
    Busy,
    /// The input breaks a rule.
    #[error("{0}")]
    Invalid(String),
    /// Another account has this name.
    #[error("Somebody has this name already. Choose another one.")]
    NameTaken,
    /// The name looks like the name of another account.
    #[error("This name looks like that of another account. Choose another one.")]
    NameConfusing,
    /// The user does not exist.
    #[error("There is no such user.")]
    NoSuchUser,
    /// The caller has no session with this ID.
    #[error("There is no such session. It may have ended.")]
    NoSuchSession,
    /// The user has no API key with this ID that can be revoked.
    #[error("There is no such key. It may have been revoked.")]
    NoSuchKey,
    /// No unused invitation has this ID.
    #[error("This invitation does not exist. It may have been used or revoked.")]
    NoSuchInvitation,
    /// The account was deleted by its owner.
    #[error("This account was deleted by its owner, which cannot be taken back. Make a new one.")]
    Deleted,
    /// The change would leave the server without an admin.
    #[error("This is the only admin. Make another one first.")]
    LastAdmin,
    /// The link was already used, has expired, or never existed.
    #[error("This link was used already, or is too old. Ask for a new one.")]
    LinkOver,
    /// Sign-up is closed: only admins create accounts.
    #[error("New accounts are made by an admin here. Ask one.")]
    SignUpClosed,
    /// The user already has the maximum number of API keys.
    #[error("There are {MAX_KEYS} keys already. Revoke one first.")]
    TooManyKeys,
    /// The maximum number of unused invitations already exists.
    #[error("There are {MAX_INVITATIONS} unused invitations already. Revoke some, or wait until some are too old.")]
    TooManyInvitations,
    /// The maximum number of accounts already exists.
    #[error("There are {MAX_USERS} accounts already, which is as many as there may be.")]
    TooManyUsers,
    /// The database failed.
    #[error("{}", storage_failed(.0))]
    Storage(#[from] sqlx::Error),
    /// A password could not be hashed, or a stored hash could not be parsed.
    #[error("The server cannot work with this password.")]
    Hash(#[source] argon2::password_hash::Error),
    /// The operating system returned no random numbers.
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
