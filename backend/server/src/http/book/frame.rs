//! What is around every page of the book: its head, the way back, and the form that asks why somebody looks.

use actix_web::{
    HttpRequest, HttpResponse, ResponseError as _,
    http::{
        StatusCode,
        header::{self, HeaderName, HeaderValue},
    },
};
use askama::Template;
use serde::Deserialize;
use tallybook_frontend::{Language, Theme};

use super::{
    super::{
        error::ApiError,
        preferences,
        state::{AppState, State},
    },
    words::Words,
};
use crate::{
    accounts::Caller,
    book::{Book, BookError, Subject},
};

/// These pages load the style, pictures and one script, which asks this server for more of them; they send their forms here,
/// and no script that is written into a page runs.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
     manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// They show what is others', and whoever signs out leaves nothing of it behind.
const HEADERS: [(HeaderName, HeaderValue); 2] = [
    (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// What every page has.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) language: Language,
    pub(super) theme: Theme,
    /// Where the page's files are.
    pub(super) folder: String,
    pub(super) words: Words,
}

impl Frame {
    pub(super) fn of(state: &AppState, request: &HttpRequest) -> Self {
        let chosen = preferences::of(request);
        Self {
            language: chosen.language,
            theme: chosen.theme,
            folder: state.site.folder().to_owned(),
            words: Words(chosen.language),
        }
    }
}

/// A page of its own that says what is missing, and asks for it where that is a reason.
#[derive(Template)]
#[template(path = "book/message.html")]
struct MessagePage {
    frame: Frame,
    title: &'static str,
    message: String,
    /// Where the form goes that asks for a reason.
    reason_to: Option<String>,
}

/// What is filled in where a page asks why somebody looks.
#[derive(Deserialize)]
pub(super) struct ReasonForm {
    reason: String,
}

/// A page.
pub(super) fn answer(status: StatusCode, page: &impl Template) -> HttpResponse {
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

/// A page in the place of one that cannot be shown.
pub(super) fn refusal(frame: Frame, request: &HttpRequest, error: &ApiError) -> HttpResponse {
    let words = frame.words;
    let status = error.status_code();
    if status.is_server_error() {
        // It says so in the log.
        return error.error_response();
    }
    let needs_reason = matches!(error, ApiError::Book(BookError::NeedsReason { .. } | BookError::NoReason));
    let page = MessagePage {
        frame,
        title: if needs_reason { words.why_title() } else { words.nothing_title() },
        message: words.problem(error),
        reason_to: needs_reason.then(|| address(request)),
    };
    answer(status, &page)
}

/// Takes down a reason, and leads back to what it was asked for.
pub(super) async fn take_reason(
    state: &State,
    request: &HttpRequest,
    reader: Caller,
    subject: Subject,
    form: ReasonForm,
) -> HttpResponse {
    let work = |book: Book| async move { book.give_reason(&reader, &subject, &form.reason).await };
    match state.run_book(work).await {
        Ok(()) => HttpResponse::SeeOther().insert_header((header::LOCATION, address(request))).finish(),
        Err(error) => refusal(Frame::of(state, request), request, &error),
    }
}

/// The address of what is asked for, on this server.
pub(super) fn address(request: &HttpRequest) -> String {
    request.uri().path_and_query().map_or("/admin", |asked| asked.as_str()).to_owned()
}
