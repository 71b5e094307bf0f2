//! Signing in by OpenID Connect: away to the issuer, and back from it; and the identities that people have there, of one's
//! own and, for admins, of others.

use actix_web::{HttpRequest, HttpResponse, http::header, web};
use serde::Deserialize;
use tallybook_protocol::{Identity, Linking};

use super::{
    super::{
        answers::{Conflict, List, NoAccounts, TooManyAttempts},
        body::JsonBody,
        caller::{Admin, Person, caller_of},
        cookie,
        error::ApiError,
        origin::requested_origin,
        query::Query,
        state::State,
    },
    addresses::SIGN_IN_BACK,
    forms,
    leading::see_other_here,
    me::Confirmation,
    session::{begin, browser_of, check_address},
};
use crate::accounts::{Accounts, Arrival, Departure, Password, Purpose, Return, UserId};

/// Where one's identities are shown.
const SETTINGS: &str = "/settings";

#[derive(Deserialize)]
pub(super) struct DepartureQuery {
    #[serde(default)]
    next: String,
    /// Of an invitation.
    token: Option<String>,
}

/// What an issuer sends back with a browser. It has no `Debug`, so that no code gets into a log.
#[derive(Deserialize)]
pub(super) struct ReturnQuery {
    #[serde(default)]
    state: String,
    code: Option<String>,
    error: Option<String>,
    iss: Option<String>,
}

/// Sends somebody to the issuer. It changes nothing here, so a link may lead to it: a form may not lead to another site.
pub(super) async fn depart(state: State, request: HttpRequest, Query(query): Query<DepartureQuery>) -> HttpResponse {
    let DepartureQuery { next, token } = query;
    let purpose = match token {
        Some(token) => Purpose::Invitation { token },
        None => Purpose::SignIn { next },
    };
    match departure(&state, &request, purpose).await {
        Ok(Departure { address, held }) => HttpResponse::SeeOther()
            .insert_header((header::LOCATION, address))
            .cookie(cookie::holding_flow(&request, &held))
            .finish(),
        Err(error) => forms::came_to_nothing(&state, &request, &error),
    }
}

/// Begins to link who one is at the issuer by which people sign in.
///
/// A page asks for it, and leads to the answer's `url` in the same browser. The password is your own here. If your account has none,
/// leave it empty, and sign in at most ten minutes before.
#[utoipa::path(
    post, path = "/api/identities", operation_id = "begin_linking", tag = "Account", security(("session" = [])),
    request_body = Confirmation,
    responses((status = 201, body = Linking, headers(("Set-Cookie" = String))), NoAccounts, TooManyAttempts),
)]
pub(super) async fn begin_linking(
    state: State,
    request: HttpRequest,
    person: Person,
    body: JsonBody<Confirmation>,
) -> Result<HttpResponse, ApiError> {
    check_address(&state, &request)?;
    let (back, session, browser) =
        (address_of_return(&request)?, cookie::shown(&request), browser_of(&state, &request));
    let password = Password::new(body.0.password);
    let work = |accounts: Accounts| async move {
        accounts.begin_linking(&person.0, password, &browser, session.as_deref(), &back).await
    };
    let Departure { address, held } = state.run_accounts(work).await?;
    Ok(HttpResponse::Created().cookie(cookie::holding_flow(&request, &held)).json(Linking { url: address }))
}

async fn departure(state: &State, request: &HttpRequest, purpose: Purpose) -> Result<Departure, ApiError> {
    check_address(state, request)?;
    let (back, session) = (address_of_return(request)?, cookie::shown(request));
    let work = |accounts: Accounts| async move { accounts.depart(&purpose, session.as_deref(), &back).await };
    state.run_accounts(work).await
}

/// Takes in whoever comes back.
pub(super) async fn arrive(state: State, request: HttpRequest, Query(query): Query<ReturnQuery>) -> HttpResponse {
    let mut response = match arrival(&state, &request, query).await {
        Ok(Arrival::SignedIn(session, next)) => begin(see_other_here(&next), &request, &session).finish(),
        Ok(Arrival::Linked) => see_other_here(SETTINGS).finish(),
        Err(error) => forms::came_to_nothing(&state, &request, &error),
    };
    // Whatever came of it, it comes once. A cookie that cannot be written is none that was held.
    let _ = response.add_cookie(&cookie::forgotten_flow(&request));
    response
}

async fn arrival(state: &State, request: &HttpRequest, query: ReturnQuery) -> Result<Arrival, ApiError> {
    check_address(state, request)?;
    let ReturnQuery { state: shown, code, error, iss } = query;
    let returned = Return {
        held: cookie::shown_flow(request),
        session: cookie::shown(request),
        back: address_of_return(request)?,
        state: shown,
        code,
        error,
        issuer: iss,
    };
    let (browser, caller) = (browser_of(state, request), caller_of(request));
    let work = |accounts: Accounts| async move { accounts.arrive(returned, browser, caller.as_ref()).await };
    state.run_accounts(work).await
}

/// Returns the address to which the issuer sends browsers back. It has the host of the request, and never `PUBLIC_URL`: the
/// cookie of the sign-in belongs to that host, and the issuer compares the address with the registered ones.
fn address_of_return(request: &HttpRequest) -> Result<String, ApiError> {
    Ok(requested_origin(request)? + SIGN_IN_BACK)
}

/// Who one is at the issuer by which people sign in.
#[utoipa::path(
    get, path = "/api/identities", operation_id = "list_identities", tag = "Account", security(("session" = [])),
    responses((status = 200, body = List<Identity>), NoAccounts),
)]
pub(super) async fn list(state: State, person: Person) -> Result<HttpResponse, ApiError> {
    let work = |accounts: Accounts| async move { accounts.list_identities(&person.0).await };
    Ok(HttpResponse::Ok().json(List { items: state.run_accounts(work).await? }))
}

/// Unlinks one, which ends one's other sessions.
#[utoipa::path(
    delete, path = "/api/identities/{identity_id}", operation_id = "unlink_identity", tag = "Account",
    security(("session" = [])), responses((status = 204, description = "It is unlinked."), Conflict),
)]
pub(super) async fn unlink(state: State, person: Person, id: web::Path<i64>) -> Result<HttpResponse, ApiError> {
    let work = |accounts: Accounts| async move { accounts.unlink_own_identity(&person.0, *id).await };
    state.run_accounts(work).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Who somebody is at the issuer.
///
/// For admins.
#[utoipa::path(
    get, path = "/api/users/{user_id}/identities", operation_id = "list_identities_of", tag = "People",
    security(("session" = [])), responses((status = 200, body = List<Identity>)),
)]
pub(super) async fn list_of(state: State, _: Admin, user: web::Path<UserId>) -> Result<HttpResponse, ApiError> {
    let work = |accounts: Accounts| async move { accounts.list_identities_of(*user).await };
    Ok(HttpResponse::Ok().json(List { items: state.run_accounts(work).await? }))
}

/// Unlinks one, which ends the person's sessions.
///
/// For admins.
#[utoipa::path(
    delete, path = "/api/users/{user_id}/identities/{identity_id}", operation_id = "unlink_identity_of", tag = "People",
    security(("session" = [])), responses((status = 204, description = "It is unlinked."), Conflict),
)]
pub(super) async fn unlink_from(
    state: State,
    admin: Admin,
    ids: web::Path<(UserId, i64)>,
) -> Result<HttpResponse, ApiError> {
    let (user, id) = ids.into_inner();
    let work = |accounts: Accounts| async move { accounts.unlink_identity(&admin.0, user, id).await };
    state.run_accounts(work).await?;
    Ok(HttpResponse::NoContent().finish())
}
