//! How a file is encoded when it is handed out: compressed in a way that the client can read, or not at all, when the client has
//! it already. Responses that this server makes for one request are compressed in `compression`.

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

/// A text that this server wrote, to be handed out as a file is.
pub(super) struct Text {
    plain: Bytes,
    gzip: Option<Bytes>,
    /// What its tag begins with, the same in both forms.
    digest: String,
}

impl Text {
    pub(super) fn new(text: String) -> Self {
        let digest = hex::encode(&Sha256::digest(&text)[..16]);
        // Memory takes whatever is written to it.
        let gzip = compress(&text).ok().map(Bytes::from);
        Self { plain: text.into(), gzip, digest }
    }

    /// Asked for anew each time, and sent where the client has another one.
    pub(super) fn answer(&self, request: &HttpRequest, content_type: &'static str) -> HttpResponse {
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
