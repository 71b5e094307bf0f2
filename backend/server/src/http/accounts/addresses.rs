//! The addresses at which strangers are let in.

/// Signs in.
pub(in crate::http) const SIGN_IN: &str = "/sign-in";
/// Leads to the issuer by which people sign in.
pub(in crate::http) const SIGN_IN_AWAY: &str = "/sign-in/away";
/// Where the issuer sends them back to.
pub(in crate::http) const SIGN_IN_BACK: &str = "/sign-in/callback";
/// Signs out.
pub(in crate::http) const SIGN_OUT: &str = "/sign-out";
/// Makes the first admin.
pub(in crate::http) const SETUP: &str = "/setup";
/// Makes an account.
pub(in crate::http) const INVITATION: &str = "/invitation";
/// The session of whoever asks.
pub(in crate::http) const API_SESSION: &str = "/api/session";
