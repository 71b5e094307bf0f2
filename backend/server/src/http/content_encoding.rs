//! Content encoding and caching of files. The server sends a file in the smallest encoding that the client accepts, or
//! 304 if the client has the file already. `compression` compresses responses that are generated per request.

use std::{
    io::{self, Write as _},
    iter,
};

use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder,
    http::header::{self, AcceptEncoding, ContentEncoding, Encoding, EntityTag, Header as _, IfNoneMatch},
    web::Bytes,
};
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest as _, Sha256};

/// Encodings in which a file can be stored, smallest first, each with its file name suffix.
pub(crate) const ENCODINGS: [(ContentEncoding, &str); 2] =
    [(ContentEncoding::Brotli, ".br"), (ContentEncoding::Gzip, ".gz")];

/// `Cache-Control` of a file whose URL contains its version.
pub(crate) const FOREVER: &str = "public, max-age=31536000, immutable";

/// Returns the encodings that the client accepts, smallest first, each with its file name suffix. The last entry means
/// no compression.
pub(crate) fn accepted_encodings(request: &HttpRequest) -> impl Iterator<Item = (ContentEncoding, &'static str)> {
    let accepted = AcceptEncoding::parse(request).ok();
    let compressed = ENCODINGS.into_iter().filter(move |(encoding, _)| {
        let wanted = Encoding::Known(*encoding);
        accepted.as_ref().is_some_and(|accepted| accepted.negotiate(iter::once(&wanted)) == Some(wanted))
    });
    compressed.chain([(ContentEncoding::Identity, "")])
}

/// Returns the head of the response with a file. The flag is `true` if the client has the file already; the response
/// then needs no body.
pub(crate) fn head(request: &HttpRequest, tag: &EntityTag, caching: &'static str) -> (HttpResponseBuilder, bool) {
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

/// A text that this server generates and serves like a file.
pub(crate) struct Text {
    plain: Bytes,
    gzip: Option<Bytes>,
    /// Beginning of the entity tag, the same in both encodings.
    digest: String,
}

impl Text {
    pub(crate) fn new(text: String) -> Self {
        let digest = hex::encode(&Sha256::digest(&text)[..16]);
        // Writing to memory cannot fail.
        let gzip = compress(&text).ok().map(Bytes::from);
        Self { plain: text.into(), gzip, digest }
    }

    /// Returns the text, or 304 if the client has it already. Clients must revalidate it on each use.
    pub(crate) fn answer(&self, request: &HttpRequest, content_type: &'static str) -> HttpResponse {
        let is_gzip = accepted_encodings(request).any(|(encoding, _)| encoding == ContentEncoding::Gzip);
        let gzip = self.gzip.as_ref().filter(|_| is_gzip);
        let end = if gzip.is_some() { "-gzip" } else { "" };
        let tag = EntityTag::new_strong(format!("{}{end}", self.digest));
        let (mut response, is_known) = head(request, &tag, "no-cache");
        if is_known {
            return response.finish();
        }
        response.content_type(content_type);
        if gzip.is_some() {
            response.insert_header(ContentEncoding::Gzip);
        }
        response.body(gzip.unwrap_or(&self.plain).clone())
    }
}

fn compress(text: &str) -> io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(text.as_bytes())?;
    gzip.finish()
}
