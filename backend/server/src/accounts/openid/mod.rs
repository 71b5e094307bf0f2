//! Signing in by OpenID Connect, as far as it concerns the issuer: where it is (`settings`), what it says of itself
//! (`issuer`, `description`), how it is asked (`transport`), what a browser holds while its owner is there (`flow`), and who came back
//! (`redeem`), by a token (`id_token`) with claims (`person`). `identity_sign_in` finds the account.

mod description;
mod error;
mod flow;
mod id_token;
mod issuer;
mod person;
mod redeem;
mod settings;
mod transport;

pub use error::OpenIdError;
pub(super) use flow::Flow;
pub(crate) use flow::{FLOW_LIFETIME, Purpose};
pub(super) use issuer::Issuer;
pub(super) use person::Claims;
pub use settings::OpenIdSettings;
