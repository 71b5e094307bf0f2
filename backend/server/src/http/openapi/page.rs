//! HTTP handler for `GET /docs/api`: the API document as a page, rendered by the server without scripts.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{self, HeaderValue},
};
use askama::Template;
use tallybook_frontend::{Language, Theme};

use super::{
    document::Document,
    i18n::Messages,
    inline_text::Line,
    operation::{self, Operation, Schema, Subject},
};
use crate::http::{
    base_url::base_url, content_encoding::Text, error::ApiError, preferences, security::WITHOUT_SCRIPTS, state::State,
};

#[derive(Template)]
#[template(path = "api.html")]
struct ApiPage<'a> {
    language: Language,
    theme: Theme,
    /// Path of the folder with the page's files.
    folder: &'a str,
    texts: Messages,
    version: &'a str,
    lead: Line,
    /// URL of this server, for the examples.
    address: String,
    has_accounts: bool,
    subjects: Vec<Subject>,
    schemas: Vec<Schema>,
}

impl ApiPage<'_> {
    /// Returns `true` if the operation is initially expanded, that is, if it has examples.
    #[expect(clippy::unused_self, reason = "the template asks the page")]
    fn is_open(&self, operation: &Operation) -> bool {
        !operation.examples.is_empty()
    }
}

pub(crate) async fn show(state: State, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let chosen = preferences::of(&request);
    let document = &Document::of(&state).value;
    let page = ApiPage {
        language: chosen.language,
        theme: chosen.theme,
        folder: state.site.folder(),
        texts: Messages(chosen.language),
        version: env!("CARGO_PKG_VERSION"),
        lead: Line::read(document["info"]["description"].as_str().unwrap_or_default()),
        address: base_url(state.public_url.as_ref(), &request).unwrap_or_else(|| "http://127.0.0.1:3000".to_owned()),
        has_accounts: state.accounts.settings().required,
        subjects: operation::subjects(document),
        schemas: operation::schemas(document),
    };
    let html = page.render().map_err(ApiError::Page)?;
    let mut response = Text::new(html).answer(&request, "text/html; charset=utf-8");
    let policy = HeaderValue::from_static(WITHOUT_SCRIPTS);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}
