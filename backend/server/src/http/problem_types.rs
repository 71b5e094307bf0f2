//! The problem types of the errors of use cases, each with its HTTP status and title. `docs/reference/api.md` lists
//! them.

use actix_web::http::StatusCode;
use tallybook_accounts::{AccountsError, OpenIdError};
use tallybook_conversations::{Reached, ServiceError};
use tallybook_database::{FailureKind, classify};
use tallybook_files::FilesError;
use tallybook_runtime_settings::{EntryKind, SealError, SettingsError};
use tallybook_tool_history::ToolHistoryError;

/// Status, last segment of the problem type, and title.
pub(super) type Kind = (StatusCode, &'static str, &'static str);

/// Kind of all errors whose causes only the log names.
pub(super) const INTERNAL: Kind = (StatusCode::INTERNAL_SERVER_ERROR, "internal", "Internal error");

/// Returns the kind of an error of a conversation use case.
pub(super) fn of_service(error: &ServiceError) -> Kind {
    match error {
        ServiceError::NotFound => (StatusCode::NOT_FOUND, "no-such-conversation", "No such conversation"),
        ServiceError::NoSuchMessage => (StatusCode::NOT_FOUND, "no-such-message", "No such message"),
        ServiceError::NoSuchToolCall => (StatusCode::NOT_FOUND, "no-such-tool-call", "No such tool call"),
        ServiceError::NoSuchResponse => (StatusCode::NOT_FOUND, "no-such-response", "No such response"),
        ServiceError::NoSuchTool => (StatusCode::NOT_FOUND, "no-such-tool", "No such tool"),
        ServiceError::NoOutput => (StatusCode::NOT_FOUND, "no-output", "No output"),
        ServiceError::TurnRunning => (StatusCode::CONFLICT, "turn-running", "A turn is running"),
        ServiceError::AwaitingApproval => (StatusCode::CONFLICT, "awaiting_approval", "A turn waits for approval"),
        ServiceError::AlreadyDecided(_) => (StatusCode::CONFLICT, "already_decided", "Already decided"),
        ServiceError::ToolChanged { .. } | ServiceError::DefinitionChanged => {
            (StatusCode::CONFLICT, "tool_changed", "The tool has changed")
        }
        ServiceError::NoSuchApproval => (StatusCode::NOT_FOUND, "no-such-approval", "No such approval"),
        ServiceError::TooManyTools | ServiceError::TooManyShares => (StatusCode::CONFLICT, "too-many", "Limit reached"),
        ServiceError::NothingToResume => (StatusCode::CONFLICT, "nothing-to-continue", "Nothing to continue"),
        ServiceError::LimitReached(reached) => of_limit(*reached),
        ServiceError::TooManyExports => (StatusCode::SERVICE_UNAVAILABLE, "too-many-exports", "Too many exports"),
        ServiceError::NoSuchShare => (StatusCode::NOT_FOUND, "no-such-share", "No such share link"),
        ServiceError::TooLargeToShare => (StatusCode::UNPROCESSABLE_ENTITY, "too-large-to-share", "Too large to share"),
        ServiceError::TooLargeToCopy => (StatusCode::UNPROCESSABLE_ENTITY, "too-large-to-copy", "Too large to copy"),
        ServiceError::TooManyDirectCalls => (StatusCode::TOO_MANY_REQUESTS, "too-many-requests", "Too many requests"),
        ServiceError::Invalid(_) | ServiceError::NothingToCopy => {
            (StatusCode::UNPROCESSABLE_ENTITY, "invalid-input", "Invalid input")
        }
        ServiceError::UnknownModel { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "unknown-model", "No such model"),
        ServiceError::NoModel => (StatusCode::FORBIDDEN, "no-model", "No model"),
        ServiceError::ModelGone { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "model-gone", "The model is gone"),
        ServiceError::ShuttingDown => (StatusCode::SERVICE_UNAVAILABLE, "shutting-down", "The server is shutting down"),
        ServiceError::Storage(error) => of_storage(error),
        ServiceError::NoSuchFile(_) => (StatusCode::UNPROCESSABLE_ENTITY, "no-such-file", "No such file"),
        ServiceError::FileNotReady(_) => (StatusCode::UNPROCESSABLE_ENTITY, "file-not-ready", "File not ready"),
        ServiceError::ModelReadsNoImages { .. } => {
            (StatusCode::UNPROCESSABLE_ENTITY, "model-reads-no-images", "The model reads no images")
        }
        ServiceError::Files(error) => of_files(error),
        ServiceError::Encode(_) => INTERNAL,
    }
}

/// Returns the kind of a file error.
pub(super) fn of_files(error: &FilesError) -> Kind {
    match error {
        FilesError::NotFound => (StatusCode::NOT_FOUND, "no-such-file", "No such file"),
        FilesError::NoSuchPage => (StatusCode::NOT_FOUND, "no-such-page", "No such page"),
        FilesError::InUse => (StatusCode::CONFLICT, "file-in-use", "File in use"),
        FilesError::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "file-too-large", "File too large"),
        FilesError::QuotaReached { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "storage-full", "Storage full"),
        FilesError::UnsupportedType(_) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "file-type", "File type not accepted"),
        FilesError::Unreadable(_) => (StatusCode::UNPROCESSABLE_ENTITY, "file-unreadable", "File unreadable"),
        FilesError::Busy | FilesError::Processor(_) => (StatusCode::SERVICE_UNAVAILABLE, "busy", "Server busy"),
        FilesError::Temporary(_) | FilesError::StoreFull(_) => {
            (StatusCode::INSUFFICIENT_STORAGE, "storage-full", "Storage full")
        }
        FilesError::Objects(_) => {
            (StatusCode::SERVICE_UNAVAILABLE, "storage-unavailable", "The storage is unreachable")
        }
        FilesError::StoreUnknown | FilesError::Damaged => INTERNAL,
        FilesError::Storage(error) => of_storage(error),
    }
}

/// Returns the kind of an error of the settings.
pub(super) fn of_settings(error: &SettingsError) -> Kind {
    match error {
        SettingsError::NotFound(EntryKind::Model, _) => (StatusCode::NOT_FOUND, "no-such-model", "No such model"),
        SettingsError::NotFound(EntryKind::ToolServer, _) => {
            (StatusCode::NOT_FOUND, "no-such-tool-server", "No such tool server")
        }
        SettingsError::SetInFile(..) | SettingsError::SettingInFile(_) => {
            (StatusCode::CONFLICT, "set-in-file", "Set in the settings file")
        }
        SettingsError::NameTaken(..) | SettingsError::GroupNameTaken => {
            (StatusCode::CONFLICT, "name-taken", "The name is taken")
        }
        SettingsError::TooMany(..) => (StatusCode::CONFLICT, "too-many", "Limit reached"),
        SettingsError::Invalid(EntryKind::Model, _) => {
            (StatusCode::UNPROCESSABLE_ENTITY, "invalid-model", "Invalid settings")
        }
        SettingsError::Invalid(EntryKind::ToolServer, _) => {
            (StatusCode::UNPROCESSABLE_ENTITY, "invalid-tool-server", "Invalid settings")
        }
        SettingsError::InvalidSetting(_) => {
            (StatusCode::UNPROCESSABLE_ENTITY, "invalid-setting", "The setting is not valid")
        }
        SettingsError::InvalidBudget(_) => {
            (StatusCode::UNPROCESSABLE_ENTITY, "invalid-budget", "The budget is not valid")
        }
        SettingsError::NoSuchGroup => (StatusCode::NOT_FOUND, "no-such-group", "No such group"),
        SettingsError::InvalidGroup(_) => (StatusCode::UNPROCESSABLE_ENTITY, "invalid-group", "The group is not valid"),
        SettingsError::MembersFromProvider => {
            (StatusCode::CONFLICT, "members-from-provider", "The identity provider sets the members")
        }
        SettingsError::NoSuchChange => (StatusCode::NOT_FOUND, "no-such-change", "No such change"),
        SettingsError::ProgramInFileOnly => {
            (StatusCode::UNPROCESSABLE_ENTITY, "program-in-file-only", "Programs only in the settings file")
        }
        SettingsError::VersionChanged(_) | SettingsError::SettingsChanged | SettingsError::GroupChanged => {
            (StatusCode::PRECONDITION_FAILED, "version-changed", "Changed by another")
        }
        SettingsError::Seal(SealError::NoKey) => (StatusCode::UNPROCESSABLE_ENTITY, "no-secret-key", "No secret key"),
        SettingsError::Seal(_) => INTERNAL,
        SettingsError::Discover(_) => (StatusCode::BAD_GATEWAY, "model-unreachable", "No list of models"),
        SettingsError::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy", "Server busy"),
        SettingsError::Storage(error) => of_storage(error),
    }
}

/// Returns the kind of a usage limit that the user has reached.
fn of_limit(reached: Reached) -> Kind {
    let (kind, title) = match reached {
        Reached::Turns { .. } | Reached::Reserved { .. } => ("too-many-turns", "Too many turns at once"),
        Reached::Messages { .. } => ("too-many-messages", "Too many messages"),
        Reached::Tokens { .. } => ("too-many-tokens", "Too many tokens"),
        Reached::Budget(_) => ("budget-used-up", "Budget used up"),
    };
    (StatusCode::TOO_MANY_REQUESTS, kind, title)
}

/// Returns the kind of an account error.
pub(super) fn of_accounts(error: &AccountsError) -> Kind {
    match error {
        AccountsError::Off => (StatusCode::NOT_FOUND, "accounts-off", "Accounts are off"),
        AccountsError::WrongNameOrPassword => {
            (StatusCode::UNAUTHORIZED, "wrong-name-or-password", "Wrong name or password")
        }
        AccountsError::WrongPassword => (StatusCode::FORBIDDEN, "wrong-password", "Wrong password"),
        AccountsError::NoPassword => (StatusCode::CONFLICT, "no-password", "No password"),
        AccountsError::PasswordNeeded => (StatusCode::FORBIDDEN, "password-needed", "Password required"),
        AccountsError::SignInAgain => (StatusCode::FORBIDDEN, "sign-in-again", "Sign in again"),
        AccountsError::OpenId(error) => of_openid(error),
        AccountsError::Deleted => (StatusCode::CONFLICT, "account-deleted", "The account is deleted"),
        AccountsError::TooManyAttempts { .. } => {
            (StatusCode::TOO_MANY_REQUESTS, "too-many-attempts", "Too many attempts")
        }
        AccountsError::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy", "Server busy"),
        AccountsError::Invalid(_) => (StatusCode::UNPROCESSABLE_ENTITY, "invalid-input", "Invalid input"),
        AccountsError::Deactivated => (StatusCode::FORBIDDEN, "deactivated", "The account is deactivated"),
        AccountsError::NameTaken | AccountsError::NameConfusing => {
            (StatusCode::CONFLICT, "name-taken", "The name is taken")
        }
        AccountsError::NoSuchUser => (StatusCode::NOT_FOUND, "no-such-user", "No such user"),
        AccountsError::NoSuchSession => (StatusCode::NOT_FOUND, "no-such-session", "No such session"),
        AccountsError::NoSuchKey => (StatusCode::NOT_FOUND, "no-such-key", "No such key"),
        AccountsError::NoSuchInvitation => (StatusCode::NOT_FOUND, "no-such-invitation", "No such invitation"),
        AccountsError::LastAdmin => (StatusCode::CONFLICT, "last-admin", "Last admin"),
        AccountsError::LinkExpired => (StatusCode::GONE, "link-over", "The link is no longer valid"),
        AccountsError::SignUpClosed => (StatusCode::FORBIDDEN, "sign-up-closed", "Sign-up is closed"),
        AccountsError::TooManyKeys | AccountsError::TooManyInvitations | AccountsError::TooManyUsers => {
            (StatusCode::CONFLICT, "too-many", "Limit reached")
        }
        AccountsError::Storage(error) => of_storage(error),
        AccountsError::Hash(_) | AccountsError::Random(_) | AccountsError::Task(_) => INTERNAL,
    }
}

/// Returns the kind of an OpenID Connect error.
fn of_openid(error: &OpenIdError) -> Kind {
    match error {
        OpenIdError::Off => (StatusCode::NOT_FOUND, "no-issuer", "OpenID Connect is not set up"),
        OpenIdError::Unreachable { .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, "issuer-unreachable", "The identity provider is unreachable")
        }
        OpenIdError::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy", "Server busy"),
        OpenIdError::Refused { .. } => {
            (StatusCode::UNAUTHORIZED, "not-signed-in-there", "The identity provider refused the sign-in")
        }
        OpenIdError::Stale => (StatusCode::BAD_REQUEST, "sign-in-stale", "Sign-in expired"),
        OpenIdError::Untrusted { .. } => (StatusCode::UNAUTHORIZED, "not-proven", "Sign-in could not be verified"),
        OpenIdError::Unknown { .. } => (StatusCode::FORBIDDEN, "no-account", "No account"),
        OpenIdError::WrongDomain => (StatusCode::FORBIDDEN, "wrong-domain", "Email domain not allowed"),
        OpenIdError::Deactivated => (StatusCode::FORBIDDEN, "deactivated", "The account is deactivated"),
        OpenIdError::Taken => (StatusCode::CONFLICT, "identity-taken", "Linked to another account"),
        OpenIdError::TooMany => (StatusCode::CONFLICT, "too-many", "Limit reached"),
        OpenIdError::NoSuchIdentity => (StatusCode::NOT_FOUND, "no-such-identity", "No such identity"),
        OpenIdError::LastSignInMethod => (StatusCode::CONFLICT, "only-way-in", "The only way to sign in"),
    }
}

/// Returns the kind of a tool history error.
pub(super) fn of_tool_history(error: &ToolHistoryError) -> Kind {
    match error {
        ToolHistoryError::NeedsReason { .. } => (StatusCode::FORBIDDEN, "needs-reason", "Reason required"),
        ToolHistoryError::NoReason => (StatusCode::UNPROCESSABLE_ENTITY, "no-reason", "Invalid reason"),
        ToolHistoryError::NoSuchUser(_) => (StatusCode::NOT_FOUND, "no-such-user", "No such user"),
        ToolHistoryError::NoSuchConversation => (StatusCode::NOT_FOUND, "no-such-conversation", "No such conversation"),
        ToolHistoryError::NoSuchCall => (StatusCode::NOT_FOUND, "no-such-tool-call", "No such tool call"),
        ToolHistoryError::NoRerun(_) => (StatusCode::CONFLICT, "no-rerun", "Cannot be re-run"),
        ToolHistoryError::Busy => (StatusCode::TOO_MANY_REQUESTS, "too-many-searches", "Too many searches"),
        ToolHistoryError::TooManyReruns => (StatusCode::TOO_MANY_REQUESTS, "too-many-reruns", "Too many re-runs"),
        ToolHistoryError::BadCursor => (StatusCode::UNPROCESSABLE_ENTITY, "invalid-input", "Invalid input"),
        ToolHistoryError::Write(_) => INTERNAL,
        ToolHistoryError::Storage(error) => of_storage(error),
    }
}

/// Returns the kind of a database error.
fn of_storage(error: &sqlx::Error) -> Kind {
    match classify(error) {
        FailureKind::Transient => {
            (StatusCode::SERVICE_UNAVAILABLE, "storage-unavailable", "The database is unreachable")
        }
        FailureKind::StorageFull => (StatusCode::INSUFFICIENT_STORAGE, "storage-full", "The database is full"),
        FailureKind::Permanent => INTERNAL,
    }
}
