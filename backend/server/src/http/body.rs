//! Request bodies: JSON with readable errors, optional bodies, the time limit, and the size limit of forms.
//! `connection` and `server` enforce the other limits of a request.

use std::{
    io::{self, ErrorKind},
    pin::pin,
    time::Duration,
};

use actix_server::GracefulShutdownSignal;
use actix_web::{
    Error, FromRequest, HttpMessage as _, HttpRequest,
    body::MessageBody,
    dev::{Payload, ServiceRequest, ServiceResponse},
    error::{JsonPayloadError, PayloadError, UrlencodedError},
    http::{Method, header},
    middleware::Next,
    web::{FormConfig, Json},
};
use async_stream::stream;
use bytes::Bytes;
use futures_util::{FutureExt as _, Stream, StreamExt as _, future::LocalBoxFuture};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use tallybook_conversations::ServiceError;
use tokio::time::sleep;

use super::{error::ApiError, limits::MAX_BODY_BYTES, state::State};

/// Path to which a file is uploaded. The body is its content.
pub(super) const UPLOAD: &str = "/api/files";

/// Paths to which files are sent. Their bodies may take longer.
const UPLOADS: [&str; 4] = [UPLOAD, "/v1/chat/completions", "/v1/responses", "/v1/chat"];

/// A JSON body that must be an object. A list is refused, because serde would read its items as the struct's fields in
/// order.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned + 'static> FromRequest for JsonBody<T> {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let body = Json::<Box<RawValue>>::from_request(request, payload);
        async move { Ok(Self(read(body.await?.get())?)) }.boxed_local()
    }
}

/// A JSON body that must be a list of objects.
pub(crate) struct JsonList<T>(pub(crate) Vec<T>);

impl<T: DeserializeOwned + 'static> FromRequest for JsonList<T> {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let body = Json::<Box<RawValue>>::from_request(request, payload);
        async move {
            let body = body.await?;
            let items: Vec<&RawValue> = serde_json::from_str(body.get())
                .map_err(|_| ApiError::Body("The body must be a list of objects.".to_owned()))?;
            Ok(Self(items.into_iter().map(|item| read(item.get())).collect::<Result<_, _>>()?))
        }
        .boxed_local()
    }
}

fn read<T: DeserializeOwned>(json: &str) -> Result<T, ApiError> {
    if json.starts_with('[') {
        return Err(ApiError::Body("The body must be an object, not a list.".to_owned()));
    }
    parse(json).map_err(|(place, reason)| {
        ApiError::Body(match place {
            Some(place) => format!("The field {place} is not valid: {reason}."),
            None => format!("The body is not valid: {reason}."),
        })
    })
}

/// Parses JSON. The error holds the path of the invalid value and the reason; the path is `None` if the whole document
/// is invalid.
pub(crate) fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, (Option<String>, String)> {
    let mut json = serde_json::Deserializer::from_str(json);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let place = error.path().to_string();
        (Some(place).filter(|place| place != "."), error.into_inner().to_string())
    })
}

/// A JSON body that may be absent or `null`. Both count as `T::default()`.
pub(crate) struct OptionalBody<T>(pub(crate) T);

impl<T: DeserializeOwned + Default + 'static> FromRequest for OptionalBody<T> {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let headers = request.headers();
        let length = headers.get(header::CONTENT_LENGTH);
        if !headers.contains_key(header::TRANSFER_ENCODING) && length.is_none_or(|length| length == "0") {
            return std::future::ready(Ok(Self(T::default()))).boxed_local();
        }
        let body = Json::<Box<RawValue>>::from_request(request, payload);
        async move { Ok(Self(read::<Option<T>>(body.await?.get())?.unwrap_or_default())) }.boxed_local()
    }
}

/// Ends a request body with an error if the body is not complete in time, or if the server shuts down.
pub(crate) async fn limit_time(
    shutdown: GracefulShutdownSignal,
    mut request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let is_upload = UPLOADS.contains(&request.path()) && request.method() == Method::POST;
    let time = request.app_data::<State>().map(|state| if is_upload { state.limits.upload } else { state.limits.body });
    match (request.take_payload(), time) {
        (Payload::None, _) | (_, None) => {}
        (body, Some(time)) => {
            let body = limited(body, time, shutdown);
            request.set_payload(Payload::Stream { payload: Box::pin(body) });
        }
    }
    next.call(request).await
}

fn limited(
    mut body: Payload,
    time: Duration,
    shutdown: GracefulShutdownSignal,
) -> impl Stream<Item = Result<Bytes, PayloadError>> {
    let cut = async move {
        tokio::select! {
            () = sleep(time) => ErrorKind::TimedOut,
            () = shutdown.notified() => ErrorKind::ConnectionAborted,
        }
    };
    stream! {
        let mut cut = pin!(cut);
        loop {
            let chunk = tokio::select! {
                biased;
                kind = &mut cut => Some(Err(PayloadError::Io(io::Error::from(kind)))),
                chunk = body.next() => chunk,
            };
            let Some(chunk) = chunk else { break };
            let is_last = chunk.is_err();
            yield chunk;
            if is_last {
                break;
            }
        }
    }
}

/// Returns the settings for forms of at most `limit` bytes.
pub(crate) fn forms(limit: usize) -> FormConfig {
    FormConfig::default().limit(limit).error_handler(|error, _| ApiError::from(error).into())
}

impl From<UrlencodedError> for ApiError {
    fn from(error: UrlencodedError) -> Self {
        match error {
            UrlencodedError::Payload(error) => error.into(),
            // The messages of these errors are full sentences.
            other => Self::Body(format!("The form is not valid. {other}")),
        }
    }
}

impl From<JsonPayloadError> for ApiError {
    fn from(error: JsonPayloadError) -> Self {
        match error {
            JsonPayloadError::OverflowKnownLength { .. } | JsonPayloadError::Overflow { .. } => {
                Self::BodyTooLarge(MAX_BODY_BYTES)
            }
            JsonPayloadError::ContentType => Self::NotJson,
            JsonPayloadError::Payload(error) => error.into(),
            JsonPayloadError::Deserialize(error) => Self::Body(format!("The body is not JSON: {error}.")),
            other => Self::Body(format!("The body is not valid: {other}.")),
        }
    }
}

impl From<PayloadError> for ApiError {
    fn from(error: PayloadError) -> Self {
        match error {
            PayloadError::Io(error) if error.kind() == ErrorKind::TimedOut => Self::BodyTooSlow,
            PayloadError::Io(error) if error.kind() == ErrorKind::ConnectionAborted => {
                Self::Service(ServiceError::ShuttingDown)
            }
            other => Self::Body(format!("The body is not valid: {other}.")),
        }
    }
}
