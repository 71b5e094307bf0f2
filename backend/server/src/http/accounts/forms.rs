//! The forms by which people sign in and make accounts. They need no scripts and bring none; they look like the page, whose
//! style they load, and speak its languages.

use actix_web::{
    HttpRequest, HttpResponse, ResponseError,
    http::{
        StatusCode,
        header::{self, HeaderValue},
    },
    web,
};
use askama::Template;
use serde::Deserialize;
use tallybook_frontend::{Language, Theme};
use url::form_urlencoded;

use super::{
    super::{
        caller::caller_of,
        error::ApiError,
        guard::WITHOUT_SCRIPTS,
        preferences,
        query::Query,
        state::{AppState, State},
    },
    addresses::{INVITATION, SETUP, SIGN_IN, SIGN_IN_AWAY},
    leading::{go, see_other, see_other_here},
    session::{begin, browser_of, check_address, end, sign_in as sign_in_with},
    words::{self, Labels, Words},
};
use crate::accounts::{Accounts, AccountsError, NewSession, Password, SignUp};

/// A form, or what stands in its place.
#[derive(Template)]
#[template(path = "account.html")]
struct FormPage<'a> {
    language: Language,
    theme: Theme,
    folder: &'a str,
    words: Words,
    labels: Labels,
    /// Where the form goes; without one there is none to fill in.
    action: Option<&'a str>,
    /// What goes along unseen: its name and its value.
    hidden: (&'a str, &'a str),
    /// What was filled in before.
    name: &'a str,
    /// Whether a new password is chosen.
    is_new: bool,
    /// Whether somebody without an account can make one.
    can_sign_up: bool,
    /// The way by an issuer, where there is one: what to press, and where it leads.
    away: Option<(String, String)>,
    /// Whether it is somebody who is signed in, who goes back to the settings.
    is_signed_in: bool,
    problem: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct SignInQuery {
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
pub(super) struct LinkQuery {
    #[serde(default)]
    token: String,
}

#[derive(Deserialize)]
pub(super) struct SignInForm {
    name: String,
    password: String,
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
pub(super) struct AccountForm {
    name: String,
    password: String,
    #[serde(default)]
    token: String,
}

/// Which form it is.
#[derive(Clone, Copy)]
enum Form {
    SignIn,
    Setup,
    Invitation,
}

pub(super) async fn show_sign_in(state: State, request: HttpRequest, Query(query): Query<SignInQuery>) -> HttpResponse {
    if !state.accounts.settings().required || caller_of(&request).is_some() {
        return go(&query.next);
    }
    form(&state, &request, Form::SignIn, &query.next, "", None)
}

pub(super) async fn sign_in(state: State, request: HttpRequest, filled: web::Form<SignInForm>) -> HttpResponse {
    let SignInForm { name, password, next } = filled.into_inner();
    match sign_in_with(&state, &request, name.clone(), password).await {
        Ok(session) => begin(see_other_here(&next), &request, &session).finish(),
        Err(error) => form(&state, &request, Form::SignIn, &next, &name, Some(&error)),
    }
}

pub(super) async fn sign_out(state: State, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    if let Some(caller) = caller_of(&request) {
        state.run_accounts(|accounts: Accounts| async move { accounts.sign_out(&caller).await }).await?;
    }
    Ok(end(see_other(SIGN_IN), &request).finish())
}

pub(super) async fn show_setup(state: State, request: HttpRequest, Query(query): Query<LinkQuery>) -> HttpResponse {
    let token = query.token;
    let shown = token.clone();
    let is_good = state.run_accounts(|accounts: Accounts| async move { accounts.is_setup_link(&token).await }).await;
    show_link(&state, &request, Form::Setup, &shown, is_good)
}

pub(super) async fn set_up(state: State, request: HttpRequest, filled: web::Form<AccountForm>) -> HttpResponse {
    let AccountForm { name, password, token } = filled.into_inner();
    let (again, used) = (name.clone(), token.clone());
    let session = async {
        check_address(&state, &request)?;
        let (browser, password) = (browser_of(&state, &request), Password::new(password));
        let work = |accounts: Accounts| async move { accounts.set_up(&token, &name, password, browser).await };
        state.run_accounts(work).await
    };
    begun(&state, &request, Form::Setup, &used, &again, session.await)
}

pub(super) async fn show_invitation(
    state: State,
    request: HttpRequest,
    Query(query): Query<LinkQuery>,
) -> HttpResponse {
    let token = query.token;
    let shown = token.clone();
    let is_good = state.run_accounts(|accounts: Accounts| async move { accounts.can_sign_up(&token).await }).await;
    show_link(&state, &request, Form::Invitation, &shown, is_good)
}

pub(super) async fn accept_invitation(
    state: State,
    request: HttpRequest,
    filled: web::Form<AccountForm>,
) -> HttpResponse {
    let AccountForm { name, password, token } = filled.into_inner();
    let (again, used) = (name.clone(), token.clone());
    let session = async {
        check_address(&state, &request)?;
        let (browser, password) = (browser_of(&state, &request), Password::new(password));
        let work =
            |accounts: Accounts| async move { accounts.accept_invitation(&token, &name, password, browser).await };
        state.run_accounts(work).await
    };
    begun(&state, &request, Form::Invitation, &used, &again, session.await)
}

/// What a reader of the page is told while there is no admin.
pub(in crate::http) fn setup_required(state: &AppState, request: &HttpRequest) -> HttpResponse {
    let language = preferences::of(request).language;
    let page = page(state, request, words::setup_required(language));
    answer(StatusCode::SERVICE_UNAVAILABLE, &page)
}

/// What a reader of the page is told who is no admin.
pub(in crate::http) fn admins_only(state: &AppState, request: &HttpRequest) -> HttpResponse {
    let language = preferences::of(request).language;
    let away = Some((words::back_to_chat(language).to_owned(), "/".to_owned()));
    answer(StatusCode::FORBIDDEN, &FormPage { away, ..page(state, request, words::admins_only(language)) })
}

/// The form of a link, if the link is good.
fn show_link(
    state: &State,
    request: &HttpRequest,
    kind: Form,
    token: &str,
    is_good: Result<bool, ApiError>,
) -> HttpResponse {
    if !state.accounts.settings().required {
        return go("/");
    }
    let problem = match is_good {
        Ok(true) => None,
        Ok(false) if state.accounts.settings().sign_up == SignUp::Closed && matches!(kind, Form::Invitation) => {
            Some(AccountsError::SignUpClosed.into())
        }
        Ok(false) => Some(AccountsError::LinkOver.into()),
        Err(error) => Some(error),
    };
    form(state, request, kind, token, "", problem.as_ref())
}

/// What follows on an account that was made, or was not.
fn begun(
    state: &State,
    request: &HttpRequest,
    kind: Form,
    token: &str,
    name: &str,
    session: Result<NewSession, ApiError>,
) -> HttpResponse {
    match session {
        Ok(session) => begin(see_other("/"), request, &session).finish(),
        Err(error) => form(state, request, kind, token, name, Some(&error)),
    }
}

/// A form, with what went wrong when it was sent.
fn form(
    state: &AppState,
    request: &HttpRequest,
    kind: Form,
    hidden: &str,
    name: &str,
    error: Option<&ApiError>,
) -> HttpResponse {
    let language = preferences::of(request).language;
    let (words, action, hidden_name) = match kind {
        Form::SignIn => (words::sign_in(language), SIGN_IN, "next"),
        Form::Setup => (words::setup(language), SETUP, "token"),
        Form::Invitation => (words::invitation(language), INVITATION, "token"),
    };
    // A link that is over, or that nobody may use, is nothing to fill in a form for.
    let is_over = matches!(
        error,
        Some(ApiError::Accounts(AccountsError::LinkOver | AccountsError::SignUpClosed | AccountsError::Off))
    );
    let page = FormPage {
        action: (!is_over).then_some(action),
        hidden: (hidden_name, hidden),
        name,
        is_new: !matches!(kind, Form::SignIn),
        can_sign_up: matches!(kind, Form::SignIn) && state.accounts.settings().sign_up == SignUp::Open,
        away: if is_over { None } else { away(state, language, kind, hidden) },
        problem: error.map(|error| words::problem(language, error)),
        ..page(state, request, words)
    };
    let mut response = answer(error.map_or(StatusCode::OK, ResponseError::status_code), &page);
    if let Some(ApiError::Accounts(AccountsError::TooManyAttempts { retry_after_secs })) = error {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(*retry_after_secs));
    }
    response
}

/// The way by an issuer, to sign in or to make an account by an invitation. The first admin is made without one.
fn away(state: &AppState, language: Language, kind: Form, hidden: &str) -> Option<(String, String)> {
    let issuer = state.accounts.issuer_name()?;
    let name = match kind {
        Form::SignIn => "next",
        Form::Invitation if !hidden.is_empty() => "token",
        Form::Invitation | Form::Setup => return None,
    };
    let query = form_urlencoded::Serializer::new(String::new()).append_pair(name, hidden).finish();
    let address = if hidden.is_empty() { SIGN_IN_AWAY.to_owned() } else { format!("{SIGN_IN_AWAY}?{query}") };
    Some((words::sign_in_by(language, issuer), address))
}

/// What somebody reads whom the way by an issuer led to nothing.
pub(super) fn came_to_nothing(state: &State, request: &HttpRequest, error: &ApiError) -> HttpResponse {
    if caller_of(request).is_none() {
        return form(state, request, Form::SignIn, "", "", Some(error));
    }
    let language = preferences::of(request).language;
    let problem = Some(words::problem(language, error));
    let page = FormPage { is_signed_in: true, problem, ..page(state, request, words::linking(language)) };
    answer(error.status_code(), &page)
}

/// A page without a form.
fn page<'a>(state: &AppState, request: &HttpRequest, words: Words) -> FormPage<'a> {
    let chosen = preferences::of(request);
    FormPage {
        language: chosen.language,
        theme: chosen.theme,
        folder: state.site.folder(),
        words,
        labels: words::labels(chosen.language),
        action: None,
        hidden: ("", ""),
        name: "",
        is_new: false,
        can_sign_up: false,
        away: None,
        is_signed_in: false,
        problem: None,
    }
}

fn answer(status: StatusCode, page: &FormPage<'_>) -> HttpResponse {
    match page.render() {
        Ok(html) => HttpResponse::build(status)
            .content_type("text/html; charset=utf-8")
            .insert_header((header::CONTENT_SECURITY_POLICY, WITHOUT_SCRIPTS))
            .body(html),
        Err(error) => ApiError::Page(error).error_response(),
    }
}
