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
    #[error(
        "This server has no accounts: anyone who can reach it has full access. Set ACCOUNTS=on to require sign-in."
    )]
    Off,
    /// The name or the password is wrong. The message does not say which.
    #[error("The name or the password is wrong.")]
    WrongNameOrPassword,
    /// A signed-in user entered a password that isn't the account's.
    #[error("The current password is wrong.")]
    WrongPassword,
    /// The operation requires a password, and the account has none.
    #[error("This account has no password yet. Ask an admin to set one. Then you can change it.")]
    NoPassword,
    /// The account has a password, and the request contains none.
    #[error("Enter your password to confirm that this account is yours.")]
    PasswordNeeded,
    /// The account has no password, and the session is too old to prove that the caller owns the account.
    #[error("Confirm that this account is yours: sign out, sign in again, and retry within ten minutes.")]
    SignInAgain,
    /// The name and the password are right, and the account is deactivated.
    #[error("This account is deactivated. Ask an admin to reactivate it.")]
    Deactivated,
    /// A sign-in with OpenID Connect was refused or failed.
    #[error(transparent)]
    OpenId(#[from] OpenIdError),
    /// Too many failed attempts for this name, IP address, browser or account.
    #[error("Too many attempts. Try again in {retry_after_secs} seconds.")]
    TooManyAttempts {
        /// Seconds until the next attempt is allowed.
        retry_after_secs: u64,
    },
    /// Too many passwords are waiting to be hashed, or this one waited too long.
    #[error("The server is busy with other sign-ins. Try again in a moment.")]
    Busy,
    /// The input breaks a rule.
    #[error("{0}")]
    Invalid(String),
    /// Another account has this name.
    #[error("This name is already taken. Choose another one.")]
    NameTaken,
    /// The name looks like the name of another account.
    #[error("This name looks like the name of another account. Choose another one.")]
    NameConfusing,
    /// The user does not exist.
    #[error("This user does not exist.")]
    NoSuchUser,
    /// The caller has no session with this ID.
    #[error("This session does not exist. It may have ended.")]
    NoSuchSession,
    /// The user has no API key with this ID that can be revoked.
    #[error("This API key does not exist. It may have been revoked.")]
    NoSuchKey,
    /// No unused invitation has this ID.
    #[error("This invitation does not exist. It may have been used or revoked.")]
    NoSuchInvitation,
    /// The account was deleted by its owner.
    #[error("The owner deleted this account, and that cannot be undone. Create a new account.")]
    Deleted,
    /// The change would leave the server without an admin.
    #[error("This is the only admin. Make another user an admin first.")]
    LastAdmin,
    /// The link was already used, has expired, or never existed.
    #[error("This link was already used or has expired. Ask for a new one.")]
    LinkExpired,
    /// Sign-up is closed: only admins create accounts.
    #[error("Only admins can create accounts on this server. Ask an admin for one.")]
    SignUpClosed,
    /// The user already has the maximum number of API keys.
    #[error("You have {MAX_KEYS} API keys, which is the limit. Revoke one first.")]
    TooManyKeys,
    /// The maximum number of unused invitations already exists.
    #[error(
        "There are {MAX_INVITATIONS} unused invitations, which is the limit. Revoke some, or wait until some expire."
    )]
    TooManyInvitations,
    /// The maximum number of accounts already exists.
    #[error("There are {MAX_USERS} accounts, which is the limit.")]
    TooManyUsers,
    /// The database failed.
    #[error("{}", storage_failed(.0))]
    Storage(#[from] sqlx::Error),
    /// A password could not be hashed, or a stored hash could not be parsed.
    #[error("The server could not check or store this password.")]
    Hash(#[source] argon2::password_hash::Error),
    /// The operating system returned no random numbers.
    #[error("The server could not get random numbers from the operating system to create a secret.")]
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
