//! Parses query strings. An error names the parameter at fault.

use std::future::{Ready, ready};

use actix_web::{FromRequest, HttpRequest, dev::Payload};
use serde::de::DeserializeOwned;
use url::form_urlencoded;

use super::error::ApiError;

/// The query parameters of a handler. Unknown parameters are ignored.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest for Query<T> {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(read(request.query_string()).map(Self))
    }
}

fn read<T: DeserializeOwned>(query: &str) -> Result<T, ApiError> {
    let pairs = serde_urlencoded::Deserializer::new(form_urlencoded::parse(query.as_bytes()));
    serde_path_to_error::deserialize(pairs).map_err(|error| {
        let place = error.path().to_string();
        let reason = error.into_inner();
        // If a parameter is missing or occurs twice, the reason already names it.
        ApiError::Query(match place.as_str() {
            "." => format!("The query string is not valid: {reason}."),
            name => format!("The parameter {name} is not valid: {reason}."),
        })
    })
}
