//! An address and the methods that it takes. Whatever it is registered with, `HEAD` is answered wherever `GET` is, and every
//! other method is refused with 405 and the header `Allow`.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use actix_web::{
    Error, FromRequest, HttpRequest, Resource, Responder,
    body::{BodySize, EitherBody, MessageBody},
    dev::{AppService, Handler, HttpServiceFactory, ServiceRequest, ServiceResponse},
    guard,
    http::Method,
    middleware::Next,
    web::{self, FormConfig},
};
use bytes::Bytes;

use super::error::ApiError;

/// One address of the table of routes.
pub(super) struct Endpoint {
    resource: Resource,
    allowed: Vec<Method>,
}

impl Endpoint {
    /// An address that takes nothing yet.
    pub(super) fn at(path: &str) -> Self {
        Self { resource: web::resource(path), allowed: Vec::new() }
    }

    /// Takes one more method. Where `GET` is taken, so is `HEAD`.
    pub(super) fn on<F, Args>(mut self, method: Method, handler: F) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        let route = if method == Method::GET {
            self.allowed.extend(READING);
            web::route().guard(is_reading())
        } else {
            self.allowed.push(method.clone());
            web::method(method)
        };
        self.resource = self.resource.route(route.to(handler));
        self
    }

    /// Takes forms that are other than the usual ones.
    pub(super) fn with_forms(mut self, forms: FormConfig) -> Self {
        self.resource = self.resource.app_data(forms);
        self
    }
}

impl HttpServiceFactory for Endpoint {
    fn register(self, config: &mut AppService) {
        let allowed = self.allowed;
        let refuse = move |request: HttpRequest| {
            let refusal = not_allowed(&request, &allowed);
            async move { Err::<String, ApiError>(refusal) }
        };
        self.resource.default_service(web::to(refuse)).register(config);
    }
}

/// The methods by which something is read.
pub(super) const READING: [Method; 2] = [Method::GET, Method::HEAD];

/// Lets requests pass that read.
pub(super) fn is_reading() -> impl guard::Guard {
    guard::Any(guard::Get()).or(guard::Head())
}

/// The refusal of a method that an address does not take.
pub(super) fn not_allowed(request: &HttpRequest, allowed: &[Method]) -> ApiError {
    let allowed: Vec<&str> = allowed.iter().map(Method::as_str).collect();
    ApiError::MethodNotAllowed { path: request.path().to_owned(), allowed: allowed.join(", ") }
}

/// Answers `HEAD` with what `GET` would be answered with, without the body: that is dropped before anything is asked of it,
/// so an event stream ends before it has begun.
pub(super) async fn answer_head<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B, NoBody>>, Error> {
    let is_head = request.method() == Method::HEAD;
    let response = next.call(request).await?;
    if !is_head {
        return Ok(response.map_into_left_body());
    }
    Ok(response.map_body(|_, body| EitherBody::right(NoBody(body.size()))))
}

/// Nothing, in place of a body of this size.
pub(super) struct NoBody(BodySize);

impl MessageBody for NoBody {
    type Error = std::convert::Infallible;

    fn size(&self) -> BodySize {
        self.0
    }

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Poll::Ready(None)
    }
}
