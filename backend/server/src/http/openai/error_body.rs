//! Errors in OpenAI's format (<https://platform.openai.com/docs/guides/error-codes>), and which requests get them.

use std::future::Future;

use actix_web::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

tokio::task_local! {
    static IS_FOR_PROGRAMS: bool;
}

/// Runs the handling of a request. If the path is `/v1` or below it, its errors get OpenAI's format.
pub(crate) fn scope<F: Future>(path: &str, answering: F) -> impl Future<Output = F::Output> {
    IS_FOR_PROGRAMS.scope(path == "/v1" || path.starts_with("/v1/"), answering)
}

/// Returns `true` if the errors of the current request have OpenAI's format.
pub(crate) fn is_wanted() -> bool {
    IS_FOR_PROGRAMS.try_with(|is_wanted| *is_wanted).unwrap_or(false)
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
}

impl ErrorBody {
    pub(crate) fn new(status: StatusCode, message: String, param: Option<String>, code: Option<String>) -> Self {
        Self { error: Described { message, kind: kind_of(status), param, code } }
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
