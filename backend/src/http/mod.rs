//! The only room that knows HTTP: routes, what is read from requests, errors as problem+json, and the writing of
//! server-sent events. `/api` comes before the page's routes.

mod assets;
mod conversations;
mod error;
mod export;
mod feed;
mod guard;
mod health;
mod messages;
mod page;
mod preferences;
mod request_id;
mod sse;
mod tools;

use std::{future::Future, net::IpAddr, time::Duration};

use actix_web::{
    App, Error, HttpRequest, HttpResponse,
    body::MessageBody,
    dev::{ServiceFactory, ServiceRequest, ServiceResponse},
    middleware::from_fn,
    web,
};
use tokio::runtime::Handle;

use crate::conversation::{ConversationService, ServiceError};

use error::ApiError;
use guard::Hosts;

/// The largest request body, in bytes: a longest message, every character escaped, and some room.
const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

/// What the handlers work with.
#[derive(Clone)]
pub struct AppState {
    service: ConversationService,
    runtime: Handle,
    hosts: Hosts,
    keep_alive: Duration,
}

impl AppState {
    /// The state of a server that listens on `address`, may be asked by the names `allowed`, whose use cases run on
    /// `runtime`, and whose event streams are silent for no longer than `keep_alive`.
    pub fn new(
        service: ConversationService,
        runtime: Handle,
        address: IpAddr,
        allowed: &[String],
        keep_alive: Duration,
    ) -> Self {
        Self { service, runtime, hosts: Hosts::new(address, allowed), keep_alive }
    }

    /// Runs a use case on the program's own runtime, to its end even when the client goes away in the middle. Handlers
    /// run on worker threads with runtimes of their own; database connections must not belong to those.
    async fn run<T, F, W>(&self, work: F) -> Result<T, ApiError>
    where
        T: Send + 'static,
        F: FnOnce(ConversationService) -> W,
        W: Future<Output = Result<T, ServiceError>> + Send + 'static,
    {
        let task = self.runtime.spawn(work(self.service.clone()));
        Ok(task.await.map_err(ApiError::Task)??)
    }
}

/// Every route behind the guard.
pub fn app(
    state: &AppState,
) -> App<
    impl ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<impl MessageBody + use<>>,
        Error = Error,
        InitError = (),
    > + use<>,
> {
    App::new()
        .configure(|app| configure(app, state))
        .wrap(from_fn(guard::guard))
        // Outermost, so that what the guard refuses has an id too.
        .wrap(from_fn(request_id::with_request_id))
}

fn configure(app: &mut web::ServiceConfig, state: &AppState) {
    app.app_data(web::Data::new(state.clone()))
        .app_data(web::JsonConfig::default().limit(MAX_BODY_BYTES).error_handler(|e, _| ApiError::from(e).into()))
        .app_data(web::PathConfig::default().error_handler(|_, _| ApiError::Service(ServiceError::NotFound).into()))
        .app_data(web::QueryConfig::default().error_handler(|e, _| ApiError::Query(e.to_string()).into()))
        .service(
            web::scope("/api")
                .service(conversations::routes())
                .route("/events", web::get().to(feed::follow))
                .route("/tools", web::get().to(tools::list))
                .default_service(web::to(no_such_route)),
        )
        .route("/healthz", web::get().to(health::live))
        .route("/readyz", web::get().to(health::ready))
        .route("/metrics", web::get().to(health::metrics))
        .configure(assets::configure)
        .configure(|app| page::configure(app, state));
}

async fn no_such_route(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    Err(ApiError::NoSuchRoute(format!("{} {}", request.method(), request.path())))
}

/// Shared by handlers as an extractor.
type State = web::Data<AppState>;
