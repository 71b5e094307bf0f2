//! Why a request came to nothing, in words for the reader.

use leptos::wasm_split::SplitLoaderError;

use crate::{browser::Unreachable, language::Language};

/// Why a request came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ApiError {
    /// No answer: the network, or a server that is away.
    Unreachable,
    /// The server said no, with this status and this sentence for the reader.
    Refused {
        /// The HTTP status.
        status: u16,
        /// The stable name of the reason; empty when none was given.
        code: String,
        /// What is wrong and what to do about it.
        detail: String,
    },
    /// The answer cannot be read, as from a server of another version.
    Unreadable,
}

impl ApiError {
    /// The sentence for the reader.
    pub(crate) fn message(&self, text: Language) -> String {
        match self {
            Self::Unreachable => text.unreachable().to_owned(),
            Self::Refused { code, detail, status } => match text.problem(code) {
                Some(words) => words.to_owned(),
                None if detail.is_empty() => text.refused(*status),
                None => detail.clone(),
            },
            Self::Unreadable => text.unreadable().to_owned(),
        }
    }

    /// Whether the server says that nobody is signed in any more.
    pub(crate) fn is_signed_out(&self) -> bool {
        matches!(self, Self::Refused { status: 401, .. })
    }

    /// Whether the server says that there is no such thing.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }
}

impl From<Unreachable> for ApiError {
    fn from(Unreachable: Unreachable) -> Self {
        Self::Unreachable
    }
}

/// What reads the answer did not come.
impl From<SplitLoaderError> for ApiError {
    fn from(_: SplitLoaderError) -> Self {
        Self::Unreachable
    }
}
