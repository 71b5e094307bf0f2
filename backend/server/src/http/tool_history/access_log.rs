//! HTTP handlers for `/api/looks`: the access log of the caller's data and account, and the acknowledgment of its
//! entries.

use actix_web::HttpResponse;
use serde::Deserialize;
use tallybook_protocol::{AccessRecord, Page};
use tallybook_tool_history::ToolHistory;
use utoipa::{IntoParams, ToSchema};

use super::super::{
    body::JsonBody, caller::SessionUser, error::ApiError, query::Query, shared_responses::Invalid, state::State,
};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AccessLogQuery {
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists which admins accessed your data, when, and why.
#[utoipa::path(
    get, path = "/api/looks", operation_id = "list_looks", tag = "Account", security(("session" = [])),
    params(AccessLogQuery), responses((status = 200, body = Page<AccessRecord>), Invalid),
)]
pub(crate) async fn list(
    state: State,
    user: SessionUser,
    Query(query): Query<AccessLogQuery>,
) -> Result<HttpResponse, ApiError> {
    let user = user.0.user;
    let work = move |history: ToolHistory| async move { history.list_access(user, query.cursor.as_deref()).await };
    Ok(HttpResponse::Ok().json(state.run_tool_history(work).await?))
}

/// The newest entry that the user acknowledges.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AccessLogSeen {
    id: i64,
}

/// Acknowledges the access log up to an entry.
///
/// Changes of the account up to this `id` leave `account_changes` of `GET /api/me`. An `id` that was acknowledged
/// before, or that is another user's, changes nothing.
#[utoipa::path(
    put, path = "/api/looks/seen", operation_id = "acknowledge_looks", tag = "Account", security(("session" = [])),
    request_body = AccessLogSeen, responses((status = 204, description = "The entries are acknowledged.")),
)]
pub(crate) async fn acknowledge(
    state: State,
    user: SessionUser,
    body: JsonBody<AccessLogSeen>,
) -> Result<HttpResponse, ApiError> {
    let (user, id) = (user.0.user, body.0.id);
    state
        .run_tool_history(move |history: ToolHistory| async move { history.acknowledge_access(user, id).await })
        .await?;
    Ok(HttpResponse::NoContent().finish())
}
