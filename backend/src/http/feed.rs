//! `GET /api/events`: a user's feed, for sidebars and idle tabs.

use actix_web::HttpResponse;
use tallybook_protocol::sse::write_frame;

use super::{State, error::ApiError, sse};
use crate::accounts::UserId;

pub(super) async fn follow(state: State) -> Result<HttpResponse, ApiError> {
    let mut feed = state.run(|service| async move { service.feed(UserId::LOCAL).await }).await?;
    Ok(sse::respond_with(state.keep_alive, async move || {
        let event = feed.recv().await?;
        let data = serde_json::to_string(&event).ok()?;
        Some(write_frame(None, event.name(), &data).into())
    }))
}
