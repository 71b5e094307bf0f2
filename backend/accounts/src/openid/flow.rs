//! The cookie of an authorization request: a secret, the time of its creation, and its purpose. Nothing is in the
//! database, so any replica can handle the callback. `state`, `nonce` and the PKCE verifier are hashes of the whole
//! cookie. If a part of the cookie is changed, it no longer matches the `state` that comes back.

use chrono::{DateTime, Duration};
use tallybook_database::now;

use super::super::{
    AccountsError,
    limits::FLOW_LIFETIME,
    secret::{Secret, SecretHash},
};

/// Maximum length of an address to return to, in bytes. A longer one is dropped, and the user is redirected to the
/// start page. Invitation tokens are truncated to this length.
const MAX_NEXT_BYTES: usize = 1000;

/// Purpose of an authorization request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Sign in, then open the address `next`.
    SignIn {
        /// Address from the request, unchecked. The code that redirects to it must check that it is on this server.
        next: String,
    },
    /// Create an account with an invitation.
    Invitation {
        /// Token of the invitation link.
        token: String,
    },
    /// Link the identity to the signed-in user's account.
    Link,
}

impl Purpose {
    fn encoded(&self) -> String {
        match self {
            Self::SignIn { next } if next.len() <= MAX_NEXT_BYTES => format!("s{}", hex::encode(next)),
            Self::SignIn { .. } => "s".to_owned(),
            Self::Invitation { token } => {
                format!("i{}", hex::encode(&token.as_bytes()[..token.len().min(MAX_NEXT_BYTES)]))
            }
            Self::Link => "l".to_owned(),
        }
    }

    fn decode(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_at_checked(1)?;
        let value = || hex::decode(rest).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        match kind {
            "s" => Some(Self::SignIn { next: value()? }),
            "i" => Some(Self::Invitation { token: value()? }),
            "l" => Some(Self::Link),
            _ => None,
        }
    }
}

/// An authorization request: the cookie, and the values derived from it.
#[derive(Clone)]
pub(crate) struct Flow {
    value: String,
    /// Secret of the session that links an identity, so that no other session can complete the request. Empty for other
    /// purposes.
    session: String,
}

impl Flow {
    /// Creates a new authorization request. `session` is the secret in the browser's session cookie; only linking uses
    /// it.
    pub(crate) fn begin(purpose: &Purpose, session: Option<&str>) -> Result<Self, AccountsError> {
        let secret = Secret::make()?;
        let value = format!("{}.{}.{}", secret.expose(), now().timestamp(), purpose.encoded());
        Ok(Self { value, session: bound_to(purpose, session) })
    }

    /// Reads the cookie `value`. Returns `None` if it is malformed, dated in the future, or older than
    /// [`FLOW_LIFETIME`]. The caller must also compare the `state`, see [`Self::is_state`].
    pub(crate) fn parse(value: &str, session: Option<&str>) -> Option<(Self, Purpose)> {
        let mut parts = value.splitn(3, '.');
        let (secret, begun, purpose) = (parts.next()?, parts.next()?, parts.next()?);
        SecretHash::of_token(secret)?;
        let begun = DateTime::from_timestamp(begun.parse().ok()?, 0)?;
        let age = now() - begun;
        let purpose = Purpose::decode(purpose)?;
        let flow = Self { value: value.to_owned(), session: bound_to(&purpose, session) };
        (age >= Duration::seconds(-1) && age <= FLOW_LIFETIME).then_some((flow, purpose))
    }

    /// Returns the value of the cookie.
    pub(crate) fn value(&self) -> &str {
        &self.value
    }

    /// Returns the `state`, which comes back in the callback.
    pub(crate) fn state(&self) -> String {
        self.hash("state")
    }

    /// Returns the `nonce`, which the ID token must contain.
    pub(crate) fn nonce(&self) -> String {
        self.hash("nonce")
    }

    /// Returns the PKCE code verifier, which proves that the client that redeems the code also requested it.
    pub(crate) fn verifier(&self) -> String {
        self.hash("verifier")
    }

    /// Returns `true` if `state` is the `state` of this request. Compares hashes, so that the timing reveals nothing.
    pub(crate) fn is_state(&self, state: &str) -> bool {
        SecretHash::of_text(state) == SecretHash::of_text(&self.state())
    }

    fn hash(&self, what: &str) -> String {
        SecretHash::of_text(&format!("{what}\0{}\0{}", self.value, self.session)).0
    }
}

fn bound_to(purpose: &Purpose, session: Option<&str>) -> String {
    if *purpose == Purpose::Link { session.unwrap_or_default().to_owned() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::{Flow, Purpose};

    #[test]
    fn a_changed_cookie_does_not_match_the_state() {
        let purpose = Purpose::SignIn { next: "/c/検索?x=1".to_owned() };
        let flow = Flow::begin(&purpose, None).unwrap();
        let (again, found) = Flow::parse(flow.value(), None).unwrap();
        assert_eq!((found, again.is_state(&flow.state())), (purpose, true));
        let elsewhere = flow.value().replace(".s2f", ".s2e");
        assert!(!Flow::parse(&elsewhere, None).unwrap().0.is_state(&flow.state()));
        let all = [flow.state(), flow.nonce(), flow.verifier()];
        assert!(all.iter().all(|value| value.len() == 64 && !flow.value().contains(value.as_str())));
        assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2]);
    }

    #[test]
    fn linking_ends_in_the_session_that_started_it() {
        let flow = Flow::begin(&Purpose::Link, Some("mine")).unwrap();
        let is_state = |session| Flow::parse(flow.value(), session).unwrap().0.is_state(&flow.state());
        assert!(is_state(Some("mine")) && !is_state(Some("another")) && !is_state(None));
    }

    #[test]
    fn expired_and_malformed_cookies_are_rejected() {
        let secret = "a".repeat(64);
        for parse in ["", "..", "x.1.l", &format!("{secret}.1.l"), &format!("{secret}.99999999999.l"), &secret] {
            assert!(Flow::parse(parse, None).is_none(), "{parse}");
        }
        let fresh = Flow::begin(&Purpose::Link, None).unwrap();
        for end in ["x", "szz", "s❌"] {
            let (front, _) = fresh.value().rsplit_once('.').unwrap();
            assert!(Flow::parse(&format!("{front}.{end}"), None).is_none(), "{end}");
        }
    }
}
