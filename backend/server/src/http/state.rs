//! The handlers' shared state, through which they run use cases.

use std::{future::Future, sync::Arc, time::Duration};

use actix_web::web;
use tallybook_accounts::{Accounts, AccountsError, Permission, UserId};
use tallybook_conversations::{ConversationService, ServiceError};
use tallybook_runtime_settings::{RuntimeSettings, SettingsError};
use tallybook_tool_history::{ToolHistory, ToolHistoryError};

use super::{
    connection_limits::ConnectionLimits, error::ApiError, hosts::Hosts, large_body::LargeBodies, limits::Limits,
    metrics::Metrics, metrics_token::MetricsToken, public_url::PublicUrl, site::Site,
};
use crate::page_files::PageFiles;

/// State that all handlers share.
#[derive(Clone)]
pub struct AppState {
    pub(crate) service: ConversationService,
    pub(crate) accounts: Accounts,
    pub(crate) history: ToolHistory,
    pub(crate) settings: RuntimeSettings,
    pub(crate) site: Arc<Site>,
    pub(crate) page_files: PageFiles,
    pub(crate) hosts: Hosts,
    pub(crate) limits: Limits,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) connection_limits: Arc<ConnectionLimits>,
    pub(crate) large_bodies: LargeBodies,
    pub(crate) keep_alive: Duration,
    /// Base URL of links that are used outside the page. If it is `None`, each response uses the URL that its request
    /// was sent to.
    pub(crate) public_url: Option<PublicUrl>,
    /// Token with which monitoring reads `/metrics`, if the operator set one.
    pub(crate) metrics_token: Option<MetricsToken>,
}

/// The services whose use cases the handlers run.
pub(crate) struct Services {
    pub(crate) service: ConversationService,
    pub(crate) accounts: Accounts,
    pub(crate) history: ToolHistory,
    pub(crate) settings: RuntimeSettings,
}

impl AppState {
    /// Creates the state of a server that serves `site`, and the files of other versions in `page_files`. The server
    /// accepts the names in `hosts`, and sends a keep-alive on event streams that are silent for `keep_alive`.
    pub(crate) fn new(
        Services { service, accounts, history, settings }: Services,
        site: Arc<Site>,
        page_files: PageFiles,
        hosts: Hosts,
        limits: Limits,
        keep_alive: Duration,
    ) -> Self {
        let metrics = Arc::new(Metrics::new(&service));
        let proxies = accounts.settings().trusted_proxies.clone();
        let connection_limits = Arc::new(ConnectionLimits::new(&limits, limits.max_connections(), proxies));
        Self {
            service,
            accounts,
            history,
            settings,
            site,
            page_files,
            hosts,
            limits,
            metrics,
            connection_limits,
            large_bodies: LargeBodies::default(),
            keep_alive,
            public_url: None,
            metrics_token: None,
        }
    }

    /// Returns the state with this token for `/metrics`.
    pub(crate) fn with_metrics_token(self, metrics_token: Option<MetricsToken>) -> Self {
        Self { metrics_token, ..self }
    }

    /// Returns the state with this base URL for links that are used outside the page.
    pub(crate) fn with_public_url(self, public_url: Option<PublicUrl>) -> Self {
        Self { public_url, ..self }
    }

    /// Runs a use case to its end, even if the client disconnects or the server stops. The use case runs in the
    /// request's span, so its log lines have the request's id.
    pub(crate) async fn run<T, F, W>(&self, work: F) -> Result<T, ApiError>
    where
        T: Send + 'static,
        F: FnOnce(ConversationService) -> W,
        W: Future<Output = Result<T, ServiceError>> + Send + 'static,
    {
        let task = self.service.spawn(work(self.service.clone()));
        Ok(task.await.map_err(ApiError::Task)??)
    }

    /// Fails if the user does not have the permission.
    pub(crate) async fn require(&self, user: UserId, permission: Permission) -> Result<(), ApiError> {
        let is_allowed = self.service.permissions_of(user).await?.allows(&permission);
        if is_allowed { Ok(()) } else { Err(ApiError::NotPermitted(permission)) }
    }

    /// Runs a use case of the tool history to its end, like [`Self::run`].
    pub(crate) async fn run_tool_history<T, F, W>(&self, work: F) -> Result<T, ApiError>
    where
        T: Send + 'static,
        F: FnOnce(ToolHistory) -> W,
        W: Future<Output = Result<T, ToolHistoryError>> + Send + 'static,
    {
        let task = self.service.spawn(work(self.history.clone()));
        Ok(task.await.map_err(ApiError::Task)??)
    }

    /// Runs a use case of the settings to its end, like [`Self::run`].
    pub(crate) async fn run_settings<T, F, W>(&self, work: F) -> Result<T, ApiError>
    where
        T: Send + 'static,
        F: FnOnce(RuntimeSettings) -> W,
        W: Future<Output = Result<T, SettingsError>> + Send + 'static,
    {
        let task = self.service.spawn(work(self.settings.clone()));
        Ok(task.await.map_err(ApiError::Task)??)
    }

    /// Runs a use case of accounts to its end, like [`Self::run`].
    pub(crate) async fn run_accounts<T, F, W>(&self, work: F) -> Result<T, ApiError>
    where
        T: Send + 'static,
        F: FnOnce(Accounts) -> W,
        W: Future<Output = Result<T, AccountsError>> + Send + 'static,
    {
        let task = self.service.spawn(work(self.accounts.clone()));
        Ok(task.await.map_err(ApiError::Task)??)
    }
}

/// The state as an extractor.
pub(crate) type State = web::Data<AppState>;
