//! Groups of users, to which admins grant models, tool servers and rights.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Source of a group, which decides who can change its members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum GroupOrigin {
    /// Admins set the members.
    #[default]
    Page,
    /// The identity provider sets the members at each sign-in (`OIDC_GROUPS_CLAIM`).
    Oidc,
}

impl GroupOrigin {
    /// Returns the name on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Oidc => "oidc",
        }
    }
}

/// A group of users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Group {
    /// ID of the group.
    pub id: i64,
    /// Name of the group; for `oidc`, as the identity provider writes it.
    pub name: String,
    /// Source of the group.
    pub origin: GroupOrigin,
    /// Number of members.
    pub members: i64,
    /// Permissions that only members of this group, or of others with the same grant, have: `model:NAME`,
    /// `tool_server:NAME`, `make_keys`, `upload` and `share`. In alphabetical order.
    pub grants: Vec<String>,
    /// Version of the group, which the header `If-Match` can name.
    pub version: i64,
    /// Time of creation.
    pub created_at: DateTime<Utc>,
}

/// The groups, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Groups {
    /// The groups.
    pub items: Vec<Group>,
}

/// A group to create.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewGroup {
    /// Name of the group, at most 200 characters.
    pub name: String,
    /// Source of the group.
    #[serde(default)]
    pub origin: GroupOrigin,
    /// Permissions of the group.
    #[serde(default)]
    pub grants: Vec<String>,
}

/// Changes to a group. Absent fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UpdateGroup {
    /// New name. A group of the identity provider keeps its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// New permissions, which replace the old ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grants: Option<Vec<String>>,
}

/// Members of a group, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GroupMembers {
    /// The members.
    pub items: Vec<GroupMember>,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GroupMember {
    /// ID of the user.
    pub id: i64,
    /// Name of the user.
    pub name: String,
}

/// The new members of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewGroupMembers {
    /// IDs of the users, at most 10,000.
    pub user_ids: Vec<i64>,
}
