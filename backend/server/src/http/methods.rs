//! A route's path with its methods. Every path that supports `GET` also supports `HEAD`. Other methods return 405 with
//! an `Allow` header.

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

/// A path in the table of routes.
pub(crate) struct Endpoint {
    resource: Resource,
    allowed: Vec<Method>,
}

impl Endpoint {
    /// Creates a path without methods.
    pub(crate) fn at(path: &str) -> Self {
        Self { resource: web::resource(path), allowed: Vec::new() }
    }

    /// Adds a method. `GET` adds `HEAD`, too.
    pub(crate) fn on<F, Args>(mut self, method: Method, handler: F) -> Self
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

    /// Replaces the settings for forms.
    pub(crate) fn with_forms(mut self, forms: FormConfig) -> Self {
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

/// The methods that only read.
pub(crate) const READING: [Method; 2] = [Method::GET, Method::HEAD];

/// Returns a guard for the methods that only read.
pub(crate) fn is_reading() -> impl guard::Guard {
    guard::Any(guard::Get()).or(guard::Head())
}

/// Returns the error for a method that a path does not support.
pub(crate) fn not_allowed(request: &HttpRequest, allowed: &[Method]) -> ApiError {
    let allowed: Vec<&str> = allowed.iter().map(Method::as_str).collect();
    ApiError::MethodNotAllowed { path: request.path().to_owned(), allowed: allowed.join(", ") }
}

/// Middleware that answers `HEAD` like `GET`, but without the body. The body is dropped before it is polled, so an
/// event stream ends before it starts.
pub(crate) async fn answer_head<B: MessageBody>(
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

/// An empty body that replaces one of this size.
pub(crate) struct NoBody(BodySize);

impl MessageBody for NoBody {
    type Error = std::convert::Infallible;

    fn size(&self) -> BodySize {
        self.0
    }

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Poll::Ready(None)
    }
}
