//! Who is asking, and what they may do: people and their passwords, the sessions of their browsers, the keys of their
//! programs, and the links by which accounts are made. The SQL is in `store`; what is told over HTTP, and by which cookie,
//! is in `http`.

mod caller;
mod error;
mod keys;
mod limits;
mod links;
mod me;
mod names;
mod passwords;
mod people;
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

pub use caller::{Caller, Credential, UserId};
pub use error::AccountsError;
pub(crate) use limits::ABSOLUTE_LIFETIME;
pub use passwords::Password;
pub(crate) use people::UserUpdate;
pub use service::Accounts;
pub(crate) use sessions::{Browser, NewSession};
pub use settings::{AccountsMode, AccountsSettings, SignUp};
pub(crate) use streams::OpenStream;
