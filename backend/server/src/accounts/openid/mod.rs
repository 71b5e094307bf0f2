//! Signing in by OpenID Connect, as far as it concerns the issuer: where it is (`settings`), what it says of itself
//! (`issuer`), how it is asked (`transport`), what a browser holds while its owner is there (`flow`), and who came back
//! (`redeem`). Whose account that is stands in `identity_sign_in`.

mod error;
mod flow;
mod issuer;
mod redeem;
mod settings;
mod transport;

pub use error::OpenIdError;
pub(super) use flow::Flow;
pub(crate) use flow::{FLOW_LIFETIME, Purpose};
pub(super) use issuer::Issuer;
pub(super) use redeem::Claims;
pub use settings::OpenIdSettings;
pub(super) use settings::is_subject;
