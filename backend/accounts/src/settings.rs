//! Operator settings for accounts.

use std::net::IpAddr;

use ipnet::IpNet;
use tallybook_http_client::is_loopback_address;

use super::openid::OpenIdSettings;

/// Value of the setting `ACCOUNTS`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum AccountsMode {
    /// Off on a loopback address, on elsewhere.
    #[default]
    Auto,
    /// On, even on a loopback address, as behind a proxy.
    On,
    /// Off; allowed only on a loopback address.
    Off,
}

/// Value of the setting `SIGN_UP`: who can create an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum SignUp {
    /// Anyone who can reach the server.
    Open,
    /// Only users with an invitation link of an admin.
    #[default]
    Invitation,
    /// Only admins create accounts.
    Closed,
}

impl SignUp {
    /// Returns the policy with this name.
    pub fn named(name: &str) -> Option<Self> {
        <Self as clap::ValueEnum>::from_str(name, false).ok()
    }

    /// Returns the name of the policy.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Invitation => "invitation",
            Self::Closed => "closed",
        }
    }
}

/// Rules that admins can change while the server runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountRules {
    /// Sign-up policy: who can create an account.
    pub sign_up: SignUp,
    /// `true` if users can share conversations with links.
    pub sharing: bool,
}

/// Operator settings for accounts.
#[derive(Clone, Debug, Default)]
pub struct AccountsSettings {
    /// `true` if users must sign in.
    pub required: bool,
    /// Sign-up policy at the start: who can create an account.
    pub sign_up: SignUp,
    /// `true` if users can share conversations with links, at the start.
    pub sharing: bool,
    /// Networks of the reverse proxies whose `X-Forwarded-For` header is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// Identity provider for sign-in with OpenID Connect, if configured.
    pub openid: Option<OpenIdSettings>,
}

impl AccountsSettings {
    /// Returns whether users must sign in to a server that listens on `address`. Returns `None` if accounts are off on
    /// an address other than loopback, which would leave the server open to everyone.
    pub fn is_required(mode: AccountsMode, address: IpAddr) -> Option<bool> {
        let is_loopback = is_loopback_address(address);
        match mode {
            AccountsMode::On => Some(true),
            AccountsMode::Auto => Some(!is_loopback),
            AccountsMode::Off => is_loopback.then_some(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AccountsMode, AccountsSettings};

    #[test]
    fn accounts_can_be_off_only_on_a_loopback_address() {
        for (mode, address, required) in [
            (AccountsMode::Auto, "127.0.0.1", Some(false)),
            (AccountsMode::Auto, "::1", Some(false)),
            (AccountsMode::Auto, "::ffff:127.0.0.1", Some(false)),
            (AccountsMode::Auto, "0.0.0.0", Some(true)),
            (AccountsMode::Auto, "::", Some(true)),
            (AccountsMode::Auto, "192.168.0.7", Some(true)),
            (AccountsMode::On, "127.0.0.1", Some(true)),
            (AccountsMode::Off, "127.9.9.9", Some(false)),
            (AccountsMode::Off, "0.0.0.0", None),
            (AccountsMode::Off, "fd00::7", None),
        ] {
            assert_eq!(AccountsSettings::is_required(mode, address.parse().unwrap()), required, "{mode:?} {address}");
        }
    }
}
