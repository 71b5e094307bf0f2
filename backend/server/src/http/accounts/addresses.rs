//! Paths that need no authentication: the account forms, single sign-on, and the session API.

/// Sign-in form.
pub(crate) const SIGN_IN: &str = "/sign-in";
/// Redirect to the identity provider.
pub(crate) const SSO_START: &str = "/sign-in/away";
/// Redirect URI to which the identity provider sends the browser back.
pub(crate) const SSO_CALLBACK: &str = "/sign-in/callback";
/// Sign-out.
pub(crate) const SIGN_OUT: &str = "/sign-out";
/// Form that creates the first admin.
pub(crate) const SETUP: &str = "/setup";
/// Form that creates an account, with or without an invitation.
pub(crate) const INVITATION: &str = "/invitation";
/// Session of the caller: sign in with `POST`, sign out with `DELETE`.
pub(crate) const API_SESSION: &str = "/api/session";
