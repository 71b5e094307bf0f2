//! HTTP handlers for `/api/session` and `/api/sessions`: sign in, sign out, and list and end the user's sessions.

use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, http::header, web};
use serde::{Deserialize, Serialize};
use tallybook_accounts::{Accounts, AccountsError, Browser, NewSession, Password};
use tallybook_protocol::{Session, User};
use utoipa::ToSchema;

use super::super::{
    body::{JsonBody, OptionalBody},
    caller::{SessionUser, caller_of},
    client_address, cookie,
    error::ApiError,
    shared_responses::{List, NoAccounts, TooManyAttempts, WrongPassword},
    state::{AppState, State},
};

// Has no `Debug`, so that neither field can be logged.
/// A name and a password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignIn {
    name: String,
    password: String,
}

/// The signed-in user.
#[derive(Serialize, ToSchema)]
pub(crate) struct SignedIn {
    user: User,
}

/// Signs in and sets the session cookie.
#[utoipa::path(
    post, path = "/api/session", operation_id = "sign_in", tag = "Account", security(()),
    request_body = SignIn,
    responses(
        (status = 200, body = SignedIn, headers(("Set-Cookie" = String))),
        WrongPassword, NoAccounts, TooManyAttempts,
    ),
)]
pub(crate) async fn create(
    state: State,
    request: HttpRequest,
    body: JsonBody<SignIn>,
) -> Result<HttpResponse, ApiError> {
    let SignIn { name, password } = body.0;
    let session = sign_in(&state, &request, name, password).await?;
    let mut response = begin(HttpResponse::Ok(), &request, &session);
    Ok(response.json(SignedIn { user: session.user }))
}

/// Signs a user in. The new session replaces the one that the browser had.
pub(crate) async fn sign_in(
    state: &State,
    request: &HttpRequest,
    name: String,
    password: String,
) -> Result<NewSession, ApiError> {
    check_address(state, request)?;
    let (browser, before) = (browser_of(state, request), caller_of(request));
    let password = Password::new(password);
    let work = |accounts: Accounts| async move { accounts.sign_in(&name, password, browser, before.as_ref()).await };
    state.run_accounts(work).await
}

/// Returns an error if the server has no accounts, or if browsers would reject the session cookie.
pub(crate) fn check_address(state: &State, request: &HttpRequest) -> Result<(), ApiError> {
    if !state.accounts.settings().required {
        return Err(AccountsError::Off.into());
    }
    if cookie::is_refused_by_browsers(request) { Err(ApiError::NoTls) } else { Ok(()) }
}

/// Returns `true` if the request has the cookie of a session that ended because an admin deactivated the account. Other
/// requests learn nothing about accounts.
pub(crate) async fn is_deactivated(state: &AppState, request: &HttpRequest) -> Result<bool, ApiError> {
    if !state.accounts.settings().required || request.headers().contains_key(header::AUTHORIZATION) {
        return Ok(false);
    }
    let Some(secret) = cookie::read_session(request) else { return Ok(false) };
    state.run_accounts(|accounts: Accounts| async move { accounts.is_deactivated_session(&secret).await }).await
}

/// Returns the client address, the user agent, and the known-browser token of a request.
pub(crate) fn browser_of(state: &State, request: &HttpRequest) -> Browser {
    let user_agent =
        request.headers().get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    Browser {
        address: client_address::of(request, &state.accounts.settings().trusted_proxies),
        user_agent: user_agent.to_owned(),
        token: cookie::read_browser(request),
    }
}

/// Adds the session cookie and the known-browser cookie to a response.
pub(crate) fn begin(
    mut response: HttpResponseBuilder,
    request: &HttpRequest,
    session: &NewSession,
) -> HttpResponseBuilder {
    response.cookie(cookie::session_cookie(request, session.secret.expose()));
    response.cookie(cookie::browser_cookie(request, &session.browser_token));
    response
}

/// Makes a response remove the session cookie and clear what the page stored in the browser, such as drafts. The
/// browser's cache holds no private data, so it is not cleared.
pub(crate) fn end(mut response: HttpResponseBuilder, request: &HttpRequest) -> HttpResponseBuilder {
    response.cookie(cookie::removed_session_cookie(request)).insert_header(("Clear-Site-Data", "\"storage\""));
    response
}

/// Signs out.
#[utoipa::path(
    delete, path = "/api/session", operation_id = "sign_out", tag = "Account", security(("session" = [])),
    responses((status = 204, description = "The session is ended."), NoAccounts),
)]
pub(crate) async fn delete(state: State, request: HttpRequest, user: SessionUser) -> Result<HttpResponse, ApiError> {
    state.run_accounts(|accounts: Accounts| async move { accounts.sign_out(&user.0).await }).await?;
    Ok(end(HttpResponse::NoContent(), &request).finish())
}

/// Lists your sessions, one for each browser that is signed in.
#[utoipa::path(
    get, path = "/api/sessions", operation_id = "list_sessions", tag = "Account", security(("session" = [])),
    responses((status = 200, body = List<Session>), NoAccounts),
)]
pub(crate) async fn list(state: State, user: SessionUser) -> Result<HttpResponse, ApiError> {
    let items = state.run_accounts(|accounts: Accounts| async move { accounts.list_sessions(&user.0).await }).await?;
    Ok(HttpResponse::Ok().json(List { items }))
}

/// Ends one of your sessions.
#[utoipa::path(
    delete, path = "/api/sessions/{session_id}", operation_id = "end_session", tag = "Account", security(("session" = [])),
    responses((status = 204, description = "The session is ended.")),
)]
pub(crate) async fn delete_one(state: State, user: SessionUser, id: web::Path<i64>) -> Result<HttpResponse, ApiError> {
    state.run_accounts(|accounts: Accounts| async move { accounts.end_session(&user.0, *id).await }).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Options of signing out everywhere.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignOutEverywhere {
    /// Also revokes the API keys.
    #[serde(default)]
    revoke_keys: bool,
}

/// Signs out everywhere.
#[utoipa::path(
    delete, path = "/api/sessions", operation_id = "sign_out_everywhere", tag = "Account", security(("session" = [])),
    request_body = Option<SignOutEverywhere>,
    responses((status = 204, description = "All sessions are ended."), NoAccounts),
)]
pub(crate) async fn delete_all(
    state: State,
    request: HttpRequest,
    user: SessionUser,
    body: OptionalBody<SignOutEverywhere>,
) -> Result<HttpResponse, ApiError> {
    let revoke_keys = body.0.revoke_keys;
    let work = |accounts: Accounts| async move { accounts.sign_out_everywhere(&user.0, revoke_keys).await };
    state.run_accounts(work).await?;
    Ok(end(HttpResponse::NoContent(), &request).finish())
}
