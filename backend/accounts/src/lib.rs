//! Users and their passwords, browser sessions, API keys, invitation links and identity providers (OpenID Connect). The
//! SQL is in `store`; HTTP handlers and cookies are in the server.

mod caller;
mod erasure;
mod error;
mod group_sync;
mod identities;
mod identity_sign_in;
mod key_revocation;
mod keys;
mod limits;
mod links;
mod maintenance;
mod me;
mod names;
mod openid;
mod passwords;
mod permissions;
mod refusals;
mod revocable_streams;
mod secret;
mod service;
mod sessions;
mod settings;
mod sign_in;
mod store;
mod stream_revocation;
mod throttle;
mod users;
mod weak_passwords;

pub use caller::{Caller, Credential, UserId};
pub use error::AccountsError;
pub use identity_sign_in::{AuthorizationRequest, CallbackOutcome, CallbackParams};
pub use keys::NewKey;
pub use limits::{ABSOLUTE_LIFETIME, BROWSER_LIFETIME, FLOW_LIFETIME, MAX_GROUP_NAME_CHARS, MAX_GROUPS};
pub use openid::Purpose;
pub use openid::{OpenIdError, OpenIdSettings};
pub use passwords::Password;
pub use permissions::{Grants, Permission, Permissions, UserPermissions};
pub use revocable_streams::OpenStream;
pub use service::Accounts;
pub use sessions::{Browser, NewSession};
pub use settings::{AccountRules, AccountsMode, AccountsSettings, SignUp};
pub use store::{
    audit::{
        Action as AuditAction, note as note_audit, note_change as note_audit_change,
        note_of_users as note_audit_of_users,
    },
    groups::GroupId,
    users::lock_user,
};
pub use users::UserUpdate;
