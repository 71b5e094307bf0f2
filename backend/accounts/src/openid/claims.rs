//! Reads a user's claims at an identity provider.

use serde_json::Value;

use super::id_token::Fields;

/// Maximum length of an identity's label, in characters.
const MAX_LABEL_CHARS: usize = 200;

/// A user's claims at the identity provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claims {
    /// The provider's permanent identifier of the user (`sub`).
    pub(crate) subject: String,
    /// User name at the provider (`preferred_username`), which proves nothing.
    pub(crate) username: Option<String>,
    pub(crate) email: Option<String>,
    /// Names of the user's groups; `None` if they are not known.
    pub(crate) groups: Option<Vec<String>>,
    /// `email_verified`; `None` if the provider sends no such claim.
    is_verified: Option<bool>,
    /// `true` if the groups are needed.
    wants_groups: bool,
}

impl Claims {
    /// Reads the claims of the user `subject`. A claim of an unexpected type counts as absent. `groups_claim` is the
    /// name of the claim with the groups.
    pub(crate) fn read(subject: &str, claims: &Fields, groups_claim: Option<&str>) -> Self {
        // Entra ID sends no `email_verified`, but can say that it has verified the owner of the address's domain.
        let is_verified = ["email_verified", "xms_edov"].iter().find_map(|name| truth(claims.get(*name)?));
        let (username, email) = (text(claims, "preferred_username"), text(claims, "email"));
        let groups = groups_claim.and_then(|name| groups(claims, name));
        Self { subject: subject.to_owned(), username, email, groups, is_verified, wants_groups: groups_claim.is_some() }
    }

    /// Returns `true` if no claim is missing.
    pub(crate) fn is_complete(&self) -> bool {
        let has_groups = self.groups.is_some() || !self.wants_groups;
        self.username.is_some() && self.email.is_some() && self.is_verified.is_some() && has_groups
    }

    /// Fills in missing claims from `other`. Takes `email_verified` from `other` unless the two email addresses differ.
    pub(crate) fn or(self, other: Self) -> Self {
        let is_same = self.email.is_none() || other.email.is_none() || self.email == other.email;
        let is_verified = self.is_verified.or(other.is_verified.filter(|_| is_same));
        let (username, email) = (self.username.or(other.username), self.email.or(other.email));
        Self { username, email, groups: self.groups.or(other.groups), is_verified, ..self }
    }

    /// Returns the claims after the provider was asked for all of them: no claim of groups then means no groups.
    pub(crate) fn with_known_groups(self) -> Self {
        Self { groups: self.groups.or_else(|| Some(Vec::new())), ..self }
    }

    /// Returns the email address if the provider has verified it.
    pub(crate) fn verified_email(&self) -> Option<&str> {
        self.email.as_deref().filter(|_| self.is_verified == Some(true))
    }

    /// Returns the label of the identity in the user's settings: email address, user name or `sub`.
    pub(crate) fn label(&self) -> String {
        let label = self.email.as_ref().or(self.username.as_ref()).unwrap_or(&self.subject);
        label.chars().filter(|c| !c.is_control()).take(MAX_LABEL_CHARS).collect()
    }
}

/// Reads the names of the user's groups: a list of texts, or one text. A name with dots is also a path, as in
/// `realm_access.roles`.
fn groups(claims: &Fields, name: &str) -> Option<Vec<String>> {
    let nested = || {
        let mut parts = name.split('.');
        let first = claims.get(parts.next()?)?;
        parts.try_fold(first, |value, part| value.get(part))
    };
    match claims.get(name).or_else(nested)? {
        Value::Array(names) => Some(names.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect()),
        Value::String(name) => Some(vec![name.clone()]),
        _ => None,
    }
}

/// Reads a boolean claim, which some providers write as text or as a number.
fn truth(value: &Value) -> Option<bool> {
    let word = match value {
        Value::Bool(is_true) => return Some(*is_true),
        Value::String(word) => word.trim().to_ascii_lowercase(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    match word.as_str() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// Reads a claim that is a string. Returns `None` if it is empty.
pub(crate) fn text(claims: &Fields, name: &str) -> Option<String> {
    claims.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(ToOwned::to_owned)
}

/// Reads the subject, which some providers write as a number.
pub(crate) fn subject(claims: &Fields) -> Option<String> {
    match claims.get("sub")? {
        Value::String(subject) => Some(subject.clone()),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Claims, subject};

    fn claims(value: Value) -> Claims {
        let Value::Object(fields) = value else { panic!("an object") };
        Claims::read("s-1", &fields, Some("groups"))
    }

    #[test]
    fn email_verified_is_read_in_every_form() {
        for (said, is_verified) in [
            (json!(true), true),
            (json!("true"), true),
            (json!("True"), true),
            (json!("1"), true),
            (json!(1), true),
            (json!(0), false),
            (json!(2), false),
            (json!(false), false),
            (json!("false"), false),
            (json!("yes"), false),
            (json!(["true"]), false),
            (Value::Null, false),
        ] {
            let found = claims(json!({"email": "a@example.org", "email_verified": said}));
            assert_eq!(found.verified_email().is_some(), is_verified, "{said}");
        }
    }

    #[test]
    fn only_the_address_that_was_verified_counts() {
        let verified = json!({"email": "a@example.org", "email_verified": true});
        let or = |one: Value, other: &Value| claims(one).or(claims(other.clone())).verified_email().map(str::to_owned);
        let ours = Some("a@example.org".to_owned());
        assert_eq!(or(json!({}), &verified), ours);
        assert_eq!(or(json!({"email": "a@example.org"}), &verified), ours);
        assert_eq!(or(json!({"email_verified": true}), &json!({"email": "a@example.org"})), ours);
        assert_eq!(or(json!({"email": "b@example.org"}), &verified), None);
        // Entra ID.
        assert_eq!(or(json!({"email": "a@example.org", "xms_edov": "1"}), &json!({})), ours);
        assert_eq!(or(json!({"email": "a@example.org", "email_verified": false, "xms_edov": true}), &json!({})), None);
        assert_eq!(or(json!({"email": "a@example.org", "email_verified": false}), &verified), None);
    }

    #[test]
    fn groups_are_read_from_a_list_a_text_or_a_path() {
        let groups = |value: Value, name: &str| {
            Claims::read("s-1", value.as_object().unwrap(), Some(name)).groups.map(|groups| groups.join(","))
        };
        for (value, name, expected) in [
            (json!({"groups": ["staff", "/team/a", 7, {"name": "x"}]}), "groups", Some("staff,/team/a")),
            (json!({"groups": []}), "groups", Some("")),
            (json!({"groups": "staff"}), "groups", Some("staff")),
            (json!({"realm_access": {"roles": ["admin"]}}), "realm_access.roles", Some("admin")),
            (json!({"https://example.org/groups": ["a"]}), "https://example.org/groups", Some("a")),
            (json!({"groups": {"a": true}}), "groups", None),
            (json!({"realm_access": ["roles"]}), "realm_access.roles", None),
            (json!({}), "groups", None),
        ] {
            assert_eq!(groups(value.clone(), name).as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn claims_with_unexpected_types_are_ignored() {
        let found = claims(json!({"preferred_username": 7, "email": ["a@example.org"], "email_verified": true}));
        assert_eq!((found.username, found.email), (None, None));
        let subject_of = |value: Value| subject(json!({ "sub": value }).as_object().unwrap());
        assert_eq!(subject_of(json!(12_345_678_901_234_567_890_u64)).as_deref(), Some("12345678901234567890"));
        assert_eq!(
            (subject_of(json!("s")).as_deref(), subject_of(json!(1.5)), subject_of(json!(["s"]))),
            (Some("s"), None, None)
        );
    }
}
