//! Who asks, as handlers take it: [`UserId`] where it only matters whose things these are, [`Caller`] where it matters who it
//! is, [`Person`], [`Admin`] and [`Operator`] where not everybody may. What finds out is in `identify`.

use std::future::{Ready, ready};

use actix_web::{Error, FromRequest, HttpMessage as _, HttpRequest, dev::Payload};
use tallybook_protocol::UserRole;

use super::error::ApiError;
use crate::accounts::{Caller, Credential, UserId};

/// Somebody at a browser: programs with keys may not do what gives or takes rights.
pub(super) struct Person(pub(super) Caller);

/// An admin at a browser.
pub(super) struct Admin(pub(super) Caller);

/// An admin, or a program of one's.
pub(super) struct Operator;

/// Who sent a request. Without an answer to that a handler is not run, whichever address it is registered at.
pub(super) fn caller_of(request: &HttpRequest) -> Option<Caller> {
    request.extensions().get::<Caller>().cloned()
}

fn known(request: &HttpRequest) -> Result<Caller, ApiError> {
    caller_of(request).ok_or(ApiError::NotSignedIn)
}

fn person(request: &HttpRequest) -> Result<Caller, ApiError> {
    let caller = known(request)?;
    if let Credential::Key(_) = caller.credential { Err(ApiError::PersonsOnly) } else { Ok(caller) }
}

fn admin(caller: Caller) -> Result<Caller, ApiError> {
    if caller.role == UserRole::Admin { Ok(caller) } else { Err(ApiError::AdminsOnly) }
}

impl FromRequest for Caller {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(known(request).map_err(Error::from))
    }
}

impl FromRequest for UserId {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(known(request).map(|caller| caller.user).map_err(Error::from))
    }
}

impl FromRequest for Person {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(person(request).map(Self).map_err(Error::from))
    }
}

impl FromRequest for Admin {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        // Whoever has no right learns that first: with a key of an admin's it would be another answer.
        ready(known(request).and_then(admin).and_then(|_| person(request)).map(Self).map_err(Error::from))
    }
}

impl FromRequest for Operator {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(known(request).and_then(admin).map(|_| Self).map_err(Error::from))
    }
}
