//! What the operator decides of accounts.

use std::net::IpAddr;

use ipnet::IpNet;

use super::openid::OpenIdSettings;

/// What `ACCOUNTS` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum AccountsMode {
    /// Off on a loopback address, on elsewhere.
    #[default]
    Auto,
    /// On, also for a server on a loopback address behind a proxy.
    On,
    /// Off, which is only for loopback addresses.
    Off,
}

/// Who may make an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum SignUp {
    /// Everybody who reaches the server.
    Open,
    /// Whoever has an admin's link.
    #[default]
    Invitation,
    /// Nobody; admins make accounts.
    Closed,
}

/// What the operator decides of accounts.
#[derive(Clone, Debug, Default)]
pub struct AccountsSettings {
    /// Whether people must sign in.
    pub required: bool,
    /// Who may make an account.
    pub sign_up: SignUp,
    /// Whether conversations may be shared by links.
    pub sharing: bool,
    /// The proxies whose word on a client's address is taken.
    pub trusted_proxies: Vec<IpNet>,
    /// Who says who people are, if they may sign in so.
    pub openid: Option<OpenIdSettings>,
}

impl AccountsSettings {
    /// Whether people must sign in to a server that listens on `address`; `None` when that would leave it open to all.
    pub(crate) fn is_required(mode: AccountsMode, address: IpAddr) -> Option<bool> {
        let is_loopback = address.to_canonical().is_loopback();
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
    fn only_a_loopback_address_can_do_without_accounts() {
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
