//! What a browser holds while its owner is at the issuer: one secret, when that was made, and what for. Nothing of it is in
//! the database, so any replica takes the way back. `state`, `nonce` and the verifier of PKCE are hashes of all of it, so
//! whatever somebody changes in it no longer goes with the `state` that comes back.

use chrono::{DateTime, Duration};
use tallybook_database::now;

use super::super::{
    AccountsError,
    secret::{Secret, SecretHash},
};

/// How long one may be at the issuer.
pub(crate) const FLOW_LIFETIME: Duration = Duration::minutes(10);

/// The longest address that is remembered, in bytes; a longer one leads to the start.
const MAX_NEXT_BYTES: usize = 1000;

/// What somebody goes to the issuer for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To sign in, and to come back to this address.
    SignIn {
        /// As it was asked for; whoever leads there makes sure that it is here.
        next: String,
    },
    /// To make an account by the invitation with this token.
    Invitation {
        /// What the link holds.
        token: String,
    },
    /// To link who one is there to the account that is signed in.
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

/// What the browser holds, and what follows from it.
#[derive(Clone)]
pub(in crate::accounts) struct Flow {
    value: String,
    /// The secret of the session that something is linked in, so that no other one ends what it began.
    session: String,
}

impl Flow {
    /// A new one; `session` is what the browser shows of the session that it belongs to, if it belongs to one.
    pub(in crate::accounts) fn begin(purpose: &Purpose, session: Option<&str>) -> Result<Self, AccountsError> {
        let secret = Secret::make()?;
        let value = format!("{}.{}.{}", secret.expose(), now().timestamp(), purpose.encoded());
        Ok(Self { value, session: bound_to(purpose, session) })
    }

    /// The one that a browser shows, if it is not too old, with what it is for.
    pub(in crate::accounts) fn shown(value: &str, session: Option<&str>) -> Option<(Self, Purpose)> {
        let mut parts = value.splitn(3, '.');
        let (secret, begun, purpose) = (parts.next()?, parts.next()?, parts.next()?);
        SecretHash::of_token(secret)?;
        let begun = DateTime::from_timestamp(begun.parse().ok()?, 0)?;
        let age = now() - begun;
        let purpose = Purpose::decode(purpose)?;
        let flow = Self { value: value.to_owned(), session: bound_to(&purpose, session) };
        (age >= Duration::seconds(-1) && age <= FLOW_LIFETIME).then_some((flow, purpose))
    }

    /// What the browser is to hold.
    pub(in crate::accounts) fn value(&self) -> &str {
        &self.value
    }

    /// What comes back with the browser.
    pub(in crate::accounts) fn state(&self) -> String {
        self.hash("state")
    }

    /// What the issuer's token must hold.
    pub(in crate::accounts) fn nonce(&self) -> String {
        self.hash("nonce")
    }

    /// What proves to the issuer that whoever redeems its code is who asked for it.
    pub(in crate::accounts) fn verifier(&self) -> String {
        self.hash("verifier")
    }

    /// Whether this is the `state` that the browser was sent away with. Hashes are compared, so that the time that takes
    /// tells nothing.
    pub(in crate::accounts) fn is_state(&self, shown: &str) -> bool {
        SecretHash::of_text(shown) == SecretHash::of_text(&self.state())
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
    fn what_was_changed_on_the_way_no_longer_fits_the_state() {
        let purpose = Purpose::SignIn { next: "/c/検索?x=1".to_owned() };
        let flow = Flow::begin(&purpose, None).unwrap();
        let (again, found) = Flow::shown(flow.value(), None).unwrap();
        assert_eq!((found, again.is_state(&flow.state())), (purpose, true));
        let elsewhere = flow.value().replace(".s2f", ".s2e");
        assert!(!Flow::shown(&elsewhere, None).unwrap().0.is_state(&flow.state()));
        let all = [flow.state(), flow.nonce(), flow.verifier()];
        assert!(all.iter().all(|value| value.len() == 64 && !flow.value().contains(value.as_str())));
        assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2]);
    }

    #[test]
    fn a_link_is_ended_in_the_session_that_began_it() {
        let flow = Flow::begin(&Purpose::Link, Some("mine")).unwrap();
        let is_state = |session| Flow::shown(flow.value(), session).unwrap().0.is_state(&flow.state());
        assert!(is_state(Some("mine")) && !is_state(Some("another")) && !is_state(None));
    }

    #[test]
    fn what_is_too_old_or_nothing_of_ours_is_not_taken() {
        let secret = "a".repeat(64);
        for shown in ["", "..", "x.1.l", &format!("{secret}.1.l"), &format!("{secret}.99999999999.l"), &secret] {
            assert!(Flow::shown(shown, None).is_none(), "{shown}");
        }
        let fresh = Flow::begin(&Purpose::Link, None).unwrap();
        for end in ["x", "szz", "s❌"] {
            let (front, _) = fresh.value().rsplit_once('.').unwrap();
            assert!(Flow::shown(&format!("{front}.{end}"), None).is_none(), "{end}");
        }
    }
}
