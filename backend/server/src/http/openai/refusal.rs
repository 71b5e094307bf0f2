//! Why a program gets no answer, where that is more than every refusal says: which parameter is to blame, and whether
//! anything is stored by then.

use actix_web::http::{StatusCode, header::HeaderName};
use tallybook_llm::ModelError;
use tallybook_protocol::TurnError;
use uuid::Uuid;

use super::error_body::ErrorBody;

/// Says in which conversation an answer is stored, or the question of one that failed.
pub(crate) const CONVERSATION: HeaderName = HeaderName::from_static("x-tallybook-conversation");

/// Why a program gets no answer, or no whole one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    /// The parameter that is to blame.
    pub(crate) param: Option<String>,
    /// The stable name of the cause.
    pub(crate) code: Option<String>,
    /// Where the question is stored, so that asking again would store it twice.
    pub(crate) conversation: Option<Uuid>,
}

impl Refusal {
    /// A request that cannot be answered as it is.
    pub(super) fn bad(param: impl Into<String>, message: impl Into<String>) -> Self {
        let (param, message) = (Some(param.into()), message.into());
        Self { status: StatusCode::BAD_REQUEST, message, param, code: None, conversation: None }
    }

    /// The end of a turn that failed.
    pub(super) fn of_turn(error: &str, code: &str) -> Self {
        let (status, message, code) = (status_of(code), error.to_owned(), Some(code.to_owned()));
        Self { status, message, param: None, code, conversation: None }
    }

    /// The same, as the turn told it.
    pub(super) fn of_error(error: &TurnError) -> Self {
        Self::of_turn(&error.error, &error.code)
    }

    /// A turn of which nothing more is heard here.
    pub(super) fn broken_off() -> Self {
        Self::of_turn("The answer broke off. Open the conversation to see what became of it.", "interrupted")
    }

    /// A model that was asked without a turn, and failed.
    pub(super) fn of_model(error: &ModelError) -> Self {
        Self::of_turn(&error.to_string(), error.code())
    }

    /// The same, of a question that is stored there, or nowhere.
    pub(super) fn stored_in(self, conversation: Option<Uuid>) -> Self {
        Self { conversation, ..self }
    }

    /// As it is written.
    pub(crate) fn body(&self) -> ErrorBody {
        ErrorBody::new(self.status, self.message.clone(), self.param.clone(), self.code.clone())
    }
}

/// The status for a turn's error code.
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
