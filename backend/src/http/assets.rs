//! The page's files: style, browser side, icon. A release build carries them inside; a debug build reads them from
//! where `cargo xtask` puts them.

use actix_web::{HttpRequest, HttpResponse, http::header, web};
use rust_embed::{EmbeddedFile, RustEmbed};

#[derive(RustEmbed)]
#[folder = "$CARGO_MANIFEST_DIR/../target/site"]
#[allow_missing = true]
struct Site;

pub(super) fn configure(app: &mut web::ServiceConfig) {
    app.route("/pkg/{file}", web::get().to(serve)).route("/favicon.svg", web::get().to(serve));
}

async fn serve(request: HttpRequest) -> HttpResponse {
    match Site::get(request.path().trim_start_matches('/')) {
        Some(file) => answer(&request, file),
        None => HttpResponse::NotFound().content_type("text/plain").body("There is no such file.\n"),
    }
}

fn answer(request: &HttpRequest, file: EmbeddedFile) -> HttpResponse {
    let etag = format!("\"{:x}\"", u128::from_be_bytes(first_half(file.metadata.sha256_hash())));
    let known = request.headers().get(header::IF_NONE_MATCH).is_some_and(|value| value.as_bytes() == etag.as_bytes());
    let mut response = if known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
    // The names do not change with the content, so browsers ask each time, and mostly hear that nothing changed.
    response.insert_header((header::ETAG, etag)).insert_header((header::CACHE_CONTROL, "no-cache"));
    if known {
        return response.finish();
    }
    response.content_type(file.metadata.mimetype()).body(file.data.into_owned())
}

/// Half of a SHA-256 tells two versions of a file apart as well as the whole.
fn first_half(hash: [u8; 32]) -> [u8; 16] {
    std::array::from_fn(|index| hash[index])
}
