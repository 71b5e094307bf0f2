//! Middleware that authenticates each request before routing, by its API key or its session cookie. On a server without
//! accounts, every caller is the local owner. Unauthenticated requests reach only the paths on an explicit allowlist,
//! so a new route requires authentication by default. The extractors in a handler's signature (`caller`) decide what
//! authenticated callers may do.

use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll},
};

use actix_web::{
    Error, HttpMessage as _, HttpResponse, ResponseError as _,
    body::{BodySize, BoxBody, EitherBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{Method, header},
    middleware::Next,
    web::Bytes,
};
use tallybook_accounts::{Accounts, AccountsError, Caller, Credential, OpenStream};
use tallybook_protocol::TIME_ZONE_HEADER;
use tokio_util::sync::WaitForCancellationFutureOwned;
use url::form_urlencoded;

use super::{
    accounts, assets,
    bearer::bearer,
    body::UPLOAD,
    cookie,
    error::ApiError,
    metrics_token::{METRICS, MetricsAccess},
    openapi, shares,
    state::{AppState, State},
    trace,
};

/// Paths that unauthenticated users can reach once the server has an admin: the account forms, sign-in through the API,
/// and sign-out, because the session may have expired.
const UNAUTHENTICATED_PATHS: [&str; 6] = [
    accounts::SIGN_IN,
    accounts::SSO_START,
    accounts::SSO_CALLBACK,
    accounts::SIGN_OUT,
    accounts::INVITATION,
    accounts::API_SESSION,
];

/// Passes a request on with its [`Caller`]. Ends the streamed response when the caller loses access.
pub(crate) async fn identify<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    let Some(state) = request.app_data::<State>().cloned() else {
        return Err(ApiError::NotSignedIn.into());
    };
    if request.path() == METRICS
        && let Some(token) = &state.metrics_token
        && token.is_in(request.headers())
    {
        request.extensions_mut().insert(MetricsAccess);
        return Ok(next.call(request).await?.map_into_left_body());
    }
    match caller_of(&state, &request).await {
        Ok(Some(caller)) => {
            if let Some(zone) = request.headers().get(TIME_ZONE_HEADER).and_then(|zone| zone.to_str().ok()) {
                state.service.note_time_zone(caller.user, zone);
            }
            request.extensions_mut().insert(caller.clone());
            tracing::Span::current().record(trace::USER_FIELD, caller.user.0);
            let response = next.call(request).await?;
            note_refusal(&state, &caller, &response).await;
            if is_page_for_admins(&response) {
                let page = accounts::admins_only(&state, response.request());
                return Ok(response.into_response(page).map_into_right_body());
            }
            Ok(end_on_revocation(response, &state.accounts, &caller))
        }
        Ok(None) => Ok(next.call(request).await?.map_into_left_body()),
        Err(refusal) => Ok(refused(&state, request, &refusal).map_into_right_body()),
    }
}

/// Returns the caller of a request. Returns `None` if there is no caller and the path needs none, and an error if the
/// path needs one.
async fn caller_of(state: &AppState, request: &ServiceRequest) -> Result<Option<Caller>, ApiError> {
    let path = request.path();
    if !state.accounts.settings().required {
        let needs_token = path == METRICS && state.metrics_token.is_some();
        return if needs_token { Err(ApiError::NotSignedIn) } else { Ok(Some(Caller::local())) };
    }
    if path == "/healthz" || path == accounts::SETUP || is_same_for_all(path) {
        return Ok(None);
    }
    if shares::is_shared(path) {
        return Ok(viewer_of(state, request).await);
    }
    let is_unauthenticated_path = UNAUTHENTICATED_PATHS.contains(&path) || path == "/readyz";
    match identify_caller(state, Credentials::from_request(request)).await?.ok_or(ApiError::SetupRequired)? {
        Some(caller) => {
            check_change(request, &caller)?;
            Ok(Some(caller))
        }
        None if is_unauthenticated_path => Ok(None),
        None if accounts::is_deactivated(state, request.request()).await? => Err(ApiError::AccountDeactivated),
        None => Err(ApiError::NotSignedIn),
    }
}

/// Returns the caller with these credentials, if they are valid. Returns `None` if the server has no admin yet.
async fn identify_caller(state: &AppState, credentials: Credentials) -> Result<Option<Option<Caller>>, ApiError> {
    let find = |accounts: Accounts| async move {
        if accounts.is_set_up().await? { credentials.identify(&accounts).await.map(Some) } else { Ok(None) }
    };
    state.run_accounts(find).await
}

/// Returns the signed-in viewer of a share link. The page offers them a copy; everything else on it is the same for all
/// viewers.
async fn viewer_of(state: &AppState, request: &ServiceRequest) -> Option<Caller> {
    let session @ Credentials::Session(_) = Credentials::from_request(request) else { return None };
    let found = if shares::is_page(request.path()) { identify_caller(state, session).await } else { return None };
    found
        .inspect_err(|error| tracing::warn!(%error, "the viewer of a share link is not known"))
        .ok()
        .flatten()
        .flatten()
}

/// Returns `true` for the page's files and the API document, which are the same for all users.
fn is_same_for_all(path: &str) -> bool {
    let versioned = path.strip_prefix("/pkg/").is_some_and(|rest| rest.split('/').count() == 2);
    versioned
        || assets::UNVERSIONED.contains(&path)
        || path == "/service-worker.js"
        || path == assets::LICENSES
        || openapi::PUBLIC.contains(&path)
}

/// Minimum size of a file whose download ends when its user loses access, in bytes.
const LONG_DOWNLOAD_BYTES: u64 = 1024 * 1024;

/// The credentials in a request.
enum Credentials {
    Key(String),
    Session(String),
    Nothing,
}

impl Credentials {
    /// Reads the credentials. If there is an `Authorization` header, the cookie is ignored, even if the API key is
    /// wrong.
    fn from_request(request: &ServiceRequest) -> Self {
        if let Some(authorization) = request.headers().get(header::AUTHORIZATION) {
            let key = authorization.to_str().ok().and_then(bearer);
            return key.map_or(Self::Nothing, |key| Self::Key(key.to_owned()));
        }
        cookie::read_session(request.request()).map_or(Self::Nothing, Self::Session)
    }

    async fn identify(self, accounts: &Accounts) -> Result<Option<Caller>, AccountsError> {
        match self {
            Self::Key(key) => accounts.identify_key(&key).await,
            Self::Session(secret) => accounts.identify_session(&secret).await,
            Self::Nothing => Ok(None),
        }
    }
}

/// Refuses a body other than JSON in an API request that a session cookie authenticates. Browsers also send cookies
/// with requests of other sites' pages. `security` refuses such requests if they name another origin or site; forms of
/// other sites cannot send JSON. An uploaded file has a type of its own. A form that got past `security` would only
/// store a file that is in no message.
fn check_change(request: &ServiceRequest, caller: &Caller) -> Result<(), ApiError> {
    let is_change = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if !is_change || !matches!(caller.credential, Credential::Session(_)) {
        return Ok(());
    }
    let headers = request.headers();
    let content_type = headers.get(header::CONTENT_TYPE).map(|kind| kind.to_str().unwrap_or_default());
    let is_json =
        |kind: &str| kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"));
    let path = request.path();
    if is_api_path(path) && path != UPLOAD && content_type.is_some_and(|kind| !is_json(kind)) {
        return Err(ApiError::NotJson);
    }
    Ok(())
}

/// Returns `true` if the errors of this path are for API clients. On other paths, browsers get a page or a redirect
/// instead.
fn is_api_path(path: &str) -> bool {
    let is_under =
        |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    is_under("/api") || is_under("/v1") || path == "/mcp" || path == "/metrics" || path == "/readyz"
}

fn refused(state: &AppState, request: ServiceRequest, refusal: &ApiError) -> ServiceResponse {
    let is_reading = matches!(*request.method(), Method::GET | Method::HEAD);
    if let (ApiError::NotSignedIn | ApiError::AccountDeactivated, Some(page)) =
        (refusal, shares::page_of_form(request.path()))
    {
        let response = to_sign_in(page);
        return request.into_response(response);
    }
    if is_api_path(request.path()) || !is_reading {
        return request.into_response(refusal.error_response());
    }
    let response = match refusal {
        // The form shows the reason.
        ApiError::NotSignedIn | ApiError::AccountDeactivated => {
            to_sign_in(request.uri().path_and_query().map_or("/", |asked| asked.as_str()))
        }
        ApiError::SetupRequired => accounts::setup_required(state, request.request()),
        other => other.error_response(),
    };
    request.into_response(response)
}

/// Records that a request was refused because it needs the admin role or a session. The record contains the route's
/// pattern, not the path, because the number of routes is limited.
async fn note_refusal<B>(state: &AppState, caller: &Caller, response: &ServiceResponse<B>) {
    let error = response.response().error().and_then(Error::as_error);
    if !matches!(error, Some(ApiError::AdminsOnly | ApiError::SessionsOnly)) {
        return;
    }
    let request = response.request();
    let route = format!("{} {}", request.method(), request.match_pattern().unwrap_or_default());
    state.accounts.note_refused_request(caller, &route).await;
}

/// Returns `true` if a browser was refused an admin page because the user is not an admin.
fn is_page_for_admins<B>(response: &ServiceResponse<B>) -> bool {
    let request = response.request();
    let accept = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    *request.method() == Method::GET
        && request.path().starts_with("/admin")
        && accept.contains("text/html")
        && matches!(response.response().error().and_then(Error::as_error), Some(ApiError::AdminsOnly))
}

/// Redirects to the sign-in form, which leads back to `asked`.
fn to_sign_in(asked: &str) -> HttpResponse {
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("next", asked).finish();
    let address = if asked == "/" { accounts::SIGN_IN.to_owned() } else { format!("{}?{query}", accounts::SIGN_IN) };
    HttpResponse::SeeOther().insert_header((header::LOCATION, address)).finish()
}

/// Ends a streamed response when the caller loses access. Streamed responses are event streams, files that are
/// generated while they are sent, and downloads of at least `LONG_DOWNLOAD_BYTES`. Pages are complete before they are
/// sent, even if they are compressed afterwards.
fn end_on_revocation<B: MessageBody + 'static>(
    response: ServiceResponse<B>,
    accounts: &Accounts,
    caller: &Caller,
) -> ServiceResponse<EitherBody<B>> {
    let headers = response.headers();
    let kind = headers.get(header::CONTENT_TYPE);
    let is_events = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    let is_streamed = match response.response().body().size() {
        BodySize::Stream => true,
        BodySize::Sized(bytes) => bytes >= LONG_DOWNLOAD_BYTES,
        BodySize::None => false,
    };
    let is_file = is_streamed && headers.contains_key(header::CONTENT_DISPOSITION);
    let open = (is_events || is_file).then(|| accounts.open_stream(caller)).flatten();
    let Some(open) = open else { return response.map_into_left_body() };
    response.map_body(|_, body| {
        let ended = Box::pin(open.ended());
        EitherBody::right(BoxBody::new(RevocableBody { body: BoxBody::new(body), is_file, ended, _open: open }))
    })
}

/// The error that aborts the download of a file when its user loses access.
#[derive(Debug, thiserror::Error)]
#[error("the access of the stream's user was revoked")]
struct AccessRevoked;

/// The body of a streamed response, which ends when its user loses access.
struct RevocableBody {
    body: BoxBody,
    is_file: bool,
    ended: Pin<Box<WaitForCancellationFutureOwned>>,
    _open: OpenStream,
}

impl MessageBody for RevocableBody {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        if self.ended.as_mut().poll(context).is_ready() {
            // A client must not take a partial file for a complete one.
            return Poll::Ready(self.is_file.then(|| Err(AccessRevoked.into())));
        }
        Pin::new(&mut self.body).poll_next(context)
    }
}
