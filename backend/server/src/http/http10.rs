//! Middleware for clients that speak HTTP/1.0, which has no `Transfer-Encoding` (RFC 9112, section 6.1).

use actix_web::{
    Error,
    body::{BodySize, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{ConnectionType, Version},
    middleware::Next,
};

/// If the length of a response to an HTTP/1.0 request is unknown, ends the response by closing the connection instead
/// of sending chunks.
pub(crate) async fn end_by_closing<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let has_chunks = request.version() > Version::HTTP_10;
    let mut response = next.call(request).await?;
    if !has_chunks && response.response().body().size() == BodySize::Stream {
        let head = response.response_mut().head_mut();
        head.no_chunking(true);
        head.set_connection_type(ConnectionType::Close);
    }
    Ok(response)
}
