//! Errors of requests, with messages for the user.

use leptos::wasm_split::SplitLoaderError;

use crate::{browser::Unreachable, language::Language};

/// The reason why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ApiError {
    /// No response: a network failure, or the server does not run.
    Unreachable,
    /// The server refused the request.
    Refused {
        /// The HTTP status.
        status: u16,
        /// The stable error code; empty if the server sent none.
        code: String,
        /// A sentence for the user: the problem, and how to solve it.
        detail: String,
    },
    /// The response cannot be read, for example because the server has another version.
    Unreadable,
}

impl ApiError {
    /// Returns the message for the user.
    pub(crate) fn message(&self, text: Language) -> String {
        match self {
            Self::Unreachable => text.unreachable().to_owned(),
            Self::Refused { code, detail, status } => match text.problem(code, *status) {
                Some(words) => words.to_owned(),
                None if detail.is_empty() => text.refused(*status),
                None => detail.clone(),
            },
            Self::Unreadable => text.unreadable().to_owned(),
        }
    }

    /// Returns `true` if the user is no longer signed in.
    pub(crate) fn is_signed_out(&self) -> bool {
        matches!(self, Self::Refused { status: 401, .. })
    }

    /// Returns `true` if the server did not do what was requested. Otherwise it may have: the response was lost, or a
    /// proxy before the server answered with an error of its own.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { status, code, .. } if *status < 500 || !code.is_empty())
    }

    /// Returns `true` if the same request may succeed later.
    pub(crate) fn may_succeed_later(&self) -> bool {
        match self {
            Self::Unreachable | Self::Unreadable => true,
            Self::Refused { status, .. } => matches!(status, 401 | 408 | 429 | 500..),
        }
    }

    /// Returns `true` if the resource has another version than the one to change.
    pub(crate) fn is_outdated(&self) -> bool {
        matches!(self, Self::Refused { status: 412, .. })
    }

    /// Returns `true` if the server has no such resource.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }
}

impl From<Unreachable> for ApiError {
    fn from(Unreachable: Unreachable) -> Self {
        Self::Unreachable
    }
}

/// The code that parses the response could not be loaded.
impl From<SplitLoaderError> for ApiError {
    fn from(_: SplitLoaderError) -> Self {
        Self::Unreachable
    }
}
