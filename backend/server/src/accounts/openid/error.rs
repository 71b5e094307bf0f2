//! Why somebody does not come in by OpenID Connect. The messages are for that person; causes go to the log.

/// Why signing in by OpenID Connect was refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum OpenIdError {
    /// No issuer is set.
    #[error("Nobody signs in by OpenID Connect here: OIDC_ISSUER is not set.")]
    Off,
    /// The issuer cannot be asked, or what it says of itself makes no sense.
    #[error("{name} cannot be reached at the moment. Try again in a minute, or sign in with your password.")]
    Unreachable {
        /// What the issuer is called here.
        name: String,
    },
    /// More people sign in than the server can ask the issuer about.
    #[error("The server has too many sign-ins to check. Try again in a moment.")]
    Busy,
    /// The issuer did not let the person in, or the person turned back.
    #[error("{name} did not sign you in. Try again, or sign in with your password.")]
    Refused {
        /// What the issuer is called here.
        name: String,
    },
    /// What the browser holds does not belong to what it came back with, or is too old.
    #[error("This sign-in took too long, or began in another browser. Begin again here.")]
    Stale,
    /// What the issuer sent does not prove who it is.
    #[error("What {name} answered does not prove who you are. Try again; if that does not help, tell an admin.")]
    Untrusted {
        /// What the issuer is called here.
        name: String,
    },
    /// Nobody here is known to be that person.
    #[error(
        "No account here belongs to you at {name}. Sign in with your password and link it in the settings, or ask an admin."
    )]
    Unknown {
        /// What the issuer is called here.
        name: String,
    },
    /// The person has no verified e-mail address of a domain that is let in.
    #[error("Only people with a verified e-mail address of certain domains come in here. Ask an admin.")]
    WrongDomain,
    /// The account is deactivated.
    #[error("This account is deactivated. Ask an admin.")]
    Deactivated,
    /// Another account here has the identity.
    #[error("Another account here is linked to this identity already. Unlink it there first.")]
    Taken,
    /// There are as many as one account may have.
    #[error("This account has as many identities as there may be. Unlink one first.")]
    TooMany,
    /// The account has no such identity.
    #[error("There is no such identity. It may have been unlinked.")]
    NoSuchIdentity,
    /// Without it nobody could sign in to the account.
    #[error("This is the only way to sign in to the account. Have an admin set a password first.")]
    OnlyWayIn,
}
