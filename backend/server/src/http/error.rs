//! Every way in which a request is refused, and the one match that turns it into `application/problem+json`
//! (RFC 9457). Details of server errors stay out of the answer and go to the log under the same request id.

use actix_web::{
    HttpResponse, ResponseError,
    http::{StatusCode, header},
};
use tallybook_database::{FailureKind, classify};
use tallybook_protocol::Problem;

use super::{
    limits::MAX_BODY_BYTES,
    openai::{
        error_body::{self, ErrorBody},
        refusal::{CONVERSATION, Refusal},
    },
    request_id,
};
use crate::{
    accounts::{AccountsError, OpenIdError},
    book::{BookError, FilterError},
    conversation::{Reached, ServiceError},
};

/// Why a request is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApiError {
    /// A use case refused it or failed.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// It concerns accounts, and was refused or failed.
    #[error(transparent)]
    Accounts(#[from] AccountsError),
    /// It concerns the book, and was refused or failed.
    #[error(transparent)]
    Book(#[from] BookError),
    /// Nobody is signed in.
    #[error("You are not signed in. Open the page to sign in, or send a key as Authorization: Bearer.")]
    NotSignedIn,
    /// Only an admin may.
    #[error("Only an admin may do this.")]
    AdminsOnly,
    /// A program may not, whoever's key it has.
    #[error("Only a person at a browser may do this, and no program with a key.")]
    PersonsOnly,
    /// There is nobody yet who could let anybody in.
    #[error(
        "Tallybook has no admin yet. Open the link that it printed when it started, or run: tallybook admin create NAME"
    )]
    SetupRequired,
    /// The operator allows no links to conversations.
    #[error("Conversations are not shared from this server: SHARING is off.")]
    SharingOff,
    /// Browsers keep no session that came without TLS from another machine.
    #[error(
        "What goes to this address is not encrypted, so browsers would not keep you signed in. Open Tallybook by https://, \
         through a proxy that has a certificate."
    )]
    NoTls,
    /// A program gets no answer.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A page could not be written.
    #[error("The server cannot write this page.")]
    Page(#[source] askama::Error),
    /// The body is not JSON of the right shape.
    #[error("{0}")]
    Body(String),
    /// The body is too large.
    #[error("The request's body is too large. Send at most {} bytes.", MAX_BODY_BYTES)]
    BodyTooLarge,
    /// The body did not come to its end in time.
    #[error("The request's body took too long to arrive. Send it again, over a faster connection if you can.")]
    BodyTooSlow,
    /// The body does not claim to be JSON.
    #[error("Send the body as JSON, with the header Content-Type: application/json.")]
    NotJson,
    /// The query string makes no sense.
    #[error("{0}")]
    Query(String),
    /// There is nothing at this address.
    #[error("There is nothing at {0}. The API's addresses are described at /docs/api.")]
    NoSuchRoute(String),
    /// There is something at this address, but not for this method.
    #[error("{path} takes no such request. It takes {allowed}.")]
    MethodNotAllowed {
        /// The address.
        path: String,
        /// What the header `Allow` says.
        allowed: String,
    },
    /// A page of another site sent it.
    #[error(
        "A page of another site sent this request. Open Tallybook under its own address. Behind a proxy, let the proxy \
         pass the header Host on unchanged."
    )]
    ForeignOrigin,
    /// It asks for a name that a server on a loopback address does not have, or for none.
    #[error("This server does not answer to that name. Open it as localhost, or add the name to ALLOWED_HOSTS.")]
    ForeignHost,
    /// The user has as many event streams open as one user can have.
    #[error(
        "You have {0} open event streams, which is the limit for one user. Close some windows or API clients, then try again."
    )]
    TooManyStreams(usize),
    /// All places for event streams are taken.
    #[error("The server has no free place for another event stream. Try again in a few seconds.")]
    TooManyStreamsInAll,
    /// The figures for monitoring could not be written down.
    #[error("The server's figures cannot be written.")]
    Metrics(#[from] std::fmt::Error),
    /// A use case panicked or was aborted.
    #[error("The server failed unexpectedly.")]
    Task(#[source] tokio::task::JoinError),
}

impl From<FilterError> for ApiError {
    fn from(error: FilterError) -> Self {
        // A sentence of its own.
        Self::Query(format!("The parameter q cannot be read. {error}"))
    }
}

impl ApiError {
    /// The same as OpenAI writes it, with the statuses that its clients know.
    fn for_programs(&self, status: StatusCode, kind: &str) -> (StatusCode, ErrorBody) {
        if let Self::Refused(refusal) = self {
            return (status, refusal.body());
        }
        if let Self::Service(ServiceError::UnknownModel { .. }) = self {
            let (status, code) = (StatusCode::NOT_FOUND, Some("model_not_found".to_owned()));
            return (status, ErrorBody::new(status, self.to_string(), Some("model".to_owned()), code));
        }
        let (status, code) = match status {
            StatusCode::UNAUTHORIZED => (status, "invalid_api_key".to_owned()),
            StatusCode::UNPROCESSABLE_ENTITY => (StatusCode::BAD_REQUEST, kind.replace('-', "_")),
            StatusCode::INSUFFICIENT_STORAGE => (StatusCode::SERVICE_UNAVAILABLE, kind.replace('-', "_")),
            _ => (status, kind.replace('-', "_")),
        };
        (status, ErrorBody::new(status, self.to_string(), None, Some(code)))
    }

    /// Status, the last part of the problem's type, and its title.
    fn kind(&self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::Service(ServiceError::NotFound) => {
                (StatusCode::NOT_FOUND, "no-such-conversation", "No such conversation")
            }
            Self::Service(ServiceError::NoSuchMessage) => (StatusCode::NOT_FOUND, "no-such-message", "No such message"),
            Self::Service(ServiceError::NoSuchToolCall) => {
                (StatusCode::NOT_FOUND, "no-such-tool-call", "No such tool call")
            }
            Self::Service(ServiceError::NoSuchResponse) => {
                (StatusCode::NOT_FOUND, "no-such-response", "No such response")
            }
            Self::Service(ServiceError::NoSuchTool) => (StatusCode::NOT_FOUND, "no-such-tool", "No such tool"),
            Self::Service(ServiceError::NoOutput) => (StatusCode::NOT_FOUND, "no-output", "No output"),
            Self::Service(ServiceError::TurnRunning) => (StatusCode::CONFLICT, "turn-running", "A turn is running"),
            Self::Service(
                error @ (ServiceError::AwaitingApproval
                | ServiceError::AlreadyDecided(_)
                | ServiceError::DefinitionChanged
                | ServiceError::TooManyTools
                | ServiceError::ToolChanged { .. }
                | ServiceError::NoSuchApproval),
            ) => consent_kind(error),
            Self::Service(ServiceError::NothingToContinue) => {
                (StatusCode::CONFLICT, "nothing-to-continue", "Nothing to continue")
            }
            Self::Service(ServiceError::LimitReached(reached)) => limit_kind(*reached),
            Self::Service(ServiceError::TooManyExports) => {
                (StatusCode::SERVICE_UNAVAILABLE, "too-many-exports", "Too many exports")
            }
            Self::Service(
                error @ (ServiceError::NoSuchShare | ServiceError::TooManyShares | ServiceError::TooLargeToShare),
            ) => share_kind(error),
            Self::Service(ServiceError::TooManyPlainCalls) => {
                (StatusCode::TOO_MANY_REQUESTS, "too-many-requests", "Too many requests")
            }
            Self::Service(ServiceError::Invalid(_)) => {
                (StatusCode::UNPROCESSABLE_ENTITY, "invalid-input", "Invalid input")
            }
            Self::Service(ServiceError::UnknownModel { .. }) => {
                (StatusCode::UNPROCESSABLE_ENTITY, "unknown-model", "No such model")
            }
            Self::Service(ServiceError::ModelGone { .. }) => {
                (StatusCode::UNPROCESSABLE_ENTITY, "model-gone", "The model is gone")
            }
            Self::Service(ServiceError::ShuttingDown) => {
                (StatusCode::SERVICE_UNAVAILABLE, "shutting-down", "The server is stopping")
            }
            Self::Service(ServiceError::Storage(error)) => storage_kind(error),
            Self::Accounts(error) => accounts_kind(error),
            Self::Refused(refusal) => (refusal.status, "refused", "No answer"),
            Self::Book(error) => book_kind(error),
            Self::NotSignedIn => (StatusCode::UNAUTHORIZED, "not-signed-in", "Not signed in"),
            Self::AdminsOnly => (StatusCode::FORBIDDEN, "admins-only", "Only for admins"),
            Self::PersonsOnly => (StatusCode::FORBIDDEN, "persons-only", "Not with a key"),
            Self::SetupRequired => (StatusCode::SERVICE_UNAVAILABLE, "setup-required", "Not set up yet"),
            Self::SharingOff => (StatusCode::FORBIDDEN, "sharing-off", "Nothing is shared"),
            Self::NoTls => (StatusCode::FORBIDDEN, "no-tls", "Not encrypted"),
            Self::Service(ServiceError::Encode(_)) | Self::Metrics(_) | Self::Page(_) | Self::Task(_) => {
                (StatusCode::INTERNAL_SERVER_ERROR, "internal", "Internal error")
            }
            Self::Body(_) => (StatusCode::BAD_REQUEST, "bad-body", "The body cannot be read"),
            Self::BodyTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", "The body is too large"),
            Self::BodyTooSlow => (StatusCode::REQUEST_TIMEOUT, "body-too-slow", "The body took too long"),
            Self::NotJson => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", "The body is not JSON"),
            Self::Query(_) => (StatusCode::BAD_REQUEST, "bad-query", "The query string is wrong"),
            Self::NoSuchRoute(_) => (StatusCode::NOT_FOUND, "no-such-route", "Nothing here"),
            Self::MethodNotAllowed { .. } => {
                (StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", "Not by this method")
            }
            Self::TooManyStreams(_) => (StatusCode::TOO_MANY_REQUESTS, "too-many-streams", "Too many event streams"),
            Self::TooManyStreamsInAll => {
                (StatusCode::SERVICE_UNAVAILABLE, "too-many-streams", "Too many event streams")
            }
            Self::ForeignOrigin => (StatusCode::FORBIDDEN, "foreign-origin", "Another site's request"),
            Self::ForeignHost => (StatusCode::FORBIDDEN, "foreign-host", "Not this server's name"),
        }
    }
}

/// The same for what concerns consent.
fn consent_kind(error: &ServiceError) -> (StatusCode, &'static str, &'static str) {
    match error {
        ServiceError::AwaitingApproval => (StatusCode::CONFLICT, "awaiting_approval", "A turn waits for consent"),
        ServiceError::ToolChanged { .. } | ServiceError::DefinitionChanged => {
            (StatusCode::CONFLICT, "tool_changed", "The tool has changed")
        }
        ServiceError::TooManyTools => (StatusCode::CONFLICT, "too-many", "As many as there may be"),
        ServiceError::NoSuchApproval => (StatusCode::NOT_FOUND, "no-such-approval", "No such approval"),
        _ => (StatusCode::CONFLICT, "already_decided", "Already decided"),
    }
}

/// The same for what concerns sharing.
fn share_kind(error: &ServiceError) -> (StatusCode, &'static str, &'static str) {
    match error {
        ServiceError::TooManyShares => (StatusCode::CONFLICT, "too-many", "As many as there may be"),
        ServiceError::TooLargeToShare => (StatusCode::UNPROCESSABLE_ENTITY, "too-large-to-share", "Too large"),
        _ => (StatusCode::NOT_FOUND, "no-such-share", "No such link"),
    }
}

/// The same for what one person may use up.
fn limit_kind(reached: Reached) -> (StatusCode, &'static str, &'static str) {
    let (kind, title) = match reached {
        Reached::Turns { .. } | Reached::Reserved { .. } => ("too-many-turns", "Too many turns at once"),
        Reached::Messages { .. } => ("too-many-messages", "Too many messages"),
        Reached::Tokens { .. } => ("too-many-tokens", "Too many tokens"),
    };
    (StatusCode::TOO_MANY_REQUESTS, kind, title)
}

/// The same for what concerns accounts.
fn accounts_kind(error: &AccountsError) -> (StatusCode, &'static str, &'static str) {
    match error {
        AccountsError::Off => (StatusCode::NOT_FOUND, "accounts-off", "No accounts"),
        AccountsError::WrongNameOrPassword => {
            (StatusCode::UNAUTHORIZED, "wrong-name-or-password", "Wrong name or password")
        }
        AccountsError::WrongPassword => (StatusCode::FORBIDDEN, "wrong-password", "Wrong password"),
        AccountsError::NoPassword => (StatusCode::CONFLICT, "no-password", "No password"),
        AccountsError::PasswordNeeded => (StatusCode::FORBIDDEN, "password-needed", "Password needed"),
        AccountsError::SignInAgain => (StatusCode::FORBIDDEN, "sign-in-again", "Sign in again"),
        AccountsError::OpenId(error) => openid_kind(error),
        AccountsError::Deleted => (StatusCode::CONFLICT, "account-deleted", "The account is deleted"),
        AccountsError::TooManyAttempts { .. } => {
            (StatusCode::TOO_MANY_REQUESTS, "too-many-attempts", "Too many attempts")
        }
        AccountsError::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy", "Too much to do"),
        AccountsError::Invalid(_) => (StatusCode::UNPROCESSABLE_ENTITY, "invalid-input", "Invalid input"),
        AccountsError::Deactivated => (StatusCode::FORBIDDEN, "deactivated", "The account is deactivated"),
        AccountsError::NameTaken | AccountsError::NameConfusing => {
            (StatusCode::CONFLICT, "name-taken", "The name is taken")
        }
        AccountsError::NoSuchUser => (StatusCode::NOT_FOUND, "no-such-user", "No such user"),
        AccountsError::NoSuchSession => (StatusCode::NOT_FOUND, "no-such-session", "No such session"),
        AccountsError::NoSuchKey => (StatusCode::NOT_FOUND, "no-such-key", "No such key"),
        AccountsError::NoSuchInvitation => (StatusCode::NOT_FOUND, "no-such-invitation", "No such invitation"),
        AccountsError::LastAdmin => (StatusCode::CONFLICT, "last-admin", "The only admin"),
        AccountsError::LinkOver => (StatusCode::GONE, "link-over", "The link is over"),
        AccountsError::SignUpClosed => (StatusCode::FORBIDDEN, "sign-up-closed", "No new accounts"),
        AccountsError::TooManyKeys | AccountsError::TooManyInvitations | AccountsError::TooManyUsers => {
            (StatusCode::CONFLICT, "too-many", "As many as there may be")
        }
        AccountsError::Storage(error) => storage_kind(error),
        AccountsError::Hash(_) | AccountsError::Random(_) | AccountsError::Task(_) => {
            (StatusCode::INTERNAL_SERVER_ERROR, "internal", "Internal error")
        }
    }
}

/// The same for what concerns signing in by OpenID Connect.
fn openid_kind(error: &OpenIdError) -> (StatusCode, &'static str, &'static str) {
    match error {
        OpenIdError::Off => (StatusCode::NOT_FOUND, "no-issuer", "No issuer"),
        OpenIdError::Unreachable { .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, "issuer-unreachable", "The issuer is out of reach")
        }
        OpenIdError::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy", "Too much to do"),
        OpenIdError::Refused { .. } => (StatusCode::UNAUTHORIZED, "not-signed-in-there", "Not signed in there"),
        OpenIdError::Stale => (StatusCode::BAD_REQUEST, "sign-in-stale", "Not this sign-in"),
        OpenIdError::Untrusted { .. } => (StatusCode::UNAUTHORIZED, "not-proven", "Nothing is proven"),
        OpenIdError::Unknown { .. } => (StatusCode::FORBIDDEN, "no-account", "No account"),
        OpenIdError::WrongDomain => (StatusCode::FORBIDDEN, "wrong-domain", "Not of a domain that comes in"),
        OpenIdError::Deactivated => (StatusCode::FORBIDDEN, "deactivated", "The account is deactivated"),
        OpenIdError::Taken => (StatusCode::CONFLICT, "identity-taken", "Linked to another account"),
        OpenIdError::TooMany => (StatusCode::CONFLICT, "too-many", "As many as there may be"),
        OpenIdError::NoSuchIdentity => (StatusCode::NOT_FOUND, "no-such-identity", "No such identity"),
        OpenIdError::OnlyWayIn => (StatusCode::CONFLICT, "only-way-in", "The only way in"),
    }
}

/// The same for what concerns the book.
fn book_kind(error: &BookError) -> (StatusCode, &'static str, &'static str) {
    match error {
        BookError::NeedsReason { .. } => (StatusCode::FORBIDDEN, "needs-reason", "A reason is needed"),
        BookError::NoReason => (StatusCode::UNPROCESSABLE_ENTITY, "no-reason", "No reason"),
        BookError::NoSuchUser(_) => (StatusCode::NOT_FOUND, "no-such-user", "No such user"),
        BookError::NoSuchConversation => (StatusCode::NOT_FOUND, "no-such-conversation", "No such conversation"),
        BookError::NoSuchCall => (StatusCode::NOT_FOUND, "no-such-tool-call", "No such tool call"),
        BookError::NoRerun(_) => (StatusCode::CONFLICT, "no-rerun", "Not to be run again"),
        BookError::Busy => (StatusCode::TOO_MANY_REQUESTS, "too-many-searches", "Too many searches"),
        BookError::TooManyReruns => (StatusCode::TOO_MANY_REQUESTS, "too-many-reruns", "Too many re-runs"),
        BookError::BadCursor => (StatusCode::UNPROCESSABLE_ENTITY, "invalid-input", "Invalid input"),
        BookError::Write(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal", "Internal error"),
        BookError::Storage(error) => storage_kind(error),
    }
}

/// The same for a failure of the database.
fn storage_kind(error: &sqlx::Error) -> (StatusCode, &'static str, &'static str) {
    match classify(error) {
        FailureKind::Transient => {
            (StatusCode::SERVICE_UNAVAILABLE, "storage-unavailable", "The database is out of reach")
        }
        FailureKind::StorageFull => (StatusCode::INSUFFICIENT_STORAGE, "storage-full", "Nothing can be stored"),
        FailureKind::Permanent => (StatusCode::INTERNAL_SERVER_ERROR, "internal", "Internal error"),
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        self.kind().0
    }

    fn error_response(&self) -> HttpResponse {
        let (status, kind, title) = self.kind();
        let request_id = request_id::current();
        // `main` logs a missing admin once, at the start.
        if status.is_server_error() && !matches!(self, Self::SetupRequired) {
            let cause = std::error::Error::source(self).map(ToString::to_string);
            tracing::error!(%request_id, kind, cause, "{self}");
        }
        let mut response = HttpResponse::build(status);
        if status == StatusCode::SERVICE_UNAVAILABLE || matches!(self, Self::TooManyStreams(_)) {
            response.insert_header((header::RETRY_AFTER, "5"));
        }
        if let Self::Accounts(AccountsError::TooManyAttempts { retry_after_secs }) = self {
            response.insert_header((header::RETRY_AFTER, *retry_after_secs));
        }
        if let Self::Service(ServiceError::LimitReached(reached)) = self {
            response.insert_header((header::RETRY_AFTER, reached.retry_after_secs()));
        }
        if let Self::NotSignedIn = self {
            response.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
        }
        if let Self::MethodNotAllowed { allowed, .. } = self {
            response.insert_header((header::ALLOW, &**allowed));
        }
        if let Self::Refused(Refusal { conversation: Some(uuid), .. }) = self {
            // OpenAI's own clients look for it.
            response.insert_header(("x-should-retry", "false"));
            response.insert_header((CONVERSATION, uuid.to_string()));
        }
        if error_body::is_wanted() {
            let (status, body) = self.for_programs(status, kind);
            return response.status(status).json(body);
        }
        response.content_type("application/problem+json").json(Problem {
            kind: format!("/problems/{kind}"),
            title: title.to_owned(),
            status: status.as_u16(),
            detail: self.to_string(),
            request_id: request_id.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    /// All types are literals in this file.
    #[test]
    fn the_document_of_the_api_has_every_type_of_problem() {
        let (code, _) = include_str!("error.rs").split_once("#[cfg(test)]").unwrap();
        let document = include_str!("../../../../docs/api.md");
        let (_, table) = document.split_once("## Problem types").unwrap();
        let quoted = code.split('"').skip(1).step_by(2);
        let is_type =
            |word: &&str| word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_lowercase() || b"-_".contains(&byte));
        let no_types = ["false", "model", "invalid_api_key", "model_not_found", "refused", "x-should-retry"];
        let types: Vec<&str> = quoted.filter(is_type).filter(|word| !no_types.contains(word)).collect();
        assert!(types.len() > 60, "{types:?}");
        for word in types {
            assert!(table.contains(&format!("| `{word}` | ")), "{word} is not in docs/api.md");
        }
    }
}
