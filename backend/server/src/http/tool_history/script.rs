//! HTTP handler for `/admin/book.js`: the only script that the admin pages load. It extends pages that work without it. Its
//! source is beside the templates.

use std::sync::LazyLock;

use actix_web::{HttpRequest, HttpResponse};

use super::super::{caller::Admin, content_encoding::Text};

static SCRIPT: LazyLock<Text> =
    LazyLock::new(|| Text::new(include_str!("../../../templates/tool_history/book.js").to_owned()));

pub(crate) async fn show(request: HttpRequest, _admin: Admin) -> HttpResponse {
    SCRIPT.answer(&request, "text/javascript; charset=utf-8")
}
