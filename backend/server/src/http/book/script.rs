//! `/admin/book.js`: what the pages of the book gain where scripts run. It stands beside the templates, and is the one script
//! that they load.

use std::sync::LazyLock;

use actix_web::{HttpRequest, HttpResponse};

use super::super::{caller::Admin, content_encoding::Text};

static SCRIPT: LazyLock<Text> = LazyLock::new(|| Text::new(include_str!("../../../templates/book/book.js").to_owned()));

pub(super) async fn show(request: HttpRequest, _admin: Admin) -> HttpResponse {
    SCRIPT.answer(&request, "text/javascript; charset=utf-8")
}
