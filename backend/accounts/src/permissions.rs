//! Permissions of users. Admins grant models, tool servers and rights to groups; then only the members of these groups
//! may use them. Without grants, all users may. Admins may use everything.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::Arc,
};

use parking_lot::RwLock;
use tallybook_database::Database;
use tallybook_protocol::{Rights, UserRole};

use crate::{
    AccountRules, UserId,
    store::groups::{self, GroupId},
};

/// Something that admins can grant to groups.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Permission {
    /// The model with this name.
    Model(String),
    /// The tools of the tool server with this name.
    ToolServer(String),
    /// Creation of API keys.
    MakeKeys,
    /// Upload of files.
    Upload,
    /// Creation of share links.
    Share,
}

impl Permission {
    /// Reads a permission as the API writes it: `model:NAME`, `tool_server:NAME`, `make_keys`, `upload` or `share`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "make_keys" => Some(Self::MakeKeys),
            "upload" => Some(Self::Upload),
            "share" => Some(Self::Share),
            _ => match text.split_once(':')? {
                (_, "") => None,
                ("model", name) => Some(Self::Model(name.to_owned())),
                ("tool_server", name) => Some(Self::ToolServer(name.to_owned())),
                _ => None,
            },
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(name) => write!(f, "model:{name}"),
            Self::ToolServer(name) => write!(f, "tool_server:{name}"),
            Self::MakeKeys => f.write_str("make_keys"),
            Self::Upload => f.write_str("upload"),
            Self::Share => f.write_str("share"),
        }
    }
}

/// The groups to which each permission is granted.
pub type Grants = HashMap<Permission, HashSet<GroupId>>;

/// The permissions of all users. Cheap to clone; all clones share the same grants.
#[derive(Clone, Debug)]
pub struct Permissions {
    db: Database,
    grants: Arc<RwLock<Arc<Grants>>>,
}

/// The permissions of a user at one moment.
#[derive(Clone, Debug, Default)]
pub struct UserPermissions {
    /// The grants, and the user's groups; `None` if the user may use everything.
    limited: Option<(Arc<Grants>, HashSet<GroupId>)>,
}

impl Permissions {
    /// Creates the permissions without any grant.
    pub fn new(db: Database) -> Self {
        Self { db, grants: Arc::default() }
    }

    /// Replaces the grants.
    pub fn set_grants(&self, grants: Grants) {
        *self.grants.write() = Arc::new(grants);
    }

    /// Returns a user's permissions. Reads the database only if something is granted to a group.
    pub async fn of(&self, user: UserId) -> sqlx::Result<UserPermissions> {
        Ok(self.with_groups(user, false).await?.0)
    }

    /// Returns a user's permissions and groups, in one read. Without grants, the groups are read only if
    /// `needs_groups`.
    pub async fn with_groups(&self, user: UserId, needs_groups: bool) -> sqlx::Result<(UserPermissions, Vec<GroupId>)> {
        let grants = Arc::clone(&self.grants.read());
        if grants.is_empty() && !needs_groups {
            return Ok((UserPermissions::default(), Vec::new()));
        }
        let (role, groups) = groups::find_membership(&self.db, user).await?;
        let is_limited = !grants.is_empty() && role != Some(UserRole::Admin);
        let limited = is_limited.then(|| (grants, groups.iter().copied().collect()));
        Ok((UserPermissions { limited }, groups))
    }

    /// Lists the groups of a user with their names.
    pub async fn groups_of(&self, user: UserId) -> sqlx::Result<Vec<(GroupId, String)>> {
        groups::list_of(&self.db, user).await
    }
}

impl UserPermissions {
    /// Returns `true` if the user has the permission.
    pub fn allows(&self, permission: &Permission) -> bool {
        let Some((grants, groups)) = &self.limited else { return true };
        grants.get(permission).is_none_or(|granted| !granted.is_disjoint(groups))
    }

    /// Returns `true` if the user may use the model with this name.
    pub fn allows_model(&self, name: &str) -> bool {
        self.limited.is_none() || self.allows(&Permission::Model(name.to_owned()))
    }

    /// Returns `true` if the user may use the tools of the tool server with this name.
    pub fn allows_tool_server(&self, name: &str) -> bool {
        self.limited.is_none() || self.allows(&Permission::ToolServer(name.to_owned()))
    }

    /// Returns the user's rights on a server with these rules.
    pub fn rights(&self, rules: AccountRules) -> Rights {
        Rights {
            make_keys: self.allows(&Permission::MakeKeys),
            upload: self.allows(&Permission::Upload),
            share: rules.sharing && self.allows(&Permission::Share),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::{HashMap, HashSet},
        sync::Arc,
    };

    use super::{GroupId, Permission, UserPermissions};

    #[test]
    fn permissions_are_read_as_they_are_written() {
        for text in ["model:gpt-5.2", "model:a:b", "tool_server:files", "make_keys", "upload", "share"] {
            assert_eq!(Permission::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "model", "model:", "tool_server:", "tools:x", "admin", "Upload"] {
            assert_eq!(Permission::parse(text), None, "{text}");
        }
    }

    #[test]
    fn only_what_is_granted_to_other_groups_is_not_allowed() {
        let grants = HashMap::from([
            (Permission::Model("large".to_owned()), HashSet::from([GroupId(1), GroupId(2)])),
            (Permission::Upload, HashSet::from([GroupId(3)])),
        ]);
        let user = UserPermissions { limited: Some((Arc::new(grants), HashSet::from([GroupId(2)]))) };
        assert!(user.allows_model("large") && user.allows_model("small") && user.allows_tool_server("large"));
        assert!(!user.allows(&Permission::Upload) && user.allows(&Permission::Share));
        assert!(UserPermissions::default().allows(&Permission::Upload));
    }
}
