//! The table of routes, and the middleware that every request passes. `/api` and `/v1` take precedence over the page's
//! routes.

use actix_server::GracefulShutdownSignal;
use actix_web::{
    App, Error, HttpRequest, HttpResponse, Scope,
    body::MessageBody,
    dev::{ServiceFactory, ServiceRequest, ServiceResponse},
    http::Method,
    middleware::from_fn,
    web,
};
use tallybook_accounts::{AccountsError, OpenIdError};
use tallybook_conversations::ServiceError;
use tracing_actix_web::TracingLogger;
use uuid::Uuid;

use super::{
    accounts, approvals, assets, body, budgets, compression, conversations,
    error::ApiError,
    export, feed, files, groups, health, http10, identify,
    limits::{MAX_BODY_BYTES, MAX_FORM_BYTES},
    mcp, messages,
    methods::{self, Endpoint, READING},
    model_settings, models, openai, openapi, page, search, security, server_settings, shares,
    state::AppState,
    tool_calls, tool_history, tool_server_settings, tools,
    trace::{self, RequestSpan},
    usage,
};

/// Returns all routes with their middleware. Request bodies that are incomplete at `shutdown` fail.
pub(crate) fn app(
    state: &AppState,
    shutdown: &GracefulShutdownSignal,
) -> App<
    impl ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<impl MessageBody + use<>>,
        Error = Error,
        InitError = (),
    > + use<>,
> {
    let shutdown = shutdown.clone();
    App::new()
        .configure(|app| configure(app, state))
        .wrap(from_fn(compression::compress))
        .wrap(from_fn(move |request, next| body::limit_time(shutdown.clone(), request, next)))
        .wrap(from_fn(methods::answer_head))
        .wrap(from_fn(identify::identify))
        .wrap(from_fn(security::check_request))
        // Wraps `check_request`, so that requests that it refuses have an ID, too.
        .wrap(from_fn(trace::with_request_id))
        .wrap(from_fn(http10::end_by_closing))
        .wrap(TracingLogger::<RequestSpan>::new())
}

fn configure(app: &mut web::ServiceConfig, state: &AppState) {
    app.app_data(web::Data::new(state.clone()))
        .app_data(web::JsonConfig::default().limit(MAX_BODY_BYTES).error_handler(|e, _| ApiError::from(e).into()))
        .app_data(body::forms(MAX_FORM_BYTES))
        .app_data(web::PathConfig::default().error_handler(|_, request| no_such_thing(request).into()))
        .service(api())
        .service(openai::v1())
        .service(mcp::endpoint())
        .service(Endpoint::at("/healthz").on(Method::GET, health::live))
        .service(Endpoint::at("/readyz").on(Method::GET, health::ready))
        .service(Endpoint::at("/metrics").on(Method::GET, health::metrics))
        .service(Endpoint::at("/pkg/{version}/{file}").on(Method::GET, assets::versioned))
        .service(Endpoint::at("/licenses").on(Method::GET, assets::licenses))
        .service(Endpoint::at("/service-worker.js").on(Method::GET, assets::service_worker))
        .configure(|app| {
            for file in assets::UNVERSIONED {
                app.service(Endpoint::at(file).on(Method::GET, assets::unversioned));
            }
        })
        .service(Endpoint::at("/s/{token}").on(Method::GET, shares::show))
        .service(Endpoint::at("/s/{token}/continue").on(Method::POST, shares::continue_in_chat))
        .service(Endpoint::at("/s/{token}/files/{file_id}/content").on(Method::GET, shares::file))
        .configure(accounts::pages)
        .configure(tool_history::pages)
        .configure(openapi::pages)
        .configure(|app| page::configure(app, state))
        // All other paths are the web UI's, which takes only `GET` and `HEAD`.
        .default_service(web::to(only_read));
}

fn api() -> Scope {
    web::scope("/api")
        .service(
            Endpoint::at("/conversations")
                .on(Method::GET, conversations::list)
                .on(Method::POST, conversations::create)
                .on(Method::DELETE, conversations::delete_all),
        )
        .service(
            Endpoint::at("/conversations/{uuid}")
                .on(Method::GET, conversations::find)
                .on(Method::PATCH, conversations::update)
                .on(Method::DELETE, conversations::delete),
        )
        .service(Endpoint::at("/conversations/{uuid}/export").on(Method::GET, export::download))
        .service(Endpoint::at("/conversations/{uuid}/fork").on(Method::POST, conversations::fork))
        .service(Endpoint::at("/conversations/{uuid}/messages").on(Method::POST, messages::create))
        .service(
            Endpoint::at("/conversations/{uuid}/messages/{message_id}/regenerate")
                .on(Method::POST, messages::regenerate),
        )
        .service(
            Endpoint::at("/conversations/{uuid}/messages/{message_id}/reasoning-summary")
                .on(Method::POST, messages::explain),
        )
        .service(
            Endpoint::at("/conversations/{uuid}/messages/{message_id}/feedback")
                .on(Method::PUT, messages::set_feedback)
                .on(Method::DELETE, messages::delete_feedback),
        )
        .service(Endpoint::at("/conversations/{uuid}/messages/{message_id}/select").on(Method::POST, messages::select))
        .service(
            Endpoint::at("/conversations/{uuid}/messages/{message_id}/playback").on(Method::GET, messages::playback),
        )
        .service(Endpoint::at("/conversations/{uuid}/messages/{message_id}/usage").on(Method::GET, usage::of_message))
        .service(Endpoint::at("/conversations/{uuid}/usage").on(Method::GET, usage::of_conversation))
        .service(Endpoint::at("/conversations/{uuid}/events").on(Method::GET, messages::subscribe))
        .service(Endpoint::at("/conversations/{uuid}/continue").on(Method::POST, messages::continue_turn))
        .service(Endpoint::at("/conversations/{uuid}/stop").on(Method::POST, messages::stop))
        .service(Endpoint::at("/conversations/{uuid}/decisions").on(Method::POST, approvals::decide_several))
        .service(
            Endpoint::at("/conversations/{uuid}/tools")
                .on(Method::GET, tools::find_disabled)
                .on(Method::PUT, tools::set_disabled),
        )
        .service(Endpoint::at("/conversations/{uuid}/shares").on(Method::POST, shares::create))
        .service(Endpoint::at("/shares").on(Method::GET, shares::list))
        .service(Endpoint::at("/shares/{share_id}").on(Method::DELETE, shares::revoke))
        .service(Endpoint::at("/conversations/{uuid}/search").on(Method::GET, search::in_conversation))
        .service(Endpoint::at("/search").on(Method::GET, search::everywhere))
        .service(Endpoint::at("/events").on(Method::GET, feed::subscribe))
        .service(Endpoint::at("/files").on(Method::POST, files::create))
        .service(Endpoint::at("/files/{file_id}").on(Method::GET, files::find).on(Method::DELETE, files::delete))
        .service(Endpoint::at("/files/{file_id}/content").on(Method::GET, files::content))
        .service(Endpoint::at("/files/{file_id}/text").on(Method::GET, files::text))
        .service(Endpoint::at("/chat").on(Method::POST, openai::thread::create_simple))
        .service(Endpoint::at("/models").on(Method::GET, models::list))
        .service(Endpoint::at("/tools").on(Method::GET, tools::list))
        .service(Endpoint::at("/tools/settings").on(Method::POST, tools::switch))
        .service(Endpoint::at("/tool-servers/{server}/tools/{tool}/accept").on(Method::POST, tools::accept))
        .service(Endpoint::at("/tool-calls/{tool_call_id}").on(Method::GET, tool_calls::find))
        .service(Endpoint::at("/tool-calls/{tool_call_id}/decision").on(Method::POST, approvals::decide))
        .service(Endpoint::at("/approvals").on(Method::GET, approvals::list))
        .service(Endpoint::at("/approvals/{approval_id}").on(Method::DELETE, approvals::revoke))
        .configure(accounts::api)
        .configure(model_settings::api)
        .configure(tool_server_settings::api)
        .configure(server_settings::api)
        .configure(budgets::api)
        .configure(groups::api)
        .configure(tool_history::api)
        .default_service(web::to(no_such_route))
}

/// Returns the error for a path with a malformed id: what the id names does not exist. The extractor's error does not
/// say which segment is malformed, so each segment is checked again.
fn no_such_thing(request: &HttpRequest) -> ApiError {
    let segments = request.match_info();
    let is_bad = |name, is_id: fn(&str) -> bool| segments.get(name).is_some_and(|segment| !is_id(segment));
    if is_bad("file_id", is_uuid) {
        return files::no_such_file();
    }
    if is_bad("user_id", is_number) {
        return AccountsError::NoSuchUser.into();
    }
    if is_bad("session_id", is_number) {
        return AccountsError::NoSuchSession.into();
    }
    if is_bad("identity_id", is_number) {
        return AccountsError::from(OpenIdError::NoSuchIdentity).into();
    }
    if is_bad("key_id", is_number) {
        return AccountsError::NoSuchKey.into();
    }
    if is_bad("invitation_id", is_number) {
        return AccountsError::NoSuchInvitation.into();
    }
    ApiError::Service(if segments.get("tool").is_some() {
        ServiceError::NoSuchTool
    } else if is_bad("uuid", is_uuid) {
        ServiceError::NotFound
    } else if is_bad("message_id", is_number) {
        ServiceError::NoSuchMessage
    } else if is_bad("approval_id", is_number) {
        ServiceError::NoSuchApproval
    } else if is_bad("share_id", is_number) {
        ServiceError::NoSuchShare
    } else {
        ServiceError::NoSuchToolCall
    })
}

fn is_uuid(segment: &str) -> bool {
    segment.parse::<Uuid>().is_ok()
}

fn is_number(segment: &str) -> bool {
    segment.parse::<i64>().is_ok()
}

async fn no_such_route(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    Err(ApiError::NoSuchRoute(format!("{} {}", request.method(), request.path())))
}

async fn only_read(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    Err(methods::not_allowed(&request, &READING))
}
