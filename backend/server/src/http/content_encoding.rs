//! How a file is encoded when it is handed out: compressed in a way that the client can read, or not at all, when the client has
//! it already.

use std::iter;

use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder,
    http::header::{self, AcceptEncoding, ContentEncoding, Encoding, EntityTag, Header as _, IfNoneMatch},
};

/// In which ways a file may be compressed, the smallest first, and what its name then ends in.
pub(super) const ENCODINGS: [(ContentEncoding, &str); 2] =
    [(ContentEncoding::Brotli, ".br"), (ContentEncoding::Gzip, ".gz")];

/// How long a file may be kept whose address is of one version.
pub(super) const FOREVER: &str = "public, max-age=31536000, immutable";

/// The ways in which a client can read a file, the smallest first, and what the file's name then ends in.
pub(super) fn accepted_encodings(request: &HttpRequest) -> impl Iterator<Item = (ContentEncoding, &'static str)> {
    let accepted = AcceptEncoding::parse(request).ok();
    let compressed = ENCODINGS.into_iter().filter(move |(encoding, _)| {
        let wanted = Encoding::Known(*encoding);
        accepted.as_ref().is_some_and(|accepted| accepted.negotiate(iter::once(&wanted)) == Some(wanted))
    });
    compressed.chain([(ContentEncoding::Identity, "")])
}

/// The head of an answer with a file, and whether that is all, since the client has the file.
pub(super) fn head(request: &HttpRequest, tag: &EntityTag, caching: &'static str) -> (HttpResponseBuilder, bool) {
    let is_known = match IfNoneMatch::parse(request) {
        Ok(IfNoneMatch::Any) => true,
        Ok(IfNoneMatch::Items(tags)) => tags.iter().any(|known| known.weak_eq(tag)),
        Err(_) => false,
    };
    let mut response = if is_known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
    response
        .insert_header((header::ETAG, tag.clone()))
        .insert_header((header::CACHE_CONTROL, caching))
        .insert_header((header::VARY, "accept-encoding"));
    (response, is_known)
}
