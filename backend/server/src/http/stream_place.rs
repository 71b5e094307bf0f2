//! Extractor that takes a place among the event streams for a handler that streams.

use std::future::{Ready, ready};

use actix_web::{Error, FromRequest, HttpMessage as _, HttpRequest, dev::Payload};
use tallybook_accounts::Credential;

use super::{caller::caller_of, error::ApiError, places::StreamPlace, state::State};

/// A handler takes a place as an argument, so a request that finds no place is refused before it changes anything.
impl FromRequest for StreamPlace {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let taken = || {
            let state = request.app_data::<State>().ok_or(ApiError::NotSignedIn)?;
            let caller = caller_of(request).ok_or(ApiError::NotSignedIn)?;
            let place = state.places.stream((caller.credential != Credential::Local).then_some(caller.user))?;
            request.extensions_mut().insert(place.clone());
            Ok(place)
        };
        ready(taken().map_err(|error: ApiError| error.into()))
    }
}
