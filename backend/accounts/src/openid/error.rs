//! Errors of sign-in with OpenID Connect. The messages are shown to the user; causes are logged.

/// Error of a sign-in with OpenID Connect, or of a linked identity.
#[derive(Debug, thiserror::Error)]
pub enum OpenIdError {
    /// No identity provider is configured.
    #[error("OpenID Connect is not set up on this server: OIDC_ISSUER is not set.")]
    Off,
    /// The identity provider is unreachable, or its metadata is invalid.
    #[error("{name} is unreachable. Try again in a minute, or sign in with your password.")]
    Unreachable {
        /// Display name of the identity provider.
        name: String,
    },
    /// Too many concurrent sign-ins are waiting for the identity provider.
    #[error("The server is busy with other sign-ins. Try again in a moment.")]
    Busy,
    /// The identity provider refused to sign the user in, or the user canceled.
    #[error("{name} did not sign you in. Try again, or sign in with your password.")]
    Refused {
        /// Display name of the identity provider.
        name: String,
    },
    /// The cookie of the authorization request is missing, too old, or doesn't match the callback. When an identity is
    /// linked: the session is missing or has no recent, unused proof of ownership.
    #[error("This sign-in took too long or was started in another browser. Start again here.")]
    Stale,
    /// The identity provider's response does not prove the user's identity.
    #[error(
        "The response from {name} does not prove your identity. Try again. If the error persists, contact an admin."
    )]
    Untrusted {
        /// Display name of the identity provider.
        name: String,
    },
    /// No account is linked to the identity, and sign-up without an invitation is not allowed.
    #[error(
        "No account is linked to your identity at {name}. Sign in with your password and link it in the settings, or \
         ask an admin."
    )]
    Unknown {
        /// Display name of the identity provider.
        name: String,
    },
    /// The user has no verified email address in an allowed domain.
    #[error("Sign-in requires a verified email address in an allowed domain. Ask an admin.")]
    WrongDomain,
    /// The account is deactivated.
    #[error("This account is deactivated. Ask an admin to reactivate it.")]
    Deactivated,
    /// The identity is linked to another account.
    #[error("This identity is already linked to another account. Unlink it there first.")]
    Taken,
    /// The account already has the maximum number of identities.
    #[error("This account has the maximum number of linked identities. Unlink one first.")]
    TooMany,
    /// The account has no identity with this ID.
    #[error("This linked identity does not exist. It may have been unlinked.")]
    NoSuchIdentity,
    /// The identity is the only way to sign in to the account.
    #[error("This identity is the only way to sign in to the account. Ask an admin to set a password first.")]
    LastSignInMethod,
}
