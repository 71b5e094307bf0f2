//! OpenID Connect client: settings (`settings`), provider metadata (`provider`, `description`), HTTP client
//! (`transport`), authorization requests (`flow`), redemption of codes (`redeem`), ID tokens (`id_token`) and their
//! claims (`claims`). `identity_sign_in` finds the account.

mod claims;
mod description;
mod error;
mod flow;
mod id_token;
mod provider;
mod redeem;
mod settings;
mod transport;

pub(crate) use claims::Claims;
pub use error::OpenIdError;
pub(crate) use flow::Flow;
pub use flow::Purpose;
pub(crate) use provider::IdentityProvider;
pub use settings::OpenIdSettings;
