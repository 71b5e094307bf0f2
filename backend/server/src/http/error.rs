//! All errors that the server returns, and their conversion to `application/problem+json` (RFC 9457). The response to a
//! server error contains no details; the server logs them with the same request ID.

use actix_web::{
    HttpResponse, ResponseError,
    http::{StatusCode, header},
};
use tallybook_accounts::{AccountsError, Permission};
use tallybook_conversations::{Reached, ServiceError};
use tallybook_files::FilesError;
use tallybook_protocol::{Problem, ProblemBudget};
use tallybook_runtime_settings::SettingsError;
use tallybook_tool_history::{FilterError, ToolHistoryError};

use super::{
    problem_types::{self, INTERNAL, Kind},
    request_id,
};
use crate::http::openai::error::{CONVERSATION, ErrorBody, Refusal, wants_openai_errors};

/// The reason why a request is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    /// A conversation use case refused the request or failed.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// An account use case refused the request or failed.
    #[error(transparent)]
    Accounts(#[from] AccountsError),
    /// A file use case refused the request or failed.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The content of a file has no such range.
    #[error("The content has {0} bytes, so it has no such range.")]
    NoSuchRange(u64),
    /// A tool history use case refused the request or failed.
    #[error(transparent)]
    ToolHistory(#[from] ToolHistoryError),
    /// A use case of the settings refused the request or failed.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The caller is not signed in.
    #[error("You are not signed in. Sign in on the page, or send an API key in the header Authorization: Bearer.")]
    NotSignedIn,
    /// The caller's session ended because an admin deactivated the account.
    #[error("An admin deactivated your account. To use it again, ask an admin to reactivate it.")]
    AccountDeactivated,
    /// The request needs the admin role.
    #[error("Only admins can do this.")]
    AdminsOnly,
    /// The request needs a user at a browser; API keys are refused, even an admin's.
    #[error("This needs a user signed in at a browser. API keys cannot be used for it.")]
    SessionsOnly,
    /// The server has no admin yet, so no user can sign in.
    #[error(
        "Tallybook has no admin yet. Open the setup link that it printed at startup, or run: tallybook admin create \
         NAME"
    )]
    SetupRequired,
    /// The permission is granted to groups that the user is not in.
    #[error("{}", not_permitted(.0))]
    NotPermitted(Permission),
    /// The operator has turned off sharing.
    #[error("Sharing is turned off on this server. Ask an admin to turn it on.")]
    SharingOff,
    /// Browsers would reject the session cookie, because the request came without TLS and not from localhost.
    #[error(
        "This connection is not encrypted, so your browser would reject the session cookie. Open Tallybook with \
         https://, through a proxy that terminates TLS."
    )]
    NoTls,
    /// The request of an API client for an answer failed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A page could not be rendered.
    #[error("The server could not render this page.")]
    Page(#[source] askama::Error),
    /// The body cannot be parsed, or does not have the expected shape.
    #[error("{0}")]
    Body(String),
    /// The body is too large.
    #[error("The request body is too large. Send at most {0} bytes.")]
    BodyTooLarge(usize),
    /// The body did not arrive completely in time.
    #[error("The request body took too long to arrive. Send it again, over a faster connection if you can.")]
    BodyTooSlow,
    /// The `Content-Type` is not JSON.
    #[error("Send the body as JSON with the header Content-Type: application/json.")]
    NotJson,
    /// The query string is not valid.
    #[error("{0}")]
    Query(String),
    /// No route has this path.
    #[error("Nothing is found at {0}. The API is documented at /docs/api.")]
    NoSuchRoute(String),
    /// The route does not take this method.
    #[error("{path} does not support this method. Use {allowed}.")]
    MethodNotAllowed {
        /// Path of the request.
        path: String,
        /// Value of the `Allow` header.
        allowed: String,
    },
    /// A page of another site sent the request.
    #[error(
        "A page of another site sent this request. Open Tallybook at its own URL. If it runs behind a proxy, configure \
         the proxy to pass the Host header unchanged."
    )]
    ForeignOrigin,
    /// The request names a host that this server does not answer to, or none.
    #[error("This server does not accept that host name. Use localhost, or add the name to ALLOWED_HOSTS.")]
    ForeignHost,
    /// The user has as many event streams open as one user can have.
    #[error(
        "You have {0} open event streams, which is the limit for one user. Close some windows or API clients, then try \
         again."
    )]
    TooManyStreams(usize),
    /// The server has as many event streams open as it can have.
    #[error("The server has reached its limit of event streams. Try again in a few seconds.")]
    TooManyStreamsInAll,
    /// The metrics could not be encoded.
    #[error("The server could not generate its metrics.")]
    Metrics(#[from] std::fmt::Error),
    /// A use case panicked or was aborted.
    #[error("The server failed unexpectedly.")]
    Task(#[source] tokio::task::JoinError),
}

impl From<FilterError> for ApiError {
    fn from(error: FilterError) -> Self {
        // The message of `error` is a full sentence.
        Self::Query(format!("The parameter q is not valid. {error}"))
    }
}

impl ApiError {
    /// Returns `true` if a change was refused because another admin has changed the values since they were shown.
    pub(crate) fn is_outdated(&self) -> bool {
        self.status_code() == StatusCode::PRECONDITION_FAILED
    }

    /// Returns the error in OpenAI's format, with a status that OpenAI's clients know.
    fn for_api_clients(&self, status: StatusCode, kind: &str) -> (StatusCode, ErrorBody) {
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
        (status, ErrorBody::new(status, self.to_string(), None, Some(code)).with_budget(self.budget()))
    }

    /// Returns the budget that refused the request, if one did.
    fn budget(&self) -> Option<ProblemBudget> {
        match self {
            Self::Service(ServiceError::LimitReached(Reached::Budget(used_up))) => {
                Some(ProblemBudget { resets_at: used_up.resets_at, used: used_up.used, limit: used_up.limit })
            }
            _ => None,
        }
    }

    /// Converts an error of the client to a refusal that names the parameter at fault, for API clients. Other errors
    /// stay as they are.
    pub(crate) fn in_param(self, param: &str) -> Self {
        let (status, kind, _) = self.kind();
        if !status.is_client_error() || matches!(self, Self::Refused(_)) {
            return self;
        }
        let status = if status == StatusCode::UNPROCESSABLE_ENTITY { StatusCode::BAD_REQUEST } else { status };
        let code = Some(kind.replace('-', "_"));
        Refusal { status, code, ..Refusal::bad(param, self.to_string()) }.into()
    }

    /// Returns the status, the last segment of the problem type, and the title.
    fn kind(&self) -> Kind {
        match self {
            Self::Service(error) => problem_types::of_service(error),
            Self::Files(error) => problem_types::of_files(error),
            Self::NoSuchRange(_) => (StatusCode::RANGE_NOT_SATISFIABLE, "no-such-range", "No such range"),
            Self::Accounts(error) => problem_types::of_accounts(error),
            Self::Settings(error) => problem_types::of_settings(error),
            Self::Refused(refusal) => (refusal.status, "refused", "No answer"),
            Self::ToolHistory(error) => problem_types::of_tool_history(error),
            Self::NotSignedIn => (StatusCode::UNAUTHORIZED, "not-signed-in", "Not signed in"),
            Self::AccountDeactivated => (StatusCode::UNAUTHORIZED, "account-deactivated", "Account deactivated"),
            Self::AdminsOnly => (StatusCode::FORBIDDEN, "admins-only", "Admins only"),
            Self::SessionsOnly => (StatusCode::FORBIDDEN, "persons-only", "API keys cannot do this"),
            Self::SetupRequired => (StatusCode::SERVICE_UNAVAILABLE, "setup-required", "Setup required"),
            Self::NotPermitted(_) => (StatusCode::FORBIDDEN, "not-permitted", "Not permitted"),
            Self::SharingOff => (StatusCode::FORBIDDEN, "sharing-off", "Sharing is off"),
            Self::NoTls => (StatusCode::FORBIDDEN, "no-tls", "HTTPS required"),
            Self::Metrics(_) | Self::Page(_) | Self::Task(_) => INTERNAL,
            Self::Body(_) => (StatusCode::BAD_REQUEST, "bad-body", "Invalid body"),
            Self::BodyTooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", "The body is too large"),
            Self::BodyTooSlow => (StatusCode::REQUEST_TIMEOUT, "body-too-slow", "Body timeout"),
            Self::NotJson => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", "The body is not JSON"),
            Self::Query(_) => (StatusCode::BAD_REQUEST, "bad-query", "Invalid query string"),
            Self::NoSuchRoute(_) => (StatusCode::NOT_FOUND, "no-such-route", "Not found"),
            Self::MethodNotAllowed { .. } => {
                (StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", "Method not allowed")
            }
            Self::TooManyStreams(_) => (StatusCode::TOO_MANY_REQUESTS, "too-many-streams", "Too many event streams"),
            Self::TooManyStreamsInAll => {
                (StatusCode::SERVICE_UNAVAILABLE, "too-many-streams", "Too many event streams")
            }
            Self::ForeignOrigin => (StatusCode::FORBIDDEN, "foreign-origin", "Cross-site request"),
            Self::ForeignHost => (StatusCode::FORBIDDEN, "foreign-host", "Host name not allowed"),
        }
    }
}

fn not_permitted(permission: &Permission) -> String {
    let what = match permission {
        Permission::MakeKeys => "create API keys",
        Permission::Upload => "upload files",
        Permission::Share => "share conversations",
        Permission::Model(_) => "use this model",
        Permission::ToolServer(_) => "use these tools",
    };
    format!("Only some groups may {what}, and you are in none of them. Ask an admin.")
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        self.kind().0
    }

    fn error_response(&self) -> HttpResponse {
        let (status, kind, title) = self.kind();
        let request_id = request_id::current();
        // `main` logs a missing admin once, at the start, and that the server shuts down.
        // The admin who asked for a provider's models sees why there are none.
        let is_logged = matches!(
            self,
            Self::SetupRequired
                | Self::Service(ServiceError::ShuttingDown)
                | Self::Settings(SettingsError::Discover(_))
        );
        if status.is_server_error() && !is_logged {
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
        if let Self::NoSuchRange(bytes) = self {
            response.insert_header((header::CONTENT_RANGE, format!("bytes */{bytes}")));
        }
        if let Self::NotSignedIn | Self::AccountDeactivated = self {
            response.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
        }
        if let Self::MethodNotAllowed { allowed, .. } = self {
            response.insert_header((header::ALLOW, &**allowed));
        }
        if let Self::Refused(Refusal { conversation: Some(uuid), .. }) = self {
            // OpenAI's client libraries read this header.
            response.insert_header(("x-should-retry", "false"));
            response.insert_header((CONVERSATION, uuid.to_string()));
        }
        if wants_openai_errors() {
            let (status, body) = self.for_api_clients(status, kind);
            return response.status(status).json(body);
        }
        response.content_type("application/problem+json").json(Problem {
            kind: format!("/problems/{kind}"),
            title: title.to_owned(),
            status: status.as_u16(),
            detail: self.to_string(),
            request_id: request_id.to_string(),
            budget: self.budget(),
        })
    }
}

#[cfg(test)]
mod tests {
    /// All problem types are string literals in this file and in `problem_types`.
    #[test]
    fn the_api_document_has_every_problem_type() {
        let (code, _) = include_str!("error.rs").split_once("#[cfg(test)]").unwrap();
        let code = format!("{code}{}", include_str!("problem_types.rs"));
        let document = include_str!("../../../../docs/reference/api.md");
        let (_, table) = document.split_once("## Problem types").unwrap();
        let quoted = code.split('"').skip(1).step_by(2);
        let is_type =
            |word: &&str| word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_lowercase() || b"-_".contains(&byte));
        let no_types = ["false", "model", "invalid_api_key", "model_not_found", "refused", "x-should-retry"];
        let types: Vec<&str> = quoted.filter(is_type).filter(|word| !no_types.contains(word)).collect();
        assert!(types.len() > 60, "{types:?}");
        for word in types {
            assert!(table.contains(&format!("| `{word}` | ")), "{word} is not in docs/reference/api.md");
        }
        let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let with_underscore: Vec<&str> = rows.map(|(kind, _)| kind).filter(|kind| kind.contains('_')).collect();
        assert_eq!(with_underscore, ["awaiting_approval", "already_decided", "tool_changed"]);
    }
}
