//! Extractors of the caller: [`CurrentUser`] for handlers that only need the user ID, [`Authenticated`] for the full
//! [`Caller`], and [`SessionUser`], [`Admin`] and [`MetricsReader`] for handlers with restricted access. `identify`
//! authenticates the request. Also the extractor of an event stream's [`StreamPermit`].

use std::future::{Ready, ready};

use actix_web::{Error, FromRequest, HttpMessage as _, HttpRequest, dev::Payload};
use tallybook_accounts::{Caller, Credential, UserId};
use tallybook_protocol::UserRole;

use super::{connection_limits::StreamPermit, error::ApiError, metrics_token::MetricsAccess, state::State};

/// The caller of a request.
pub(crate) struct Authenticated(pub(crate) Caller);

/// The caller's user id, for handlers that need nothing else of the caller.
pub(crate) struct CurrentUser(pub(crate) UserId);

/// A caller at a browser. API keys are refused: they must not change permissions.
pub(crate) struct SessionUser(pub(crate) Caller);

/// An admin at a browser.
pub(crate) struct Admin(pub(crate) Caller);

/// A program that may read metrics: it has the token for them, or is an API key of an admin. Also an admin.
pub(crate) struct MetricsReader;

/// Returns the caller of a request, or `None` if the request is not authenticated. In that case, a handler that takes a
/// caller does not run, no matter at which path it is registered.
pub(crate) fn caller_of(request: &HttpRequest) -> Option<Caller> {
    request.extensions().get::<Caller>().cloned()
}

fn known(request: &HttpRequest) -> Result<Caller, ApiError> {
    caller_of(request).ok_or(ApiError::NotSignedIn)
}

fn session_user(request: &HttpRequest) -> Result<Caller, ApiError> {
    let caller = known(request)?;
    if let Credential::Key(_) = caller.credential { Err(ApiError::SessionsOnly) } else { Ok(caller) }
}

fn admin(caller: Caller) -> Result<Caller, ApiError> {
    if caller.role == UserRole::Admin { Ok(caller) } else { Err(ApiError::AdminsOnly) }
}

impl FromRequest for Authenticated {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(known(request).map(Self).map_err(Error::from))
    }
}

impl FromRequest for CurrentUser {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(known(request).map(|caller| Self(caller.user)).map_err(Error::from))
    }
}

impl FromRequest for SessionUser {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(session_user(request).map(Self).map_err(Error::from))
    }
}

impl FromRequest for Admin {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        // Checks the role first, so that only an admin's API key gets `SessionsOnly`.
        ready(known(request).and_then(admin).and_then(|_| session_user(request)).map(Self).map_err(Error::from))
    }
}

impl FromRequest for MetricsReader {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        if request.extensions().get::<MetricsAccess>().is_some() {
            return ready(Ok(Self));
        }
        ready(known(request).and_then(admin).map(|_| Self).map_err(Error::from))
    }
}

/// Handlers take the permit as an argument, so a request that gets no permit is refused before it changes anything.
impl FromRequest for StreamPermit {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let taken = || {
            let state = request.app_data::<State>().ok_or(ApiError::NotSignedIn)?;
            let caller = caller_of(request).ok_or(ApiError::NotSignedIn)?;
            let permit =
                state.connection_limits.stream((caller.credential != Credential::Local).then_some(caller.user))?;
            request.extensions_mut().insert(permit.clone());
            Ok(permit)
        };
        ready(taken().map_err(|error: ApiError| error.into()))
    }
}
