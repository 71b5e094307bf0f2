//! The frame of every admin page: the header, the links, and the form in which an admin gives a reason for access. Also
//! the HTTP handler for `/admin/tool-history.js`, the only script that the admin pages load; the pages also work
//! without it. Its source is next to the templates.

use std::sync::LazyLock;

use actix_web::{
    HttpRequest, HttpResponse, ResponseError as _,
    http::{
        StatusCode,
        header::{self, HeaderName, HeaderValue},
    },
};
use askama::Template;
use serde::Deserialize;
use tallybook_accounts::Caller;
use tallybook_frontend::{Language, Theme};
use tallybook_tool_history::{Subject, ToolHistory, ToolHistoryError};

use crate::http::{
    caller::Admin,
    content_encoding::Text,
    error::ApiError,
    preferences,
    state::{AppState, State},
    tool_history::i18n::Messages,
};

/// Content security policy of the pages. They load the style, images, and one script, which loads further pages from
/// this server. They send their forms to this server. Scripts written into a page do not run.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; font-src 'self'; \
     img-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Headers of the pages. `no-store` because the pages show other users' data, which must not stay in the browser after
/// the admin signs out.
const HEADERS: [(HeaderName, HeaderValue); 2] = [
    (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// Data that every page needs.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) language: Language,
    pub(crate) theme: Theme,
    /// Path of the folder with the page's files.
    pub(crate) folder: String,
    pub(crate) texts: Messages,
}

impl Frame {
    pub(crate) fn of(state: &AppState, request: &HttpRequest) -> Self {
        let chosen = preferences::of(request);
        Self {
            language: chosen.language,
            theme: chosen.theme,
            folder: state.site.folder().to_owned(),
            texts: Messages(chosen.language),
        }
    }
}

/// A page with a message instead of the requested content. If access needs a reason, it has a form for the reason.
#[derive(Template)]
#[template(path = "tool_history/message.html")]
struct MessagePage {
    frame: Frame,
    title: &'static str,
    message: String,
    /// Target of the form that asks for a reason; `None` if no reason is needed.
    reason_to: Option<String>,
}

/// The form in which an admin gives a reason for access.
#[derive(Deserialize)]
pub(crate) struct ReasonForm {
    reason: String,
}

/// Renders a page.
pub(crate) fn answer(status: StatusCode, page: &impl Template) -> HttpResponse {
    match page.render() {
        Ok(html) => {
            let mut response = HttpResponse::build(status);
            for header in HEADERS {
                response.insert_header(header);
            }
            response.content_type("text/html; charset=utf-8").body(html)
        }
        Err(error) => ApiError::Page(error).error_response(),
    }
}

/// Returns the status of a page that shows the reason why a change was refused, if it was.
pub(crate) fn status_of(error: Option<&ApiError>) -> StatusCode {
    error.map_or(StatusCode::OK, ApiError::status_code)
}

/// Redirects to another page of the server after a change.
pub(crate) fn redirect(path: String) -> HttpResponse {
    HttpResponse::SeeOther().insert_header((header::LOCATION, path)).finish()
}

/// Returns a page that says why the requested page cannot be shown.
pub(crate) fn refusal(frame: Frame, request: &HttpRequest, error: &ApiError) -> HttpResponse {
    let texts = frame.texts;
    let status = error.status_code();
    if status.is_server_error() {
        // `error_response` logs the error.
        return error.error_response();
    }
    let needs_reason =
        matches!(error, ApiError::ToolHistory(ToolHistoryError::NeedsReason { .. } | ToolHistoryError::NoReason));
    let page = MessagePage {
        frame,
        title: if needs_reason { texts.why_title() } else { texts.nothing_title() },
        message: texts.problem(error),
        reason_to: needs_reason.then(|| address(request)),
    };
    answer(status, &page)
}

/// Records the admin's reason and redirects to the page that needs it.
pub(crate) async fn take_reason(
    state: &State,
    request: &HttpRequest,
    reader: Caller,
    subject: Subject,
    form: ReasonForm,
) -> HttpResponse {
    let work = |history: ToolHistory| async move { history.give_reason(&reader, &subject, &form.reason).await };
    match state.run_tool_history(work).await {
        Ok(()) => redirect(address(request)),
        Err(error) => refusal(Frame::of(state, request), request, &error),
    }
}

/// Returns the path and query of the request.
pub(crate) fn address(request: &HttpRequest) -> String {
    request.uri().path_and_query().map_or("/admin", |asked| asked.as_str()).to_owned()
}

static SCRIPT: LazyLock<Text> =
    LazyLock::new(|| Text::new(include_str!("../../../templates/tool_history/tool_history.js").to_owned()));

pub(crate) async fn show(request: HttpRequest, _admin: Admin) -> HttpResponse {
    SCRIPT.answer(&request, "text/javascript; charset=utf-8")
}
