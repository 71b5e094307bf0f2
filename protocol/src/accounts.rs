//! Users, their sessions and API keys, and invitations, as the API shows them. A secret appears only in the response that creates
//! it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{look::Look, usage::PurposeUsage};

/// Maximum length of a user's instructions to every model, in characters.
pub const MAX_INSTRUCTIONS_CHARS: usize = 4000;

/// What a person may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum UserRole {
    /// Has conversations.
    #[default]
    User,
    /// Also makes accounts and looks after the server.
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

/// A person who has an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct User {
    /// Names the account in addresses.
    pub id: i64,
    /// What the person signs in with; in lower case.
    pub name: String,
    /// What the person may do.
    pub role: UserRole,
    /// When the account was made.
    pub created_at: DateTime<Utc>,
    /// Since when nobody can sign in to it; absent while somebody can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deactivated_at: Option<DateTime<Utc>>,
    /// When the person deleted it, which nobody takes back; absent while it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<DateTime<Utc>>,
}

/// Who asks, and what is the person's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Me {
    /// What the person signs in with; absent on a server without accounts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the person may do.
    pub role: UserRole,
    /// `true` if the account has a password, which some requests need.
    #[serde(default)]
    pub has_password: bool,
    /// What every model is told on the person's behalf.
    pub instructions: String,
    /// What the person may use up.
    #[serde(default)]
    pub limits: Allowances,
    /// By whom people sign in without a password of this server; absent where there is nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// What models used up for the person since the month began, in UTC.
    #[serde(default)]
    pub this_month: Vec<PurposeUsage>,
    /// Changes of the account by admins or the server's operator that the user has not acknowledged: the newest first, at
    /// most 10. Empty for API keys.
    #[serde(default)]
    pub account_changes: Vec<Look>,
}

/// What one person may use up; absent where there is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Allowances {
    /// Turns that run at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Allowance>,
    /// Answers that begin or go on within a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages_per_minute: Option<Allowance>,
    /// Tokens that models read and write within 24 hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<Allowance>,
}

/// A limit, and how much of it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Allowance {
    /// The limit.
    pub limit: u64,
    /// What is left of it now.
    pub left: u64,
}

/// What a person changes of what is the person's own; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UpdateMe {
    /// What every model is to be told from now on.
    #[cfg_attr(feature = "openapi", schema(max_length = 4000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// A browser that somebody signed in with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Session {
    /// Names the session in addresses; it is not what the browser shows.
    pub id: i64,
    /// Whether it is the one that asks.
    pub current: bool,
    /// When it was signed in.
    pub created_at: DateTime<Utc>,
    /// When it was last heard of, to the minute.
    pub last_seen_at: DateTime<Utc>,
    /// When it ends unless it is heard of again.
    pub expires_at: DateTime<Utc>,
    /// What the browser calls itself.
    pub user_agent: String,
    /// The address it came from.
    pub address: String,
}

/// A key by which a program asks in a person's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyInfo {
    /// Names the key in addresses.
    pub id: i64,
    /// What its owner calls it.
    pub name: String,
    /// How it begins.
    pub prefix: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<DateTime<Utc>>,
    /// When it expires; absent if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<DateTime<Utc>>,
}

/// A key just made. Nobody is told it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MadeKey {
    /// Names the key in addresses.
    pub id: i64,
    /// The key itself.
    pub key: String,
    /// How it begins, which lists show.
    pub prefix: String,
}

/// A link that makes one account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Invitation {
    /// Names the invitation in addresses.
    #[serde(default)]
    pub id: i64,
    /// The link: its path and query on this server, or the whole address if the server has a `PUBLIC_URL`.
    pub url: String,
    /// Until when it can be used.
    pub expires_at: DateTime<Utc>,
}

/// An invitation that was not used yet, without its link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InvitationInfo {
    /// Names the invitation in addresses.
    pub id: i64,
    /// The role of the account that it makes.
    pub role: UserRole,
    /// The admin who made it.
    pub created_by: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// Until when it can be used.
    pub expires_at: DateTime<Utc>,
}

/// Who somebody is at an issuer of OpenID Connect, linked to an account here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Identity {
    /// Names the identity in addresses.
    pub id: i64,
    /// The issuer's address.
    pub issuer: String,
    /// The issuer's name for the person, which never becomes another's.
    pub subject: String,
    /// What the issuer called the person last.
    pub label: String,
    /// When it was linked.
    pub created_at: DateTime<Utc>,
    /// When somebody last signed in by it.
    pub last_used_at: Option<DateTime<Utc>>,
}

/// Where a browser goes to link an identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Linking {
    /// The issuer's page.
    pub url: String,
}
