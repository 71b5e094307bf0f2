//! The models and tools that a user may use, and the limits that apply: read once when a request for an answer begins.

use tallybook_accounts::{UserId, UserPermissions};

use crate::{
    ServiceError, budget_checks, context::Context, models::PermittedModels, quota::RequestLimits,
    service::ConversationService,
};

/// Access of a user at one moment.
#[derive(Clone)]
pub struct Access {
    /// The models that the user may use.
    pub models: PermittedModels,
    pub(crate) permissions: UserPermissions,
    pub(crate) limits: RequestLimits,
}

impl Context {
    /// Returns a user's access.
    pub(crate) async fn access_of(&self, user: UserId) -> Result<Access, ServiceError> {
        let settings = self.changeable();
        let needs_groups = budget_checks::needs_groups(&settings);
        let (permissions, groups) = self.settings.permissions.with_groups(user, needs_groups).await?;
        let models = self.models.permitted(&permissions);
        Ok(Access { models, permissions, limits: RequestLimits { settings, groups } })
    }
}

impl ConversationService {
    /// Returns a user's access.
    pub async fn access_of(&self, user: UserId) -> Result<Access, ServiceError> {
        self.context.access_of(user).await
    }
}
