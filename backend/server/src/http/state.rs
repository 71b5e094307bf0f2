//! What the handlers work with, and how they run a use case.

use std::{future::Future, sync::Arc, time::Duration};

use actix_web::web;

use super::{
    error::ApiError, hosts::Hosts, limits::Limits, metrics::Metrics, places::Places, public_url::PublicUrl, site::Site,
};
use crate::{
    accounts::{Accounts, AccountsError},
    book::{Book, BookError},
    conversation::{ConversationService, ServiceError},
    page_files::PageFiles,
};

/// What the handlers work with.
#[derive(Clone)]
pub struct AppState {
    pub(super) service: ConversationService,
    pub(super) accounts: Accounts,
    pub(super) book: Book,
    pub(super) site: Arc<Site>,
    pub(super) page_files: PageFiles,
    pub(super) hosts: Hosts,
    pub(super) limits: Limits,
    pub(super) metrics: Arc<Metrics>,
    pub(super) places: Arc<Places>,
    pub(super) keep_alive: Duration,
    /// The address in links that leave the page; `None` for the one that each request was sent to.
    pub(super) public_url: Option<PublicUrl>,
}

/// Whose use cases the handlers run.
pub(crate) struct Services {
    pub(crate) service: ConversationService,
    pub(crate) accounts: Accounts,
    pub(crate) book: Book,
}

impl AppState {
    /// The state of a server that hands out `site`, and what other versions left in `page_files`, that may be asked by the
    /// names `hosts`, and whose event streams are silent for no longer than `keep_alive`.
    pub(crate) fn new(
        Services { service, accounts, book }: Services,
        site: Arc<Site>,
        page_files: PageFiles,
        hosts: Hosts,
        limits: Limits,
        keep_alive: Duration,
    ) -> Self {
        let metrics = Arc::new(Metrics::new(&service));
        let proxies = accounts.settings().trusted_proxies.clone();
        let places = Arc::new(Places::new(&limits, limits.max_connections(), proxies));
        Self { service, accounts, book, site, page_files, hosts, limits, metrics, places, keep_alive, public_url: None }
    }

    /// Returns the same with this address in links that leave the page.
    pub(crate) fn with_public_url(self, public_url: Option<PublicUrl>) -> Self {
        Self { public_url, ..self }
    }

    /// Runs a use case to its end, even when the client goes away in the middle, or the server stops. The request's span goes along, so that what
    /// is logged there carries its id.
    pub(super) async fn run<T, F, W>(&self, work: F) -> Result<T, ApiError>
    where
        T: Send + 'static,
        F: FnOnce(ConversationService) -> W,
        W: Future<Output = Result<T, ServiceError>> + Send + 'static,
    {
        let task = self.service.spawn(work(self.service.clone()));
        Ok(task.await.map_err(ApiError::Task)??)
    }

    /// The same for the book.
    pub(super) async fn run_book<T, F, W>(&self, work: F) -> Result<T, ApiError>
    where
        T: Send + 'static,
        F: FnOnce(Book) -> W,
        W: Future<Output = Result<T, BookError>> + Send + 'static,
    {
        let task = self.service.spawn(work(self.book.clone()));
        Ok(task.await.map_err(ApiError::Task)??)
    }

    /// The same for what concerns accounts.
    pub(super) async fn run_accounts<T, F, W>(&self, work: F) -> Result<T, ApiError>
    where
        T: Send + 'static,
        F: FnOnce(Accounts) -> W,
        W: Future<Output = Result<T, AccountsError>> + Send + 'static,
    {
        let task = self.service.spawn(work(self.accounts.clone()));
        Ok(task.await.map_err(ApiError::Task)??)
    }
}

/// Shared by handlers as an extractor.
pub(super) type State = web::Data<AppState>;
