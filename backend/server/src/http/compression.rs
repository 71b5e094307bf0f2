//! Middleware that compresses text responses (JSON, HTML, plain text) for clients that accept gzip. Files are
//! compressed in advance; `content_encoding` selects their encoding.

use actix_http::encoding::Encoder;
use actix_web::{
    Error,
    body::{BodySize, EitherBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::header::{self, ContentEncoding, HeaderMap, HeaderValue},
    middleware::Next,
};

use super::content_encoding::accepted_encodings;

/// Minimum size of a body to compress, in bytes. A smaller body fits into a single network packet anyway.
const MIN_BYTES: u64 = 1024;

/// Compresses the response if its content is text and the client accepts gzip.
pub(crate) async fn compress<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B, Encoder<B>>>, Error> {
    let is_gzip_accepted = accepted_encodings(request.request()).any(|(encoding, _)| encoding == ContentEncoding::Gzip);
    let mut response = next.call(request).await?;
    if !is_large(response.response().body().size()) || !is_compressible(response.headers()) {
        return Ok(response.map_into_left_body());
    }
    if !is_gzip_accepted {
        response.headers_mut().append(header::VARY, HeaderValue::from_static("accept-encoding"));
        return Ok(response.map_into_left_body());
    }
    Ok(response.map_body(|head, body| EitherBody::right(Encoder::response(ContentEncoding::Gzip, head, body))))
}

fn is_large(size: BodySize) -> bool {
    match size {
        BodySize::None => false,
        BodySize::Sized(bytes) => bytes >= MIN_BYTES,
        BodySize::Stream => true,
    }
}

/// Returns `true` for text. Returns `false` for event streams, whose events must not wait in a compressor, and for
/// files, which already have an `ETag` or an encoding.
fn is_compressible(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let is_text = media_type.starts_with("text/") || media_type == "application/json" || media_type.ends_with("+json");
    is_text
        && media_type != "text/event-stream"
        && !headers.contains_key(header::ETAG)
        && !headers.contains_key(header::CONTENT_ENCODING)
}
