//! HTTP handlers for OpenID Connect: the redirect to the identity provider, its callback, and the linked identities of
//! the caller and, for admins, of other users.

use actix_web::{HttpRequest, HttpResponse, http::header, web};
use serde::Deserialize;
use tallybook_accounts::{Accounts, AuthorizationRequest, CallbackOutcome, CallbackParams, Password, Purpose, UserId};
use tallybook_protocol::{Identity, LinkRedirect};

use super::{
    super::{
        body::JsonBody,
        caller::{Admin, SessionUser, caller_of},
        cookie,
        error::ApiError,
        query::Query,
        shared_responses::{Conflict, List, NoAccounts, TooManyAttempts},
        state::State,
    },
    addresses::SSO_CALLBACK,
    forms,
    me::Confirmation,
    session::{begin, browser_of, check_address},
};
use crate::http::accounts::redirects::see_other_here;
use crate::http::base_url::requested_base_url;

/// Page that shows the user's linked identities.
const SETTINGS: &str = "/settings";

#[derive(Deserialize)]
pub(crate) struct LoginQuery {
    #[serde(default)]
    next: String,
    /// Token of an invitation.
    token: Option<String>,
}

/// Query parameters of the identity provider's callback. The type has no `Debug`, so that the authorization code cannot
/// be logged.
#[derive(Deserialize)]
pub(crate) struct CallbackQuery {
    #[serde(default)]
    state: String,
    code: Option<String>,
    error: Option<String>,
    iss: Option<String>,
}

/// Redirects the browser to the identity provider. The sign-in page leads here with a link, because its policy
/// (`form-action 'self'`) forbids forms that lead to another site. `GET` is safe, because the request changes nothing
/// on this server.
pub(crate) async fn start_login(state: State, request: HttpRequest, Query(query): Query<LoginQuery>) -> HttpResponse {
    let LoginQuery { next, token } = query;
    let purpose = match token {
        Some(token) => Purpose::Invitation { token },
        None => Purpose::SignIn { next },
    };
    match authorization_request(&state, &request, purpose).await {
        Ok(AuthorizationRequest { address, held }) => HttpResponse::SeeOther()
            .insert_header((header::LOCATION, address))
            .cookie(cookie::flow_cookie(&request, &held))
            .finish(),
        Err(error) => forms::show_failure(&state, &request, &error),
    }
}

/// Starts linking an identity of the OpenID Connect provider to your account.
///
/// Open the `url` of the response in the same browser. `password` is the password of your account on this server. If
/// your account has no password, send an empty string and sign in at most ten minutes before the request.
#[utoipa::path(
    post, path = "/api/identities", operation_id = "begin_linking", tag = "Account", security(("session" = [])),
    request_body = Confirmation,
    responses((status = 201, body = LinkRedirect, headers(("Set-Cookie" = String))), NoAccounts, TooManyAttempts),
)]
pub(crate) async fn begin_linking(
    state: State,
    request: HttpRequest,
    user: SessionUser,
    body: JsonBody<Confirmation>,
) -> Result<HttpResponse, ApiError> {
    check_address(&state, &request)?;
    let (back, session, browser) =
        (address_of_return(&request)?, cookie::read_session(&request), browser_of(&state, &request));
    let password = Password::new(body.0.password);
    let work = |accounts: Accounts| async move {
        accounts.begin_linking(&user.0, password, &browser, session.as_deref(), &back).await
    };
    let AuthorizationRequest { address, held } = state.run_accounts(work).await?;
    Ok(HttpResponse::Created().cookie(cookie::flow_cookie(&request, &held)).json(LinkRedirect { url: address }))
}

async fn authorization_request(
    state: &State,
    request: &HttpRequest,
    purpose: Purpose,
) -> Result<AuthorizationRequest, ApiError> {
    check_address(state, request)?;
    let (back, session) = (address_of_return(request)?, cookie::read_session(request));
    let work = |accounts: Accounts| async move { accounts.start_login(&purpose, session.as_deref(), &back).await };
    state.run_accounts(work).await
}

/// Handles the callback of the identity provider: signs the user in, or links the identity to the user's account.
pub(crate) async fn handle_callback(
    state: State,
    request: HttpRequest,
    Query(query): Query<CallbackQuery>,
) -> HttpResponse {
    let mut response = match callback_outcome(&state, &request, query).await {
        Ok(CallbackOutcome::SignedIn(session, next)) => begin(see_other_here(&next), &request, &session).finish(),
        Ok(CallbackOutcome::Linked) => see_other_here(SETTINGS).finish(),
        Err(error) => forms::show_failure(&state, &request, &error),
    };
    // Removes the flow's cookie even if the sign-in failed, because a flow is used at most once. Ignores an error: a
    // cookie that cannot be written was never set.
    let _ = response.add_cookie(&cookie::removed_flow_cookie(&request));
    response
}

async fn callback_outcome(
    state: &State,
    request: &HttpRequest,
    query: CallbackQuery,
) -> Result<CallbackOutcome, ApiError> {
    check_address(state, request)?;
    let CallbackQuery { state: shown, code, error, iss } = query;
    let returned = CallbackParams {
        held: cookie::read_flow(request),
        session: cookie::read_session(request),
        back: address_of_return(request)?,
        state: shown,
        code,
        error,
        issuer: iss,
    };
    let (browser, caller) = (browser_of(state, request), caller_of(request));
    let work = |accounts: Accounts| async move { accounts.handle_callback(returned, browser, caller.as_ref()).await };
    state.run_accounts(work).await
}

/// Returns the redirect URI to which the identity provider sends browsers back. The URI has the host of the request,
/// and never `PUBLIC_URL`: the flow's cookie belongs to that host, and the provider compares the URI with the
/// registered ones.
fn address_of_return(request: &HttpRequest) -> Result<String, ApiError> {
    Ok(requested_base_url(request)? + SSO_CALLBACK)
}

/// Lists the identities linked to your account.
#[utoipa::path(
    get, path = "/api/identities", operation_id = "list_identities", tag = "Account", security(("session" = [])),
    responses((status = 200, body = List<Identity>), NoAccounts),
)]
pub(crate) async fn list(state: State, user: SessionUser) -> Result<HttpResponse, ApiError> {
    let work = |accounts: Accounts| async move { accounts.list_identities(&user.0).await };
    Ok(HttpResponse::Ok().json(List { items: state.run_accounts(work).await? }))
}

/// Unlinks an identity from your account and ends your other sessions.
#[utoipa::path(
    delete, path = "/api/identities/{identity_id}", operation_id = "unlink_identity", tag = "Account",
    security(("session" = [])), responses((status = 204, description = "The identity is unlinked."), Conflict),
)]
pub(crate) async fn unlink(state: State, user: SessionUser, id: web::Path<i64>) -> Result<HttpResponse, ApiError> {
    let work = |accounts: Accounts| async move { accounts.unlink_own_identity(&user.0, *id).await };
    state.run_accounts(work).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Lists the identities linked to a user's account.
///
/// For admins.
#[utoipa::path(
    get, path = "/api/users/{user_id}/identities", operation_id = "list_identities_of", tag = "People",
    security(("session" = [])), responses((status = 200, body = List<Identity>)),
)]
pub(crate) async fn list_of(state: State, _: Admin, user: web::Path<UserId>) -> Result<HttpResponse, ApiError> {
    let work = |accounts: Accounts| async move { accounts.list_identities_of(*user).await };
    Ok(HttpResponse::Ok().json(List { items: state.run_accounts(work).await? }))
}

/// Unlinks an identity from a user's account and ends the user's sessions.
///
/// For admins.
#[utoipa::path(
    delete, path = "/api/users/{user_id}/identities/{identity_id}", operation_id = "unlink_identity_of", tag = "People",
    security(("session" = [])), responses((status = 204, description = "The identity is unlinked."), Conflict),
)]
pub(crate) async fn unlink_from(
    state: State,
    admin: Admin,
    ids: web::Path<(UserId, i64)>,
) -> Result<HttpResponse, ApiError> {
    let (user, id) = ids.into_inner();
    let work = |accounts: Accounts| async move { accounts.unlink_identity(&admin.0, user, id).await };
    state.run_accounts(work).await?;
    Ok(HttpResponse::NoContent().finish())
}
