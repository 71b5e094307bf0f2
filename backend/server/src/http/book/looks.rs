//! `GET /api/looks`: which admins have looked at what is one's own, when and why.

use actix_web::HttpResponse;
use serde::Deserialize;
use tallybook_protocol::{Look, Page};
use utoipa::IntoParams;

use super::super::{answers::Invalid, caller::Person, error::ApiError, query::Query, state::State};
use crate::book::Book;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LooksQuery {
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Which admins have looked at what is one's own, when and why.
#[utoipa::path(
    get, path = "/api/looks", operation_id = "list_looks", tag = "Account", security(("session" = [])),
    params(LooksQuery), responses((status = 200, body = Page<Look>), Invalid),
)]
pub(super) async fn list(
    state: State,
    person: Person,
    Query(query): Query<LooksQuery>,
) -> Result<HttpResponse, ApiError> {
    let user = person.0.user;
    let work = move |book: Book| async move { book.list_looks(user, query.cursor.as_deref()).await };
    Ok(HttpResponse::Ok().json(state.run_book(work).await?))
}
