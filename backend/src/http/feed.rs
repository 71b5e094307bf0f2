//! `GET /api/events`: a user's feed, for sidebars and idle tabs.

use actix_web::HttpResponse;
use tallybook_protocol::sse::write_frame;

use super::{State, sse};
use crate::accounts::UserId;

pub(super) async fn follow(state: State) -> HttpResponse {
    let mut feed = state.service.feed(UserId::LOCAL);
    sse::respond_with(async move || {
        let event = feed.next().await?;
        let data = serde_json::to_string(&event).ok()?;
        Some(write_frame(None, event.name(), &data).into())
    })
}
