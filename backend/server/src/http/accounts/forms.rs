//! HTML forms for signing in and creating accounts. They work without scripts; their only script shows and hides the
//! password. They use the page's style sheets and languages.

use std::sync::LazyLock;

use actix_web::{
    HttpRequest, HttpResponse, ResponseError,
    http::{
        StatusCode,
        header::{self, HeaderValue},
    },
    web,
};
use askama::Template;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tallybook_accounts::{Accounts, AccountsError, NewSession, Password};
use tallybook_frontend::{Language, Theme};
use url::form_urlencoded;

use super::{
    super::{
        caller::caller_of,
        error::ApiError,
        preferences,
        query::Query,
        security::WITHOUT_SCRIPTS,
        state::{AppState, State},
    },
    addresses::{INVITATION, SETUP, SIGN_IN, SSO_START},
    i18n::{self, Labels, Messages},
    session::{begin, browser_of, check_address, end, is_deactivated, sign_in as sign_in_with},
};
use crate::http::accounts::redirects::{go, see_other, see_other_here};

/// Script of the forms. It is part of the page.
const SCRIPT: &str = include_str!("../../../templates/account.js");

/// Content security policy of the forms. It allows only that script, by its hash.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = BASE64_STANDARD.encode(Sha256::digest(SCRIPT));
    format!("{WITHOUT_SCRIPTS}; script-src 'sha256-{hash}'")
});

/// A page with a form, or with a message instead of the form.
#[derive(Template)]
#[template(path = "account.html")]
struct FormPage<'a> {
    language: Language,
    theme: Theme,
    folder: &'a str,
    texts: Messages,
    labels: Labels,
    /// Target of the form; `None` renders no form.
    action: Option<&'a str>,
    /// Script of the form.
    script: &'static str,
    /// Name and value of the hidden field.
    hidden: (&'a str, &'a str),
    /// Name that the user entered in the previous attempt.
    name: &'a str,
    /// `true` if the user chooses a new password.
    is_new: bool,
    /// `true` if users can create an account without an invitation.
    can_sign_up: bool,
    /// Label and URL of the link to the identity provider; `None` if the page offers no single sign-on.
    away: Option<(String, String)>,
    /// `true` if the user is signed in; the page then links to the settings.
    is_signed_in: bool,
    problem: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct SignInQuery {
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
pub(crate) struct LinkQuery {
    #[serde(default)]
    token: String,
}

#[derive(Deserialize)]
pub(crate) struct SignInForm {
    name: String,
    password: String,
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
pub(crate) struct AccountForm {
    name: String,
    password: String,
    #[serde(default)]
    token: String,
}

/// The kind of a form.
#[derive(Clone, Copy)]
enum Form {
    SignIn,
    Setup,
    Invitation,
}

pub(crate) async fn show_sign_in(state: State, request: HttpRequest, Query(query): Query<SignInQuery>) -> HttpResponse {
    if !state.accounts.settings().required || caller_of(&request).is_some() {
        return go(&query.next);
    }
    let error = match is_deactivated(&state, &request).await {
        Ok(true) => Some(ApiError::AccountDeactivated),
        Ok(false) => None,
        Err(error) => Some(error),
    };
    form(&state, &request, Form::SignIn, &query.next, "", error.as_ref())
}

pub(crate) async fn sign_in(state: State, request: HttpRequest, filled: web::Form<SignInForm>) -> HttpResponse {
    let SignInForm { name, password, next } = filled.into_inner();
    match sign_in_with(&state, &request, name.clone(), password).await {
        Ok(session) => begin(see_other_here(&next), &request, &session).finish(),
        Err(error) => form(&state, &request, Form::SignIn, &next, &name, Some(&error)),
    }
}

pub(crate) async fn sign_out(state: State, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    if let Some(caller) = caller_of(&request) {
        state.run_accounts(|accounts: Accounts| async move { accounts.sign_out(&caller).await }).await?;
    }
    Ok(end(see_other(SIGN_IN), &request).finish())
}

pub(crate) async fn show_setup(state: State, request: HttpRequest, Query(query): Query<LinkQuery>) -> HttpResponse {
    let token = query.token;
    let shown = token.clone();
    let is_good = state.run_accounts(|accounts: Accounts| async move { accounts.is_setup_link(&token).await }).await;
    show_link(&state, &request, Form::Setup, &shown, is_good)
}

pub(crate) async fn set_up(state: State, request: HttpRequest, filled: web::Form<AccountForm>) -> HttpResponse {
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

pub(crate) async fn show_invitation(
    state: State,
    request: HttpRequest,
    Query(query): Query<LinkQuery>,
) -> HttpResponse {
    let token = query.token;
    let shown = token.clone();
    let is_good = state.run_accounts(|accounts: Accounts| async move { accounts.can_sign_up(&token).await }).await;
    show_link(&state, &request, Form::Invitation, &shown, is_good)
}

pub(crate) async fn accept_invitation(
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

/// Returns the page that browsers get while the server has no admin.
pub(crate) fn setup_required(state: &AppState, request: &HttpRequest) -> HttpResponse {
    let language = preferences::of(request).language;
    let page = page(state, request, i18n::setup_required(language));
    answer(StatusCode::SERVICE_UNAVAILABLE, &page)
}

/// Returns the page that users without the admin role get instead of the tool history.
pub(crate) fn admins_only(state: &AppState, request: &HttpRequest) -> HttpResponse {
    let language = preferences::of(request).language;
    let away = Some((i18n::back_to_chat(language).to_owned(), "/".to_owned()));
    answer(StatusCode::FORBIDDEN, &FormPage { away, ..page(state, request, i18n::admins_only(language)) })
}

/// Returns the form of a setup or invitation link, or the reason why the link is not valid.
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
        Ok(false) if matches!(kind, Form::Invitation) && state.accounts.is_sign_up_closed(token) => {
            Some(AccountsError::SignUpClosed.into())
        }
        Ok(false) => Some(AccountsError::LinkExpired.into()),
        Err(error) => Some(error),
    };
    form(state, request, kind, token, "", problem.as_ref())
}

/// Returns the response to a submitted account form: signs the new user in, or shows the form again with the error.
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

/// Returns a form, with the error of the previous attempt if there is one.
fn form(
    state: &AppState,
    request: &HttpRequest,
    kind: Form,
    hidden: &str,
    name: &str,
    error: Option<&ApiError>,
) -> HttpResponse {
    let language = preferences::of(request).language;
    let (text, action, hidden_name) = match kind {
        Form::SignIn => (i18n::sign_in(language), SIGN_IN, "next"),
        Form::Setup => (i18n::setup(language), SETUP, "token"),
        Form::Invitation => (i18n::invitation(language), INVITATION, "token"),
    };
    // Hides the form if submitting it again cannot succeed: the link is not valid, or sign-up is not allowed.
    let is_over = matches!(
        error,
        Some(ApiError::Accounts(AccountsError::LinkExpired | AccountsError::SignUpClosed | AccountsError::Off))
    );
    let page = FormPage {
        action: (!is_over).then_some(action),
        hidden: (hidden_name, hidden),
        name,
        is_new: !matches!(kind, Form::SignIn),
        can_sign_up: matches!(kind, Form::SignIn) && state.accounts.is_password_sign_up_open(),
        away: if is_over { None } else { away(state, language, kind, hidden) },
        problem: error.map(|error| i18n::problem(language, error)),
        ..page(state, request, text)
    };
    let status = match error {
        // The browser requested the form, and gets it.
        None | Some(ApiError::AccountDeactivated) => StatusCode::OK,
        Some(error) => error.status_code(),
    };
    let mut response = answer(status, &page);
    if let Some(ApiError::Accounts(AccountsError::TooManyAttempts { retry_after_secs })) = error {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(*retry_after_secs));
    }
    response
}

/// Returns the label and the URL of the link to the identity provider. Returns `None` if no provider is configured, for
/// the setup form (the first admin gets a password), and for sign-up without an invitation.
fn away(state: &AppState, language: Language, kind: Form, hidden: &str) -> Option<(String, String)> {
    let provider = state.accounts.identity_provider_name()?;
    let name = match kind {
        Form::SignIn => "next",
        Form::Invitation if !hidden.is_empty() => "token",
        Form::Invitation | Form::Setup => return None,
    };
    let query = form_urlencoded::Serializer::new(String::new()).append_pair(name, hidden).finish();
    let address = if hidden.is_empty() { SSO_START.to_owned() } else { format!("{SSO_START}?{query}") };
    Some((i18n::sign_in_by(language, provider), address))
}

/// Returns the page for a failed sign-in or linking through the identity provider.
pub(crate) fn show_failure(state: &State, request: &HttpRequest, error: &ApiError) -> HttpResponse {
    if caller_of(request).is_none() {
        return form(state, request, Form::SignIn, "", "", Some(error));
    }
    let language = preferences::of(request).language;
    let problem = Some(i18n::problem(language, error));
    let page = FormPage { is_signed_in: true, problem, ..page(state, request, i18n::linking(language)) };
    answer(error.status_code(), &page)
}

/// Returns a page without a form.
fn page<'a>(state: &AppState, request: &HttpRequest, texts: Messages) -> FormPage<'a> {
    let chosen = preferences::of(request);
    FormPage {
        language: chosen.language,
        theme: chosen.theme,
        folder: state.site.folder(),
        texts,
        labels: i18n::labels(chosen.language),
        action: None,
        script: SCRIPT,
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
    let policy = if page.action.is_some() { POLICY.as_str() } else { WITHOUT_SCRIPTS };
    match page.render() {
        Ok(html) => HttpResponse::build(status)
            .content_type("text/html; charset=utf-8")
            .insert_header((header::CONTENT_SECURITY_POLICY, policy))
            .body(html),
        Err(error) => ApiError::Page(error).error_response(),
    }
}
