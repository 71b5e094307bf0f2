//! Errors in OpenAI's format (<https://platform.openai.com/docs/guides/error-codes>), and the check for requests that
//! get this format. An error also names the parameter at fault, and the conversation in which the question is stored.

use std::future::Future;

use actix_web::http::{StatusCode, header::HeaderName};
use serde::Serialize;
use tallybook_llm::ModelError;
use tallybook_protocol::{ProblemBudget, TurnError};
use utoipa::ToSchema;
use uuid::Uuid;

/// Response header that names the conversation in which an answer is stored, or the question of an answer that failed.
pub(crate) const CONVERSATION: HeaderName = HeaderName::from_static("x-tallybook-conversation");

/// The reason why an API client gets no answer, or no complete one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    /// The parameter at fault.
    pub(crate) param: Option<String>,
    /// Stable name of the cause.
    pub(crate) code: Option<String>,
    /// Conversation in which the question is stored. A retry would store the question a second time.
    pub(crate) conversation: Option<Uuid>,
}

impl Refusal {
    /// Returns the refusal of a request that cannot be answered as it is.
    pub(crate) fn bad(param: impl Into<String>, message: impl Into<String>) -> Self {
        let (param, message) = (Some(param.into()), message.into());
        Self { status: StatusCode::BAD_REQUEST, message, param, code: None, conversation: None }
    }

    /// Returns the refusal for a turn that failed.
    pub(crate) fn of_turn(error: &str, code: &str) -> Self {
        let (status, message, code) = (status_of(code), error.to_owned(), Some(code.to_owned()));
        Self { status, message, param: None, code, conversation: None }
    }

    /// Returns the refusal for the error event of a turn.
    pub(crate) fn of_error(error: &TurnError) -> Self {
        Self::of_turn(&error.error, &error.code)
    }

    /// Returns the refusal for a turn that can no longer be followed.
    pub(crate) fn interrupted() -> Self {
        Self::of_turn("The answer was interrupted. Open the conversation to see its current state.", "interrupted")
    }

    /// Returns the refusal for a direct model call that failed.
    pub(crate) fn of_model(error: &ModelError) -> Self {
        Self::of_turn(&error.to_string(), error.code())
    }

    /// Adds the conversation in which the question is stored, if it is stored.
    pub(crate) fn stored_in(self, conversation: Option<Uuid>) -> Self {
        Self { conversation, ..self }
    }

    /// Returns the response body.
    pub(crate) fn body(&self) -> ErrorBody {
        ErrorBody::new(self.status, self.message.clone(), self.param.clone(), self.code.clone())
    }
}

/// Returns the HTTP status for a turn's error code.
fn status_of(code: &str) -> StatusCode {
    match code {
        "turn_timeout" | "model_timeout" => StatusCode::GATEWAY_TIMEOUT,
        "shutdown" | "shutting_down" | "interrupted" | "storage_unavailable" | "storage_full" => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        code if code.starts_with("model_") => StatusCode::BAD_GATEWAY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

tokio::task_local! {
    static WANTS_OPENAI_ERRORS: bool;
}

/// Runs `answering`, which handles a request. If the path is `/v1` or below it, errors have OpenAI's format.
pub(crate) fn with_error_format<F: Future>(path: &str, answering: F) -> impl Future<Output = F::Output> {
    WANTS_OPENAI_ERRORS.scope(path == "/v1" || path.starts_with("/v1/"), answering)
}

/// Returns `true` if the errors of the current request have OpenAI's format.
pub(crate) fn wants_openai_errors() -> bool {
    WANTS_OPENAI_ERRORS.try_with(|is_wanted| *is_wanted).unwrap_or(false)
}

/// An error as a body, and as the last thing but one in a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    error: Described,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ErrorDescription)]
struct Described {
    message: String,
    #[serde(rename = "type")]
    kind: &'static str,
    param: Option<String>,
    code: Option<String>,
    /// The budget that is used up, if that is the cause.
    #[serde(flatten)]
    budget: Option<ProblemBudget>,
}

impl ErrorBody {
    pub(crate) fn new(status: StatusCode, message: String, param: Option<String>, code: Option<String>) -> Self {
        Self { error: Described { message, kind: kind_of(status), param, code, budget: None } }
    }

    /// Adds the budget that is used up.
    pub(crate) fn with_budget(mut self, budget: Option<ProblemBudget>) -> Self {
        self.error.budget = budget;
        self
    }
}

fn kind_of(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        status if status.is_server_error() => "server_error",
        _ => "invalid_request_error",
    }
}
