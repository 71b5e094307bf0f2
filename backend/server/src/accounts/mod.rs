//! Who is asking, and what they may do: people and their passwords, the sessions of their browsers, the keys of their
//! programs, the links by which accounts are made, and who people are at an issuer of OpenID Connect. The SQL is in `store`; what is told over HTTP, and by which cookie,
//! is in `http`.

mod caller;
mod error;
mod identities;
mod identity_sign_in;
mod keys;
mod limits;
mod links;
mod me;
mod names;
mod openid;
mod passwords;
mod people;
mod refusals;
mod revoking;
mod secret;
mod service;
mod sessions;
mod settings;
mod sign_in;
mod store;
mod streams;
mod throttle;
mod upkeep;
mod watch;
mod weak_passwords;

pub use caller::{Caller, Credential, UserId};
pub use error::AccountsError;
pub(crate) use identity_sign_in::{Arrival, Departure, Return};
pub(crate) use keys::NewKey;
pub(crate) use limits::{ABSOLUTE_LIFETIME, BROWSER_LIFETIME};
pub(crate) use openid::{FLOW_LIFETIME, Purpose};
pub use openid::{OpenIdError, OpenIdSettings};
pub use passwords::Password;
pub(crate) use people::UserUpdate;
pub use service::Accounts;
pub(crate) use sessions::{Browser, NewSession};
pub use settings::{AccountsMode, AccountsSettings, SignUp};
pub(crate) use store::{
    audit::{Action as AuditAction, note as note_audit},
    users::hold as hold_person,
};
pub(crate) use streams::OpenStream;
