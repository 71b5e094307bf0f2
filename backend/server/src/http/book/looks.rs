//! `GET /api/looks`: which admins have looked at what is one's own, when and why.

use actix_web::{HttpResponse, web};
use serde::Deserialize;

use super::super::{caller::Person, error::ApiError, state::State};
use crate::book::Book;

#[derive(Deserialize)]
pub(super) struct LooksQuery {
    /// What the page before gave.
    cursor: Option<String>,
}

pub(super) async fn list(
    state: State,
    person: Person,
    query: web::Query<LooksQuery>,
) -> Result<HttpResponse, ApiError> {
    let user = person.0.user;
    let work = move |book: Book| async move { book.list_looks(user, query.cursor.as_deref()).await };
    Ok(HttpResponse::Ok().json(state.run_book(work).await?))
}
