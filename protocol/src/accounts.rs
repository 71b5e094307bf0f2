//! Users, their sessions and API keys, and invitations, as the API shows them. A secret appears only in the response
//! that creates it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{access_record::AccessRecord, budget::BudgetStatus, usage::PurposeUsage};

/// Maximum length of a user's instructions to every model, in characters.
pub const MAX_INSTRUCTIONS_CHARS: usize = 4000;

/// Role of a user, which decides what the user may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum UserRole {
    /// Has conversations.
    #[default]
    User,
    /// Also manages the accounts and the server.
    Admin,
}

impl UserRole {
    /// Returns the name of the role, on the wire and in tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Admin => "admin",
        }
    }
}

impl From<String> for UserRole {
    /// Converts every name except `admin` to a plain user, who has no additional permissions.
    fn from(word: String) -> Self {
        if word == "admin" { Self::Admin } else { Self::User }
    }
}

/// A user account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct User {
    /// ID of the account, which URLs contain.
    pub id: i64,
    /// The user name for signing in, in lower case.
    pub name: String,
    /// The user's role.
    pub role: UserRole,
    /// Time at which the account was created.
    pub created_at: DateTime<Utc>,
    /// Time at which the account was deactivated; absent while the user can sign in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deactivated_at: Option<DateTime<Utc>>,
    /// Time at which the user deleted the account; absent if it is not deleted. A deletion cannot be undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<DateTime<Utc>>,
}

/// The user who sends the request, with the user's own settings and limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Me {
    /// The user name for signing in; absent on a server without accounts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The user's role.
    pub role: UserRole,
    /// `true` if the account has a password, which some requests need.
    #[serde(default)]
    pub has_password: bool,
    /// The user's instructions. Every prompt for the user contains them after the system prompt.
    pub instructions: String,
    /// The user's limits, and how much of each is left.
    #[serde(default)]
    pub limits: Quotas,
    /// The budgets that apply to the user, and how much of each is used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<BudgetStatus>,
    /// Names of the user's groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// The rights that some users may not have.
    #[serde(default)]
    pub rights: Rights,
    /// Name of the identity provider that users can sign in with; absent if the server has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// Number of the user's conversations, including archived ones.
    #[serde(default)]
    pub conversations: u64,
    /// Tokens and costs of the user's model calls since the beginning of the month, in UTC, by purpose.
    #[serde(default)]
    pub this_month: Vec<PurposeUsage>,
    /// Changes of the account by admins or the server's operator that the user has not acknowledged: the newest first,
    /// at most 10. Empty for API keys.
    #[serde(default)]
    pub account_changes: Vec<AccessRecord>,
}

/// Rights that admins can grant to groups. Without grants, every user has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Rights {
    /// `true` if the user can create API keys.
    pub make_keys: bool,
    /// `true` if the user can upload files.
    pub upload: bool,
    /// `true` if the user can create share links.
    pub share: bool,
}

/// Limits of a user. A field is absent if the server has no such limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Allowances))]
pub struct Quotas {
    /// Turns that run at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Quota>,
    /// Requests that call a model, within one minute. Background tasks count a quarter each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages_per_minute: Option<Quota>,
    /// Tokens that models read and write within 24 hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<Quota>,
}

/// A limit, and how much of it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Allowance))]
pub struct Quota {
    /// The limit.
    pub limit: u64,
    /// The amount that is left now.
    pub left: u64,
}

/// Body of `PATCH /api/me`. A field that is absent stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UpdateMe {
    /// The new instructions for every model.
    #[cfg_attr(feature = "openapi", schema(max_length = 4000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// A browser session of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Session {
    /// ID of the session, which URLs contain. It is not the secret in the browser's cookie.
    pub id: i64,
    /// `true` for the session that sends the request.
    pub current: bool,
    /// Time of the sign-in.
    pub created_at: DateTime<Utc>,
    /// Time of the session's last request, with an accuracy of one minute.
    pub last_seen_at: DateTime<Utc>,
    /// Time at which the session expires unless there are further requests.
    pub expires_at: DateTime<Utc>,
    /// The browser's `User-Agent`.
    pub user_agent: String,
    /// The client's IP address.
    pub address: String,
}

/// An API key of a user, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyInfo {
    /// ID of the key, which URLs contain.
    pub id: i64,
    /// The name that its owner gave it.
    pub name: String,
    /// The first characters of the key.
    pub prefix: String,
    /// Time of creation.
    pub created_at: DateTime<Utc>,
    /// Time of the last request with the key, with an accuracy of one minute; null if it was never used.
    pub last_used_at: Option<DateTime<Utc>>,
    /// Time at which the key expires; absent if it does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<DateTime<Utc>>,
}

/// An API key that was just created. Only this response contains the key itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = MadeKey))]
pub struct CreatedKey {
    /// ID of the key, which URLs contain.
    pub id: i64,
    /// The key itself.
    pub key: String,
    /// The first characters of the key, which lists show.
    pub prefix: String,
}

/// An invitation link, which creates one account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Invitation {
    /// ID of the invitation, which URLs contain.
    #[serde(default)]
    pub id: i64,
    /// The link: its path and query on this server, or the whole address if the server has a `PUBLIC_URL`.
    pub url: String,
    /// Time at which the invitation expires.
    pub expires_at: DateTime<Utc>,
}

/// An unused invitation, without its link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InvitationInfo {
    /// ID of the invitation, which URLs contain.
    pub id: i64,
    /// Role of the account that the invitation creates.
    pub role: UserRole,
    /// Name of the admin who created the invitation.
    pub created_by: String,
    /// Time of creation.
    pub created_at: DateTime<Utc>,
    /// Time at which the invitation expires.
    pub expires_at: DateTime<Utc>,
}

/// A user's identity at an OpenID Connect provider, linked to an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Identity {
    /// ID of the identity, which URLs contain.
    pub id: i64,
    /// The provider's issuer URL.
    pub issuer: String,
    /// The provider's stable identifier of the user (`sub`). It is never reassigned to another user.
    pub subject: String,
    /// Label for lists: the email address, user name or `sub` that the provider reported last.
    pub label: String,
    /// Time at which the identity was linked.
    pub created_at: DateTime<Utc>,
    /// Time of the last sign-in with this identity; null if it was never used.
    pub last_used_at: Option<DateTime<Utc>>,
}

/// The page that the browser must open to link an identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Linking))]
pub struct LinkRedirect {
    /// URL at the identity provider.
    pub url: String,
}
