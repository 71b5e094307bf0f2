//! Which issuer says who people are, and how this server is known to it.

use std::{net::IpAddr, time::Duration};

use secrecy::SecretString;
use url::{Host, Url};

/// The longest address of an issuer, in bytes; as long as the column that it is kept in.
const MAX_ISSUER_BYTES: usize = 255;
/// The longest name that an issuer may have for somebody.
const MAX_SUBJECT_BYTES: usize = 255;

/// Which issuer says who people are, and how this server is known to it.
#[derive(Clone, Debug)]
pub struct OpenIdSettings {
    /// The issuer's address, as it writes it itself.
    pub issuer: String,
    /// What this server is called at the issuer.
    pub client_id: String,
    /// What proves that; without it PKCE alone protects what the issuer sends.
    pub client_secret: Option<SecretString>,
    /// What people know the issuer by.
    pub name: String,
    /// What is asked of it besides who somebody is.
    pub scopes: Vec<String>,
    /// The domains of verified e-mail addresses that come in; empty for everybody.
    pub email_domains: Vec<String>,
    /// How long one answer of the issuer is waited for.
    pub patience: Duration,
}

impl OpenIdSettings {
    /// What is wrong with the address of an issuer.
    pub(crate) fn check_issuer(address: &str) -> Result<(), &'static str> {
        let Ok(url) = Url::parse(address) else { return Err("is not an address") };
        if !may_be_asked(&url) {
            return Err("must begin with https://; plain http is for this machine alone");
        }
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
            return Err("must hold no user name, password, query or fragment");
        }
        if address.len() > MAX_ISSUER_BYTES { Err("is too long") } else { Ok(()) }
    }

    /// Whether a verified e-mail address lets somebody in.
    pub(in crate::accounts) fn lets_in(&self, verified_email: Option<&str>) -> bool {
        if self.email_domains.is_empty() {
            return true;
        }
        let domain = verified_email.and_then(|email| email.rsplit_once('@')).map(|(_, domain)| domain);
        domain.is_some_and(|domain| self.email_domains.iter().any(|ours| ours.eq_ignore_ascii_case(domain)))
    }
}

/// Whether this can be an issuer's name for a person, as the standard has it. Without spaces, which some databases skip at
/// the end of what they compare.
pub(in crate::accounts) fn is_subject(text: &str) -> bool {
    (1..=MAX_SUBJECT_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether an address of the issuer's may be asked: what goes there says who people are.
pub(super) fn may_be_asked(url: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && is_on_this_machine(url))
}

pub(super) fn is_on_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).to_canonical().is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::OpenIdSettings;

    #[test]
    fn an_issuer_is_asked_over_tls_or_on_this_machine() {
        for address in
            ["https://id.example.org", "https://id.example.org/realms/a/", "http://localhost:8080", "http://[::1]/x"]
        {
            assert_eq!(OpenIdSettings::check_issuer(address), Ok(()), "{address}");
        }
        let long = format!("https://id.example.org/{}", "a".repeat(255));
        for address in [
            "id.example.org",
            "http://id.example.org",
            "http://localhost.example.org",
            "ftp://localhost",
            "https://me:secret@id.example.org",
            "https://id.example.org?x=1",
            "https://id.example.org#x",
            &long,
        ] {
            assert!(OpenIdSettings::check_issuer(address).is_err(), "{address}");
        }
    }

    #[test]
    fn only_verified_addresses_of_the_domains_come_in() {
        let settings = |domains: &[&str]| OpenIdSettings {
            issuer: String::new(),
            client_id: String::new(),
            client_secret: None,
            name: String::new(),
            scopes: Vec::new(),
            email_domains: domains.iter().map(|domain| (*domain).to_owned()).collect(),
            patience: Duration::ZERO,
        };
        assert!(settings(&[]).lets_in(None));
        let ours = settings(&["example.org"]);
        assert!(ours.lets_in(Some("a@Example.org")));
        for email in
            [None, Some("a@evil.example"), Some("a@example.org@evil.example"), Some("a@sub.example.org"), Some("x")]
        {
            assert!(!ours.lets_in(email), "{email:?}");
        }
    }
}
