//! Settings of the identity provider.

use std::time::Duration;

use secrecy::SecretString;
use tallybook_http_client::is_loopback;
use url::Url;

/// Maximum length of an issuer URL, in bytes, which is the size of its database column.
const MAX_ISSUER_BYTES: usize = 255;
/// Maximum length of a subject (`sub`), in bytes.
const MAX_SUBJECT_BYTES: usize = 255;

/// Settings of the identity provider.
#[derive(Clone, Debug)]
pub struct OpenIdSettings {
    /// Issuer URL, as in the provider's metadata. A missing or additional trailing slash is accepted.
    pub issuer: String,
    /// OAuth client ID of this server.
    pub client_id: String,
    /// OAuth client secret. Without it, only PKCE protects the code that the provider issues.
    pub client_secret: Option<SecretString>,
    /// Display name of the provider.
    pub name: String,
    /// OIDC scopes to request besides `openid`.
    pub scopes: Vec<String>,
    /// Domains of the verified email addresses with which sign-in is allowed. If empty, all users can sign in.
    pub email_domains: Vec<String>,
    /// Name of the claim that lists the user's groups; `None` if groups are not read. A name with dots is also a path.
    pub groups_claim: Option<String>,
    /// Timeout of one request to the provider.
    pub timeout: Duration,
}

impl OpenIdSettings {
    /// Checks an issuer URL. The error text continues a sentence that starts with the setting's name.
    pub fn check_issuer(address: &str) -> Result<(), &'static str> {
        let Ok(url) = Url::parse(address) else { return Err("is not a valid URL") };
        if !is_safe_endpoint(&url) {
            return Err("must begin with https://; http:// is allowed only for localhost");
        }
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
            return Err("must not contain a user name, password, query or fragment");
        }
        if address.len() > MAX_ISSUER_BYTES { Err("is too long") } else { Ok(()) }
    }

    /// Returns `true` if a user with this verified email address can sign in.
    pub(crate) fn allows_email(&self, verified_email: Option<&str>) -> bool {
        if self.email_domains.is_empty() {
            return true;
        }
        let domain = verified_email.and_then(|email| email.rsplit_once('@')).map(|(_, domain)| domain);
        domain.is_some_and(|domain| self.email_domains.iter().any(|ours| ours.eq_ignore_ascii_case(domain)))
    }
}

/// Returns `true` if the text is a valid subject (`sub`): printable ASCII of at most 255 bytes. Spaces are refused,
/// since some databases ignore trailing spaces in comparisons.
pub(crate) fn is_subject(text: &str) -> bool {
    (1..=MAX_SUBJECT_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns `true` if a URL of the provider is safe for sign-in traffic: `https`, or plain `http` to localhost.
pub(crate) fn is_safe_endpoint(url: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::OpenIdSettings;

    #[test]
    fn issuer_urls_need_tls_except_on_localhost() {
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
    fn only_verified_addresses_of_the_domains_are_allowed() {
        let settings = |domains: &[&str]| OpenIdSettings {
            issuer: String::new(),
            client_id: String::new(),
            client_secret: None,
            name: String::new(),
            scopes: Vec::new(),
            email_domains: domains.iter().map(|domain| (*domain).to_owned()).collect(),
            groups_claim: None,
            timeout: Duration::ZERO,
        };
        assert!(settings(&[]).allows_email(None));
        let ours = settings(&["example.org"]);
        assert!(ours.allows_email(Some("a@Example.org")));
        for email in
            [None, Some("a@evil.example"), Some("a@example.org@evil.example"), Some("a@sub.example.org"), Some("x")]
        {
            assert!(!ours.allows_email(email), "{email:?}");
        }
    }
}
