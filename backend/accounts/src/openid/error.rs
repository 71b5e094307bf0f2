//! Errors of sign-in with OpenID Connect. The messages are shown to the user; causes are logged.

/// Error of a sign-in with OpenID Connect, or of a linked identity.
#[derive(Debug, thiserror::Error)]
pub enum OpenIdError {
    /// No identity provider is configured.
    #[error("Nobody signs in by OpenID Connect here: OIDC_ISSUER is not set.")]
    Off,
    /// The identity provider is unreachable, or its metadata is invalid.
    #[error("{name} cannot be reached at the moment. Try again in a minute, or sign in with your password.")]
    Unreachable {
        /// Display name of the identity provider.
        name: String,
    },
    /// Too many concurrent sign-ins are waiting for the identity provider.
    #[error("The server has too many sign-ins to check. Try again in a moment.")]
    Busy,
    /// The identity provider refused to sign the user in, or the user canceled.
    #[error("{name} did not sign you in. Try again, or sign in with your password.")]
    Refused {
        /// Display name of the identity provider.
        name: String,
    },
    /// The cookie of the authorization request is missing, too old, or doesn't match the callback, or the session that links an
    /// identity lacks the proof of ownership.
    #[error("This sign-in took too long, or began in another browser. Begin again here.")]
    Stale,
    /// The identity provider's response does not prove the user's identity.
    #[error("What {name} answered does not prove who you are. Try again; if that does not help, tell an admin.")]
    Untrusted {
        /// Display name of the identity provider.
        name: String,
    },
    /// No account is linked to the identity, and sign-up without an invitation is not allowed.
    #[error(
        "No account here belongs to you at {name}. Sign in with your password and link it in the settings, or ask an admin."
    )]
    Unknown {
        /// Display name of the identity provider.
        name: String,
    },
    /// The user has no verified email address in an allowed domain.
    #[error("Only people with a verified e-mail address of certain domains come in here. Ask an admin.")]
    WrongDomain,
    /// The account is deactivated.
    #[error("This account is deactivated. Ask an admin.")]
    Deactivated,
    /// The identity is linked to another account.
    #[error("Another account here is linked to this identity already. Unlink it there first.")]
    Taken,
    /// The account already has the maximum number of identities.
    #[error("This account has as many identities as there may be. Unlink one first.")]
    TooMany,
    /// The account has no identity with this ID.
    #[error("There is no such identity. It may have been unlinked.")]
    NoSuchIdentity,
    /// The identity is the only way to sign in to the account.
    #[error("This is the only way to sign in to the account. Have an admin set a password first.")]
    OnlyWayIn,
}
